/*
 * A small planner for the scripted world: coarse, but it moves the way the real one does, so that gauges,
 * pills and reasons can be designed and tested. Its numbers reach no user.
 */
import type { Machine, MemoryNeed, Plan, PlanWishes, Reason } from "@/wire/wire";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

export type MachineName = "laptop" | "server";

export function machine(name: MachineName = "laptop"): Machine {
  const memory = (totalGib: number, freeGib: number, gbPerS: number) => ({
    totalBytes: Math.round(totalGib * GIB),
    availableBytes: Math.round(freeGib * GIB),
    bandwidthBytesPerS: { value: gbPerS * 1e9, source: "dmidecode: DDR5-5600, two channels" },
    source: "/proc/meminfo",
  });
  if (name === "server") {
    return {
      schema: 1,
      os: { name: "linux", version: "Debian 12", arch: "x86_64" },
      cpu: {
        name: "Intel Xeon Silver 4210",
        physicalCores: 10,
        logicalCores: 20,
        features: ["avx2", "avx512f", "fma", "f16c"],
      },
      memory: memory(31, 26.4, 68),
      devices: [],
      class: "cpuOnly",
      notes: [],
    };
  }
  return {
    schema: 1,
    os: { name: "linux", version: "Fedora 43", arch: "x86_64" },
    cpu: {
      name: "AMD Ryzen 7 7840HS",
      physicalCores: 8,
      logicalCores: 16,
      features: ["avx2", "avx512f", "avx512_vnni", "fma", "f16c"],
    },
    memory: memory(31.2, 22.9, 83),
    devices: [
      {
        id: "cuda0",
        name: "NVIDIA GeForce RTX 4070 Laptop",
        vendor: "nvidia",
        kind: "discrete",
        backends: ["cuda", "vulkan"],
        totalBytes: 8188 * MIB,
        freeBytes: 7502 * MIB,
        bandwidthBytesPerS: { value: 256e9, source: "catalog/devices" },
        source: "NVML",
      },
    ],
    class: "discrete",
    notes: [],
  };
}

interface Shape {
  id: string;
  name: string;
  architecture: string;
  parameters: number;
  active: number;
  trained: number;
  layers: number;
  /** K and V of one token in all layers, at 16 bit. */
  kvBytesPerToken: number;
  /** Layers of its own that guess ahead. */
  drafting: number;
}

const SHAPES: Shape[] = [
  shape("qwen3-8b", "Qwen3 8B", "qwen3", 8.19e9, 8.19e9, 40_960, 36, 147_456),
  shape("qwen3-4b", "Qwen3 4B", "qwen3", 4.02e9, 4.02e9, 40_960, 36, 147_456),
  shape("gemma-3-12b", "Gemma 3 12B", "gemma3", 11.77e9, 11.77e9, 131_072, 48, 98_304),
  shape("gemma-3-4b", "Gemma 3 4B", "gemma3", 3.88e9, 3.88e9, 131_072, 34, 49_152),
  shape("gpt-oss-20b", "gpt-oss 20B", "gpt-oss", 20.9e9, 3.6e9, 131_072, 24, 24_576),
  shape("qwen3-30b-a3b", "Qwen3 30B A3B", "qwen3moe", 30.5e9, 3.3e9, 40_960, 48, 98_304, 1),
  shape("mistral-small-24b", "Mistral Small 3.2", "llama", 23.6e9, 23.6e9, 131_072, 40, 163_840),
  shape("llama-3.3-70b", "Llama 3.3 70B", "llama", 70.6e9, 70.6e9, 131_072, 80, 327_680),
  shape("qwen2.5-coder-0.5b-instruct", "Qwen2.5 Coder 0.5B", "qwen2", 0.49e9, 0.49e9, 32_768, 24, 12_288),
  shape("smollm2-135m-instruct", "SmolLM2 135M", "llama", 0.135e9, 0.135e9, 8192, 30, 23_040),
];

function shape(
  id: string,
  name: string,
  architecture: string,
  parameters: number,
  active: number,
  trained: number,
  layers: number,
  kvBytesPerToken: number,
  drafting = 0,
): Shape {
  return { id, name, architecture, parameters, active, trained, layers, kvBytesPerToken, drafting };
}

const BITS: Record<string, number> = {
  Q2_K: 3.2,
  Q3_K_M: 4,
  IQ4_XS: 4.3,
  Q4_K_M: 4.85,
  Q4_1: 5.5,
  Q5_K_M: 5.7,
  Q6_K: 6.6,
  Q8_0: 8.5,
  BF16: 16,
  MXFP4: 4.6,
};

export function fileBytes(id: string, quant: string): number {
  return Math.round((find(id).parameters * (BITS[quant] ?? 5)) / 8);
}

export function nameOf(id: string): string {
  return find(id).name;
}

function find(id: string): Shape {
  const found = SHAPES.find((one) => one.id === id.split(":")[0]);
  if (!found) throw new Error(`no such shape: ${id}`);
  return found;
}

export function knows(id: string): boolean {
  return SHAPES.some((one) => one.id === id.split(":")[0]);
}

export function shapeFacts(id: string): Pick<Shape, "parameters" | "active" | "trained"> {
  return find(id);
}

export function planFor(id: string, quant: string, wishes: PlanWishes, where: MachineName = "laptop"): Plan {
  const facts = machine(where);
  const model = find(id);
  const device = facts.devices[0];
  const weights = fileBytes(id, quant);
  const budget = device ? (device.freeBytes ?? 0) - 520 * MIB : 0;
  const hostBudget = (facts.memory.availableBytes ?? 0) - 2.5 * GIB;
  const fixed = 420 * MIB;

  const roomy = [32_768, 16_384, 8192, 4096].find(
    (size) => weights + fixed + size * model.kvBytesPerToken <= (device ? budget : hostBudget),
  );
  const liked = wishes.goal === "longestContext" ? model.trained : wishes.goal === "fastest" ? 8192 : roomy;
  const context = Math.min(wishes.context ?? liked ?? 8192, model.trained);
  const drafts = wishes.draft === "own" && model.drafting > 0 ? Math.round(weights / 30) : 0;
  const kv = context * model.kvBytesPerToken;

  const all = weights + kv + fixed;
  const onDevice = device ? Math.min(1, Math.max(0, (budget - fixed - kv) / weights)) : 0;
  const fitsDevice = device !== undefined && all <= budget;
  const hostWeights = device
    ? fitsDevice
      ? Math.round(weights * 0.06)
      : Math.round(weights * (1 - onDevice))
    : weights;
  const hostKv = device ? 0 : kv;
  const tooBig = hostWeights + hostKv > hostBudget;
  const verdict = tooBig ? "tooBig" : fitsDevice || !device ? "fits" : "spills";
  const layers = fitsDevice ? model.layers + 1 : Math.round(model.layers * onDevice);

  const devices = device
    ? [
        {
          id: device.id,
          ...need(
            fitsDevice ? weights : Math.round(weights * (tooBig ? 1 : onDevice)),
            kv,
            Math.round(124 * MIB + context * 900),
            [
              ...(drafts > 0 ? [{ code: "draft", bytes: drafts }] : []),
              { code: "backend", bytes: 280 * MIB },
            ],
            budget,
          ),
        },
      ]
    : [];
  // Without a device the processor takes most weights in its own order.
  const repacked = device ? 0 : Math.round(hostWeights * 0.7);
  const host = need(
    hostWeights - repacked,
    hostKv,
    Math.round(40 * MIB + context * 600),
    [
      { code: "repack", bytes: repacked },
      { code: "promptCache", bytes: 512 * MIB },
      { code: "process", bytes: 90 * MIB },
    ],
    hostBudget,
  );
  const used = host.totalBytes + devices.reduce((sum, one) => sum + one.totalBytes, 0);

  const gpuPart = fitsDevice ? 1 : onDevice;
  const activeBytes = (model.active / model.parameters) * weights;
  const seconds =
    (device ? (activeBytes * gpuPart) / (256e9 * 0.72) : 0) +
    (activeBytes * (device ? 1 - gpuPart : 1)) / ((device ? 83e9 : 68e9) * 0.5) +
    0.0012;
  const decode = 1 / seconds;
  const prefill = Math.min(4200, decode * (device ? 26 * gpuPart + 4 : 4));
  const around = (mid: number, spread: number) => ({
    low: mid * (1 - spread),
    mid,
    high: mid * (1 + spread),
  });

  return {
    model: {
      id,
      quant,
      architecture: model.architecture,
      parameters: model.parameters,
      activeParameters: model.active,
      fileBytes: weights,
      contextTrained: model.trained,
      draftingLayers: model.drafting,
    },
    settings: {
      context,
      slots: 1,
      kvTypeK: "f16",
      kvTypeV: "f16",
      batch: 512,
      ubatch: 512,
      cacheRamMib: 512,
      flashAttention: true,
      gpuLayers: device ? layers : 0,
      tensorSplit: [],
      hostExpertLayers:
        model.active < model.parameters && !fitsDevice ? Math.round(model.layers * (1 - onDevice)) : 0,
      arguments: [
        "-c",
        String(context),
        "-np",
        "1",
        "-ngl",
        String(layers),
        "-fa",
        "on",
        "-b",
        "512",
        "-cram",
        "512",
      ],
    },
    verdict,
    why: reasons(verdict, context, wishes, model, device?.name, {
      neededBytes: device && fitsDevice ? (devices[0]?.totalBytes ?? 0) : used,
      budgetBytes: device && fitsDevice ? budget : budget + hostBudget,
      onHost: model.layers - layers,
    }),
    memory: { devices, host, lowBytes: Math.round(used * 0.98), highBytes: Math.round(used * 1.04) },
    speed: {
      decodeTps: around(decode, 0.14),
      prefillTps: around(prefill, 0.2),
      firstTokenS: { promptTokens: 2000, ...around(2000 / prefill, 0.2) },
      basis: "table",
    },
  };
}

function reasons(
  verdict: Plan["verdict"],
  context: number,
  wishes: PlanWishes,
  model: Shape,
  device: string | undefined,
  room: { neededBytes: number; budgetBytes: number; onHost: number },
): Reason[] {
  const { onHost, ...bytes } = room;
  const out: Reason[] = [];
  if (verdict === "fits" && device) out.push({ code: "allOnDevice", params: { device, ...bytes } });
  if (verdict === "fits" && !device) out.push({ code: "cpuOnly", params: bytes });
  if (verdict === "spills") {
    const code = model.active < model.parameters ? "expertsOnHost" : "spillsToHost";
    out.push({ code, params: { onHost, layers: model.layers } });
  }
  if (verdict === "tooBig") out.push({ code: "tooBig", params: bytes });
  if ((wishes.context ?? 0) > model.trained) {
    out.push({ code: "contextCapped", params: { asked: wishes.context ?? 0, trained: model.trained } });
  } else if (wishes.context === undefined) {
    out.push({ code: "contextChosen", params: { context, trained: model.trained } });
  }
  out.push({ code: "batchChosen", params: { batch: 512, ms: 420 } });
  return out;
}

function need(
  weightsBytes: number,
  contextBytes: number,
  computeBytes: number,
  overheadParts: { code: string; bytes: number }[],
  budgetBytes: number,
): MemoryNeed {
  const overheadBytes = overheadParts.reduce((sum, part) => sum + part.bytes, 0);
  return {
    weightsBytes,
    contextBytes,
    computeBytes,
    projectorBytes: 0,
    overheadBytes,
    overheadParts,
    totalBytes: weightsBytes + contextBytes + computeBytes + overheadBytes,
    budgetBytes,
  };
}
