import { describe, expect, it } from "vitest";

import { machine, planFor } from "@/host/scripted/planning";

import { contextSteps, mainPool, nearestStep, poolsOf, tightest, withContext } from "./pools";

describe("pools", () => {
  const plan = planFor("qwen3-8b", "Q4_K_M", { context: 16_384 });

  it("has one hull a memory, devices first, and sums to the plan's totals", () => {
    const pools = poolsOf(plan.memory, machine());
    expect(pools.map((pool) => pool.id)).toEqual([plan.memory.devices[0]?.id, "memory"]);
    for (const pool of pools) {
      const own = pool.parts.filter((part) => part.layer !== "others");
      expect(own.reduce((sum, part) => sum + part.bytes, 0)).toBe(pool.usedBytes);
    }
  });

  it("puts the line above what others hold and never above the rim", () => {
    for (const pool of poolsOf(plan.memory, machine())) {
      expect(pool.lineBytes).toBeLessThanOrEqual(pool.totalBytes);
      expect(pool.lineBytes).toBeGreaterThanOrEqual(pool.budgetBytes);
    }
  });

  it("says how much stands above the line", () => {
    const big = poolsOf(planFor("llama-3.3-70b", "Q4_K_M", {}).memory, machine());
    expect(tightest(big)?.overBytes).toBeGreaterThan(0);
  });

  it("shows rearranged weights beside the others, and only there", () => {
    const { host } = plan.memory;
    const rearranged = {
      ...host,
      overheadBytes: host.overheadBytes + 3_900,
      overheadParts: [...host.overheadParts, { code: "repack", bytes: 3_900 }],
      totalBytes: host.totalBytes + 3_900,
    };
    const [pool] = poolsOf({ ...plan.memory, devices: [], host: rearranged }, machine());
    const bytes = (layer: string) => pool?.parts.find((part) => part.layer === layer)?.bytes ?? 0;
    expect(bytes("repack")).toBe(3_900);
    expect(bytes("overhead")).toBe(host.overheadBytes);
    expect(pool?.overhead.map((part) => part.code)).not.toContain("repack");
    const own = pool?.parts.filter((part) => part.layer !== "others") ?? [];
    expect(own.reduce((sum, part) => sum + part.bytes, 0)).toBe(pool?.usedBytes);
  });

  it("works without a machine", () => {
    const pool = mainPool(poolsOf(plan.memory, undefined));
    expect(pool?.totalBytes).toBeGreaterThan(pool?.lineBytes ?? Infinity);
  });

  it("moves only the context's water while the planner thinks", () => {
    const before = poolsOf(plan.memory, machine());
    const after = withContext(before, 16_384, 32_768);
    const device = after[0];
    const context = device?.parts.find((part) => part.layer === "context")?.bytes ?? 0;
    expect(context).toBe((before[0]?.parts.find((part) => part.layer === "context")?.bytes ?? 0) * 2);
    expect((device?.usedBytes ?? 0) - (before[0]?.usedBytes ?? 0)).toBeCloseTo(context / 2);
  });
});

describe("context steps", () => {
  it("end at what the model was trained for", () => {
    expect(contextSteps(40_960)).toEqual([2048, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 40_960]);
    expect(contextSteps(1024)).toEqual([1024]);
  });

  it("find the nearest one by ratio", () => {
    const steps = contextSteps(32_768);
    expect(steps[nearestStep(steps, 15_000)]).toBe(16_384);
    expect(steps[nearestStep(steps, 1)]).toBe(2048);
  });
});
