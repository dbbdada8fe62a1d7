import { describe, expect, it } from "vitest";

import type { Setup, StepState } from "@/wire/wire";

import { overall } from "./progress";

function setup(done: number, total: number, start: StepState, proof: StepState): Setup {
  return {
    model: "m",
    quant: "Q4_K_M",
    running: true,
    done: false,
    doneBytes: done,
    totalBytes: total,
    steps: [
      { name: "engine", state: "done" },
      { name: "model", state: done === total ? "done" : "running" },
      { name: "start", state: start },
      { name: "proof", state: proof },
    ],
  };
}

describe("the one bar", () => {
  it("never goes back on the way", () => {
    const way = [
      overall(setup(0, 100, "waiting", "waiting"), undefined),
      overall(setup(60, 100, "waiting", "waiting"), undefined),
      overall(setup(100, 100, "waiting", "waiting"), undefined),
      overall(setup(100, 100, "running", "waiting"), 0.2),
      overall(setup(100, 100, "running", "waiting"), 0.9),
      overall(setup(100, 100, "done", "running"), undefined),
      overall({ ...setup(100, 100, "done", "done"), done: true }, undefined),
    ];
    expect(way).toEqual(way.toSorted((a, b) => a - b));
    expect(way.at(-1)).toBe(1);
  });

  it("belongs to loading when nothing is fetched", () => {
    expect(overall(setup(0, 0, "running", "waiting"), 0.5)).toBeCloseTo(0.4);
  });
});
