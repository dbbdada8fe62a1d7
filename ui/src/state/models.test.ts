import { describe, expect, it } from "vitest";

import { catalog, libraryModel, recommendation } from "@/host/scripted/data";
import type { Library, Transfer } from "@/wire/wire";

import { findModel, judged, shelves } from "./models";

const disk = [libraryModel("qwen2.5-coder-0.5b-instruct", "Q4_K_M", "laptop")];
const library: Library = {
  models: disk,
  catalog: catalog(disk, new Set(), "laptop"),
  folder: "/models",
  usedBytes: 0,
  freeBytes: 0,
};
const advice = recommendation(disk, "laptop");
advice.rejected.push({
  model: "mistral-small-24b",
  quant: "Q4_K_M",
  name: "Mistral Small 3.2",
  code: "tooSlow",
  params: { seconds: 140, limit: 60 },
});

describe("shelves", () => {
  const { offered } = shelves(library, [], {}, advice);

  it("follow the planner: its pick, its alternatives, what it rejects, what is too big", () => {
    const ids = offered.map((model) => model.entry?.id);
    expect(ids.slice(0, 4)).toEqual(["qwen3-8b", "qwen3-4b", "gpt-oss-20b", "gemma-3-4b"]);
    expect(ids.slice(-2)).toEqual(["mistral-small-24b", "llama-3.3-70b"]);
  });

  it("offer the variant that the planner names, and say what speaks against it", () => {
    const slow = offered.find((model) => model.entry?.id === "mistral-small-24b");
    expect(slow?.quant).toBe("Q4_K_M");
    expect(slow?.against).toEqual({ code: "tooSlow", params: { seconds: 140, limit: 60 } });
  });

  it("show a model once: on disk, or offered", () => {
    expect(offered.some((model) => model.entry?.id === "qwen2.5-coder-0.5b-instruct")).toBe(false);
  });

  it("show the variant that is on its way, whatever the planner would pick", () => {
    const transfer: Transfer = {
      id: "qwen3-8b:Q8_0",
      subject: "qwen3-8b:Q8_0",
      state: "running",
      doneBytes: 1,
      totalBytes: 2,
      bytesPerS: 1,
    };
    const moving = shelves(library, [], { [transfer.id]: transfer }, advice).offered;
    expect(moving.find((model) => model.entry?.id === "qwen3-8b")?.transfer).toEqual(transfer);
  });

  it("work before the planner has answered", () => {
    expect(shelves(library, [], {}).offered).toHaveLength(library.catalog.length - 1);
  });
});

it("finds a variant that no shelf shows", () => {
  const found = findModel("qwen3-8b:Q8_0", shelves(library, [], {}, advice), library, {});
  expect(found?.quant).toBe("Q8_0");
  expect(findModel("nobody:Q1", shelves(library, [], {}, advice), library, {})).toBeUndefined();
});

it("puts what is nearly quick enough before what is hopeless", () => {
  const slow = (model: string, seconds: number) => ({
    model,
    quant: "Q4_K_M",
    name: model,
    code: "tooSlow",
    params: { seconds, limit: 60 },
  });
  const ranks = judged({ ...advice, rejected: [slow("b", 900), slow("a", 61)] });
  expect(ranks.get("a")?.rank).toBeLessThan(ranks.get("b")?.rank ?? 0);
});
