import { readFileSync } from "node:fs";
import { join } from "node:path";

import i18next from "i18next";
import { beforeAll, describe, expect, it } from "vitest";

import type { Fault } from "@/wire/wire";

import de from "./de.json";
import en from "./en.json";
import { faultAbout, faultReport, faultText, faultTitle } from "./faults";
import { applyLanguage, resolveLanguage, startTexts } from "./index";

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, under = ""): Map<string, string> {
  const out = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === "string") out.set(under + key, value);
    else for (const [inner, text] of flat(value, `${under}${key}.`)) out.set(inner, text);
  }
  return out;
}

const holes = (text: string) => [...text.matchAll(/\{\{\s*(\w+)/g)].map((match) => match[1]).toSorted();

describe("German", () => {
  const english = flat(en);
  const german = flat(de);

  it("says everything that English says", () => {
    expect([...german.keys()].toSorted()).toEqual([...english.keys()].toSorted());
  });

  it.each([...english])("%s has the same parameters", (key, text) => {
    expect(holes(german.get(key) ?? "")).toEqual(holes(text));
  });
});

it("no text shouts or blames", () => {
  for (const [key, text] of [...flat(en), ...flat(de)]) {
    expect(text, key).not.toMatch(/!|\boops\b|\bsorry\b|\bupps\b|please try/i);
  }
});

describe("faults", () => {
  beforeAll(startTexts);

  it("have a headline and an explanation in every language", async () => {
    for (const language of ["en", "de"]) {
      await applyLanguage(language);
      for (const code of Object.keys(faultText) as Fault["code"][]) {
        const fault: Fault = { code, params: {}, trace: [], fixes: [] };
        expect(faultTitle(i18next.t, fault)).not.toMatch(/^fault\./);
        expect(faultAbout(i18next.t, fault)).not.toMatch(/faultAbout|undefined/);
      }
    }
  });

  it("say their numbers in the reader's language", async () => {
    const fault: Fault = {
      code: "diskFull",
      params: { needed: 5 * 1024 ** 3, free: 1.5 * 1024 ** 3 },
      trace: [],
      fixes: [],
    };
    await applyLanguage("de");
    expect(faultAbout(i18next.t, fault)).toContain("Braucht 5 GB, frei sind 1,5 GB.");
    await applyLanguage("en");
    expect(faultAbout(i18next.t, fault)).toContain("Needs 5 GB, 1.5 GB are free.");
  });

  it("report every detail for a bug", () => {
    const fault: Fault = { code: "loadFailed", params: { exit: 6 }, trace: ["a", "b"], fixes: [] };
    expect(faultReport(fault, "0.1.0")).toBe("Plimsoll 0.1.0\nfault: loadFailed\nexit: 6\na\nb");
  });
});

describe("the language", () => {
  it.each([
    ["system", ["de-AT", "en"], "de"],
    ["system", ["fr-FR"], "en"],
    ["en", ["de"], "en"],
    [undefined, [], "en"],
  ] as const)("%s with %j is %s", (setting, preferred, language) => {
    expect(resolveLanguage(setting, preferred)).toBe(language);
  });
});

describe("reasons and notes", () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, "../../../crates", path), "utf8");
  const variants = (source: string) =>
    [...source.matchAll(/^ {4}([A-Z]\w+) \{/gm)].map(
      ([, name = ""]) => `${name[0]?.toLowerCase()}${name.slice(1)}`,
    );
  const notes = variants(read("hardware/src/note.rs"));
  // Why a build of the engine is offered or passed over.
  const [fits = ""] = read("engine/src/releases/fit.rs").split("type Rank");
  const builds = variants(fits);
  const reasons = [...read("planner/src/why.rs").matchAll(/\(\s*"(\w+)",\s*vec!/g)].map(
    ([, code = ""]) => code,
  );

  // What a load or a download shows; the other words of two parts there are names of parameters.
  const [findings = ""] = read("app/src/to_wire/findings.rs").split("#[cfg(test)]");
  const told = [...findings.matchAll(/"([a-z]+[A-Z]\w+)"/g)]
    .map(([, word = ""]) => word)
    .filter((word) => !/Bytes$|^onDevices$/.test(word));
  const pulled = [...read("app/src/models/pull.rs").matchAll(/code: "(\w+)"/g)].map(([, code = ""]) => code);
  // What was passed over among other programs' models; the other words there are names of parameters.
  const [, odd = ""] = read("app/src/to_wire/library.rs").split("pub(crate) fn odd(");
  const passed = [...odd.matchAll(/"(\w+)"/g)]
    .map(([, word = ""]) => word)
    .filter((word) => !/^(path|limit)$/.test(word));
  const all = [...new Set([...notes, ...reasons, ...told, ...pulled, ...passed, ...builds])];

  it("finds the codes in the core", () => {
    expect(notes.length).toBeGreaterThan(20);
    expect(reasons.length).toBeGreaterThan(20);
    expect(told).toContain("cpuFallback");
    expect(pulled).toContain("catalogDiffers");
    expect(passed).toContain("folderGone");
    expect(builds).toContain("driverTooOld");
  });

  it.each(all)("%s has a text", (code) => {
    expect(Object.keys(en.reason)).toContain(code);
  });

  it("no text is left of a code that is gone", () => {
    expect(Object.keys(en.reason).toSorted()).toEqual(all.toSorted());
  });
});
