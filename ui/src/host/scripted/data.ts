import type {
  Conversation,
  EngineBuild,
  Fault,
  LibraryModel,
  LoadedModel,
  Message,
  ModelEntry,
  Recommendation,
} from "@/wire/wire";

import { fileBytes, type MachineName, nameOf, planFor, shapeFacts } from "./planning";
import { CODE, DINNERS, REASONING, TIDES } from "./texts";

const HOUR = 3600;
const DAY = 86_400;

interface Entry {
  id: string;
  about: string;
  publisher: string;
  licence: string;
  url: string;
  consent?: boolean;
  abilities: string[];
  quants: string[];
}

const ENTRIES: Entry[] = [
  entry(
    "qwen3-8b",
    "A strong all-rounder that can think before it answers.",
    "Alibaba Qwen",
    "Apache-2.0",
    ["chat", "tools", "reasoning", "code"],
    ["Q4_K_M", "Q6_K", "Q8_0"],
  ),
  entry(
    "qwen3-4b",
    "The smaller sibling: quick, and good for its size.",
    "Alibaba Qwen",
    "Apache-2.0",
    ["chat", "tools", "reasoning"],
    ["Q4_K_M", "Q6_K", "Q8_0"],
  ),
  {
    ...entry(
      "gemma-3-4b",
      "Sees images, speaks many languages, long context.",
      "Google",
      "Gemma",
      ["chat", "vision"],
      ["Q4_K_M", "Q8_0"],
    ),
    consent: true,
    url: "https://ai.google.dev/gemma/terms",
  },
  entry(
    "gpt-oss-20b",
    "A sparse model: large, but only a part works on each word.",
    "OpenAI",
    "Apache-2.0",
    ["chat", "tools", "reasoning", "code"],
    ["MXFP4"],
  ),
  entry(
    "qwen3-30b-a3b",
    "Sparse and well-read; wants much memory, not much power.",
    "Alibaba Qwen",
    "Apache-2.0",
    ["chat", "tools", "reasoning", "code"],
    ["Q3_K_M", "Q4_K_M"],
  ),
  {
    ...entry(
      "gemma-3-12b",
      "A careful writer that sees images.",
      "Google",
      "Gemma",
      ["chat", "vision"],
      ["Q4_K_M", "Q6_K"],
    ),
    consent: true,
    url: "https://ai.google.dev/gemma/terms",
  },
  entry(
    "mistral-small-24b",
    "Precise and fast in European languages.",
    "Mistral AI",
    "Apache-2.0",
    ["chat", "tools", "vision"],
    ["Q3_K_M", "Q4_K_M"],
  ),
  {
    ...entry(
      "llama-3.3-70b",
      "Large and general; made for bigger machines.",
      "Meta",
      "Llama 3.3",
      ["chat", "tools"],
      ["Q4_K_M"],
    ),
    consent: true,
    url: "https://www.llama.com/llama3_3/license/",
  },
  entry(
    "qwen2.5-coder-0.5b-instruct",
    "Very small; completes and explains code.",
    "Alibaba Qwen",
    "Apache-2.0",
    ["chat", "tools", "code"],
    ["Q4_K_M"],
  ),
  entry(
    "smollm2-135m-instruct",
    "Tiny: for checks and old machines.",
    "Hugging Face",
    "Apache-2.0",
    ["chat"],
    ["Q4_1"],
  ),
];

function entry(
  id: string,
  about: string,
  publisher: string,
  licence: string,
  abilities: string[],
  quants: string[],
): Entry {
  return {
    id,
    about,
    publisher,
    licence,
    url: "https://www.apache.org/licenses/LICENSE-2.0",
    abilities,
    quants,
  };
}

export function catalog(
  onDisk: readonly LibraryModel[],
  accepted: ReadonlySet<string>,
  where: MachineName,
): ModelEntry[] {
  return ENTRIES.map((one) => {
    const facts = shapeFacts(one.id);
    return {
      id: one.id,
      name: nameOf(one.id),
      about: one.about,
      aboutIn: {},
      publisher: one.publisher,
      licence: {
        name: one.licence,
        url: one.url,
        consent: one.consent ?? false,
        accepted: accepted.has(one.id),
      },
      parameters: facts.parameters,
      activeParameters: facts.active,
      contextTrained: facts.trained,
      abilities: one.abilities,
      rank: 50,
      rankReason: "",
      variants: one.quants.map((quant) => ({
        quant,
        bytes: fileBytes(one.id, quant),
        state: onDisk.some((model) => model.id === `${one.id}:${quant}`) ? "onDisk" : "absent",
        plan: planFor(one.id, quant, {}, where),
      })),
    };
  });
}

export function libraryModel(id: string, quant: string, where: MachineName): LibraryModel {
  const plan = planFor(id, quant, {}, where);
  return {
    id: `${id}:${quant}`,
    name: nameOf(id),
    quant,
    architecture: plan.model.architecture,
    bytes: plan.model.fileBytes,
    freesBytes: plan.model.fileBytes,
    path: `/home/ada/.cache/huggingface/hub/models--${id}/snapshots/3f1c9/${id}-${quant}.gguf`,
    state: "ready",
    licence: "Apache-2.0",
    chat: true,
    plan,
  };
}

export function damagedModel(where: MachineName): LibraryModel {
  const fault: Fault = {
    code: "ggufCut",
    params: {
      needed: fileBytes("gemma-3-4b", "Q4_K_M"),
      have: 1_204_000_000,
      file: "gemma-3-4b-it-Q4_K_M.gguf",
    },
    trace: ["gemma-3-4b-it-Q4_K_M.gguf: tensor blk.19.ffn_up.weight ends beyond the file"],
    fixes: ["downloadAgain", "chooseOtherModel"],
  };
  return { ...libraryModel("gemma-3-4b", "Q4_K_M", where), state: "incomplete", licence: "Gemma", fault };
}

export function recommendation(onDisk: readonly LibraryModel[], where: MachineName): Recommendation {
  const pick = (id: string, quant: string) => ({
    model: id,
    quant,
    name: nameOf(id),
    downloadBytes: onDisk.some((model) => model.id === `${id}:${quant}`) ? 0 : fileBytes(id, quant),
    onDisk: onDisk.some((model) => model.id === `${id}:${quant}`),
    plan: planFor(id, quant, {}, where),
  });
  const best = where === "server" ? "qwen3-30b-a3b" : "qwen3-8b";
  return {
    pick: pick(best, "Q4_K_M"),
    why: [
      { code: "bestFit", params: { rank: 7 } },
      { code: "turnTime", params: { seconds: where === "server" ? 31 : 9.4 } },
    ],
    alternatives: [
      { ...pick("qwen3-4b", "Q4_K_M"), why: [{ code: "faster", params: { seconds: 5.2 } }] },
      {
        ...pick("gpt-oss-20b", "MXFP4"),
        why: [{ code: "smaller", params: { bytes: fileBytes("gpt-oss-20b", "MXFP4") } }],
      },
      { ...pick("gemma-3-4b", "Q4_K_M"), why: [{ code: "faster", params: { seconds: 5.4 } }] },
    ],
    rejected: [
      {
        model: "llama-3.3-70b",
        quant: "Q4_K_M",
        name: "Llama 3.3 70B",
        code: "tooBig",
        params: { neededBytes: 47_000_000_000, budgetBytes: 28_000_000_000 },
      },
    ],
  };
}

export function engine(): EngineBuild {
  return {
    id: "b11429-cuda",
    version: "b11429 (6f3a0c1)",
    backends: ["cuda", "cpu"],
    folder: "/home/ada/.local/share/plimsoll/engines/b11429-cuda",
    inUse: true,
    origin: "release",
    insteadOf: [],
  };
}

export function ownEngine(): EngineBuild {
  return {
    id: "own-vulkan",
    version: "b10434",
    backends: ["vulkan", "cpu"],
    folder: "/opt/llama.cpp/build/bin",
    inUse: false,
    origin: "added",
    insteadOf: [],
    fault: {
      code: "engineIncomplete",
      params: { file: "libggml-vulkan.so" },
      trace: ["libggml-vulkan.so: cannot open shared object file"],
      fixes: ["addEngine", "reinstallEngine"],
    },
  };
}

export function loaded(id: string, quant: string, where: MachineName): LoadedModel {
  const plan = planFor(id, quant, {}, where);
  const total =
    plan.memory.host.totalBytes + plan.memory.devices.reduce((sum, one) => sum + one.totalBytes, 0);
  const device = plan.memory.devices[0] ?? plan.memory.host;
  return {
    id: `${id}:${quant}`,
    name: nameOf(id),
    status: "ready",
    context: plan.settings.context,
    proof: {
      planned: plan.memory,
      plannedBytes: total,
      residentBytes: Math.round(total * 1.013),
      parts: [
        { code: "weights", plannedBytes: device.weightsBytes, reportedBytes: device.weightsBytes },
        { code: "context", plannedBytes: device.contextBytes, reportedBytes: device.contextBytes },
        {
          code: "compute",
          plannedBytes: device.computeBytes,
          reportedBytes: device.computeBytes - 1_400_000,
        },
      ],
      firstTokenMs: 212,
      pools: [],
      findings: [],
      decodeTps: (plan.speed?.decodeTps.mid ?? 30) * 1.03,
      ...(plan.speed ? { plannedTps: plan.speed.decodeTps } : {}),
    },
  };
}

let made = 0;
export function freshId(kind: string): string {
  made += 1;
  return `${kind}-${made}`;
}

export function userMessage(text: string, at: number): Message {
  return { id: freshId("m"), role: "user", text, reasoning: "", createdAt: at };
}

export function answerMessage(text: string, at: number, more: Partial<Message> = {}): Message {
  return {
    id: freshId("m"),
    role: "assistant",
    text,
    reasoning: "",
    createdAt: at,
    end: "complete",
    stats: {
      route: "local",
      model: "qwen3-8b:Q4_K_M",
      promptTokens: 1480,
      cachedTokens: 1216,
      completionTokens: 342,
      firstTokenMs: 380,
      decodeTps: 36.4,
      window: 8192,
    },
    ...more,
  };
}

export function conversation(title: string, at: number, messages: Message[]): Conversation {
  return {
    id: freshId("c"),
    title,
    createdAt: at,
    updatedAt: at,
    model: "qwen3-8b:Q4_K_M",
    tools: { on: false, folders: [], allowed: [] },
    settings: {},
    messages,
  };
}

export function history(now: number): Conversation[] {
  const ask = "Write a Python function that groups a list of dates by week, with a test.";
  const titles: [string, number][] = [
    ["Reply to the landlord about the heating", 5 * HOUR],
    ["Packing list for four days in Bergen", DAY + 2 * HOUR],
    ["Regular expression for German postcodes", DAY + 6 * HOUR],
    ["Why the sourdough stays flat", 3 * DAY],
    ["Reading notes: The Wager", 4 * DAY],
    ["SQL: running total per customer", 6 * DAY],
    ["A name for a small rowing club", 12 * DAY],
    ["Birthday speech for Aunt Ines", 19 * DAY],
    ["Explain Bayes with fishing nets", 26 * DAY],
    ["Cover letter, second draft", 48 * DAY],
    ["Kitchen measurements in metric", 71 * DAY],
  ];
  return [
    conversation("Group dates by week", now - 600, [
      userMessage(ask, now - 640),
      answerMessage(CODE, now - 600, { reasoning: REASONING }),
    ]),
    conversation("How tides work", now - 2 * HOUR, [
      userMessage(
        "Explain how tides work, in five sentences for a curious twelve-year-old.",
        now - 2 * HOUR - 30,
      ),
      answerMessage(TIDES, now - 2 * HOUR),
    ]),
    conversation("Three dinners", now - 3 * HOUR, [
      userMessage(
        "Plan three simple dinners for this week from: rice, eggs, spinach, tomatoes.",
        now - 3 * HOUR - 20,
      ),
      answerMessage(DINNERS, now - 3 * HOUR),
    ]),
    ...titles.map(([title, ago]) =>
      conversation(title, now - ago, [userMessage(title, now - ago - 20), answerMessage(DINNERS, now - ago)]),
    ),
  ];
}
