import type { Machine, MemoryNeed, PlanMemory, Sample } from "@/wire/wire";

/** The water's layers from the keel up. */
export const LAYERS = ["others", "weights", "repack", "context", "compute", "projector", "overhead"] as const;
export type Layer = (typeof LAYERS)[number];

export interface Part {
  layer: Layer;
  bytes: number;
}

/** One memory as a hull: how much it holds, where the line is, what water stands in it. */
export interface Pool {
  id: string;
  name: string;
  /** RAM of the computer, as against a device's own memory. */
  host: boolean;
  totalBytes: number;
  /** The line on the hull, counted from the keel: what others hold plus what may be used. */
  lineBytes: number;
  budgetBytes: number;
  parts: Part[];
  /** Of this plan, without what others hold. */
  usedBytes: number;
  overBytes: number;
  overhead: { code: string; bytes: number }[];
}

/** Every memory that the plan touches, devices first. */
export function poolsOf(memory: PlanMemory, machine: Machine | undefined, sample?: Sample): Pool[] {
  const pools: Pool[] = [];
  for (const need of memory.devices) {
    if (need.totalBytes === 0) continue;
    const device = machine?.devices.find((one) => one.id === need.id);
    const use = sample?.devices.find((one) => one.id === need.id);
    const others = use
      ? use.othersBytes
      : device
        ? device.totalBytes - (device.freeBytes ?? device.totalBytes)
        : 0;
    pools.push(makePool(need.id, device?.name ?? need.id, false, need, device?.totalBytes, others));
  }
  const host = memory.host;
  if (host.totalBytes > 0) {
    const ram = machine?.memory;
    const others = sample
      ? sample.memory.othersBytes
      : ram
        ? ram.totalBytes - (ram.availableBytes ?? ram.totalBytes)
        : 0;
    pools.push(makePool("memory", "memory", true, host, ram?.totalBytes, others));
  }
  return pools;
}

function makePool(
  id: string,
  name: string,
  host: boolean,
  need: MemoryNeed,
  known: number | undefined,
  others: number,
): Pool {
  // Without a machine the hull ends a little above the line, so that the line can be seen.
  const total = known ?? Math.max(need.budgetBytes, need.totalBytes) * 1.12;
  const taken = Math.max(0, Math.min(others, total));
  const line = Math.min(total, taken + need.budgetBytes);
  // Weights once more, in the processor's own order: beside them, because it can be more than they are.
  const repackedBytes = need.overheadParts
    .filter((part) => part.code === "repack")
    .reduce((sum, part) => sum + part.bytes, 0);
  const beyond = need.overheadParts.filter((part) => part.code !== "repack" && part.bytes > 0);
  const parts: Part[] = [
    { layer: "others", bytes: Math.max(0, line - need.budgetBytes) },
    { layer: "weights", bytes: need.weightsBytes },
    { layer: "repack", bytes: repackedBytes },
    { layer: "context", bytes: need.contextBytes },
    { layer: "compute", bytes: need.computeBytes },
    { layer: "projector", bytes: need.projectorBytes },
    { layer: "overhead", bytes: need.overheadBytes - repackedBytes },
  ];
  return {
    id,
    name,
    host,
    totalBytes: total,
    lineBytes: line,
    budgetBytes: need.budgetBytes,
    parts: parts.filter((part) => part.bytes > 0),
    usedBytes: need.totalBytes,
    overBytes: Math.max(0, need.totalBytes - need.budgetBytes),
    overhead: beyond,
  };
}

/** The memory that decides: the one closest to its line, or furthest above it. */
export function tightest(pools: readonly Pool[]): Pool | undefined {
  let found: Pool | undefined;
  for (const pool of pools) {
    if (!found || share(pool) > share(found)) found = pool;
  }
  return found;
}

function share(pool: Pool): number {
  return pool.budgetBytes === 0 ? (pool.usedBytes > 0 ? 2 : 0) : pool.usedBytes / pool.budgetBytes;
}

/** The memory that carries the model: the device when there is one, else RAM. */
export function mainPool(pools: readonly Pool[]): Pool | undefined {
  let found: Pool | undefined;
  for (const pool of pools) {
    if (
      !found ||
      (found.host && !pool.host) ||
      (found.host === pool.host && pool.usedBytes > found.usedBytes)
    ) {
      found = pool;
    }
  }
  return found;
}

/** Contexts that a person may choose: steps that double, with one in between, up to what was trained. */
export function contextSteps(trained: number): number[] {
  const steps: number[] = [];
  for (let size = 2048; size < trained; size *= 2) {
    steps.push(size);
    if (size >= 4096 && size * 1.5 < trained) steps.push(size * 1.5);
  }
  steps.push(trained);
  return steps.filter((size) => size <= trained);
}

export function nearestStep(steps: readonly number[], context: number): number {
  let best = 0;
  for (let index = 1; index < steps.length; index += 1) {
    const here = steps[index] ?? 0;
    const there = steps[best] ?? 0;
    if (Math.abs(Math.log(here / context)) < Math.abs(Math.log(there / context))) best = index;
  }
  return best;
}

/** The same pools with the context's water moved, until the planner has answered. */
export function withContext(pools: readonly Pool[], from: number, to: number): Pool[] {
  if (from <= 0 || from === to) return [...pools];
  return pools.map((pool) => {
    const before = pool.parts.find((part) => part.layer === "context")?.bytes ?? 0;
    const after = (before / from) * to;
    const used = pool.usedBytes - before + after;
    return {
      ...pool,
      parts: pool.parts.map((part) => (part.layer === "context" ? { ...part, bytes: after } : part)),
      usedBytes: used,
      overBytes: Math.max(0, used - pool.budgetBytes),
    };
  });
}
