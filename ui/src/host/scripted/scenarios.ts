import type { Fault } from "@/wire/wire";

import { type CallTable, callTable, startSetup } from "./calls";
import {
  answerMessage,
  conversation,
  damagedModel,
  engine,
  history,
  libraryModel,
  loaded,
  ownEngine,
  userMessage,
} from "./data";
import { startPull } from "./pulls";
import { foreignModels } from "./shelves";
import { answer, grow } from "./talk";
import { CODE, DINNERS, REASONING, TIDES } from "./texts";
import { World } from "./world";

const now = () => Math.floor(Date.now() / 1000);

const DISK_FULL: Fault = {
  code: "diskFull",
  params: { needed: 4_965_000_000, free: 1_610_000_000, path: "/home/ada/.cache/huggingface/hub" },
  trace: ["writing blobs/9f2c…part", "No space left on device (os error 28)"],
  fixes: ["retry", "freeSpace", "chooseOtherModel"],
};

const NEEDS_TOKEN: Fault = {
  code: "hubNeedsToken",
  params: { repo: "ggml-org/gemma-3-4b-it-GGUF", status: 401 },
  trace: ["the hub wants a token for ggml-org/gemma-3-4b-it-GGUF (401)"],
  fixes: ["setToken", "retry", "chooseOtherModel"],
};

const WRONG_BYTES: Fault = {
  code: "hashMismatch",
  params: { file: "Qwen3-4B-Q6_K.gguf" },
  trace: ["Qwen3-4B-Q6_K.gguf does not match its hash"],
  fixes: ["downloadAgain", "importFile"],
};

const UNREACHABLE: Fault = {
  code: "hubUnreachable",
  params: { host: "huggingface.co", file: "Qwen3-4B-Q6_K.gguf" },
  trace: ["huggingface.co cannot be reached"],
  fixes: ["checkConnection", "retry"],
};

const TOO_NEW: Fault = {
  code: "unknownArchitecture",
  params: { architecture: "qwen4" },
  trace: ["unknown model architecture: 'qwen4'"],
  fixes: ["chooseOtherModel", "updateApp"],
};

const OUT_OF_MEMORY: Fault = {
  code: "outOfMemory",
  params: { needed: 6_872_000_000, have: 5_190_000_000 },
  trace: [
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4968.20 MiB on device 0: cudaMalloc failed: out of memory",
  ],
  fixes: ["chooseSmallerContext", "chooseOtherModel", "retry"],
};

function failedPull(world: World, fault: Fault): void {
  settled(world);
  startPull(world, "qwen3-4b", "Q6_K", 0.37);
  const begun = world.transfers.get("qwen3-4b:Q6_K");
  if (begun) world.transfers.set(begun.id, { ...begun, state: "failed", bytesPerS: 0, fault });
}

/** Somebody has used Plimsoll for a while: one model on disk and in memory. */
function settled(world: World): void {
  world.engines = [engine()];
  world.models = [libraryModel("qwen3-8b", "Q4_K_M", world.where)];
  world.settings = { ...world.settings, defaultModel: "qwen3-8b:Q4_K_M" };
  world.router = {
    state: "ready",
    engine: engine().id,
    pid: 48_213,
    models: [loaded("qwen3-8b", "Q4_K_M", world.where)],
    owned: true,
  };
}

const SCENARIOS: Record<string, (world: World) => void> = {
  first: (world) => {
    world.firstStart = true;
  },
  firstCpu: (world) => {
    world.firstStart = true;
    world.where = "server";
  },
  downloading: (world) => {
    world.firstStart = true;
    startSetup(world, "qwen3-8b", "Q4_K_M", true, 0.41);
  },
  ready: (world) => {
    settled(world);
    world.conversations = history(now());
  },
  streaming: (world) => {
    settled(world);
    world.conversations = history(now());
    const ask = "Write a Python function that groups a list of dates by week, with a test.";
    const one = conversation("Group dates by week", now() + 1, [userMessage(ask, now())]);
    one.id = "c-live";
    one.running = "m-live";
    world.conversations.unshift(one);
    if (world.frozen) {
      grow(world, one.id, "m-live", { reasoning: REASONING, text: CODE.slice(0, 640) });
      one.messages.push(answerMessage(CODE.slice(0, 640), now(), { reasoning: REASONING }));
      const last = one.messages.at(-1);
      if (last) {
        last.id = "m-live";
        delete last.end;
        delete last.stats;
      }
    } else {
      answer(world, one.id, "m-live", CODE);
    }
  },
  /** A code block of 2,000 lines, as fast as no model writes: for measuring frames. */
  stress: (world) => {
    settled(world);
    const one = conversation("A long listing", now(), [userMessage("Write 2,000 lines of code.", now())]);
    one.id = "c-live";
    one.running = "m-live";
    world.conversations = [one];
    const lines = Array.from(
      { length: 2000 },
      (_, index) => `    total_${index} = sum(values[${index}:${index + 8}]) or "none"  # step ${index}`,
    );
    answer(world, one.id, "m-live", `Here it is.\n\n\`\`\`python\n${lines.join("\n")}\n\`\`\`\n\nDone.`, 24);
  },
  /** A model whose terms have to be accepted on the hub. */
  needsToken: (world) => {
    world.firstStart = true;
    world.frozen = true;
    startSetup(world, "gemma-3-4b", "Q4_K_M", true, 0.02);
    world.frozen = false;
    world.fail(NEEDS_TOKEN);
  },
  /** A model that a newer version knows. */
  tooNew: (world) => {
    settled(world);
    world.router = {
      state: "ready",
      engine: engine().id,
      pid: 48_213,
      owned: true,
      models: [{ id: "qwen3-8b:Q4_K_M", name: "Qwen3 8B", status: "failed", fault: TOO_NEW }],
    };
  },
  /** The first message is refused, the next one taken. */
  refusing: (world) => {
    settled(world);
    world.refusals = 1;
  },
  portTaken: (world) => {
    settled(world);
    world.portTaken = true;
  },
  /** As long as a conversation gets: for measuring the opening and the scrolling. */
  long: (world) => {
    settled(world);
    const long = conversation("Ten thousand messages", now(), []);
    long.id = "c-long";
    for (let index = 0; index < 5000; index += 1) {
      const at = now() - 700_000 + index * 120;
      long.messages.push(userMessage(`Question ${index + 1}: and what then?`, at));
      long.messages.push(answerMessage([TIDES, DINNERS, CODE][index % 3] ?? DINNERS, at + 30));
    }
    world.conversations = [long];
  },
  failed: (world) => {
    world.firstStart = true;
    world.frozen = true;
    startSetup(world, "qwen3-8b", "Q4_K_M", true, 0.62);
    world.frozen = false;
    world.fail(DISK_FULL);
  },
  loadFailed: (world) => {
    settled(world);
    world.router = {
      state: "ready",
      engine: engine().id,
      pid: 48_213,
      owned: true,
      models: [{ id: "qwen3-8b:Q4_K_M", name: "Qwen3 8B", status: "failed", fault: OUT_OF_MEMORY }],
    };
    const broken = answerMessage(
      "The Moon pulls on the whole Earth, but it pulls a little harder on",
      now(),
      {
        end: "failed",
        fault: {
          code: "modelCrashed",
          params: {},
          trace: ["llama-server exited with signal 6", "GGML_ASSERT(n_tokens <= n_batch) failed"],
          fixes: ["retry", "chooseOtherModel", "reportBug"],
        },
      },
    );
    const one = conversation("How tides work", now(), [
      userMessage("Explain how tides work.", now() - 60),
      broken,
    ]);
    one.id = "c-broken";
    world.conversations = [one, ...history(now() - 7200)];
  },
  loading: (world) => {
    settled(world);
    world.conversations = history(now());
    world.router = {
      state: "ready",
      engine: engine().id,
      pid: 48_213,
      owned: true,
      models: [
        {
          id: "qwen3-8b:Q4_K_M",
          name: "Qwen3 8B",
          status: "loading",
          progress: { stage: "text_model", value: 0.46 },
        },
      ],
    };
    if (!world.frozen) world.load("qwen3-8b:Q4_K_M", undefined);
  },
  empty: (world) => {
    settled(world);
  },
  wrongBytes: (world) => failedPull(world, WRONG_BYTES),
  unreachable: (world) => failedPull(world, UNREACHABLE),
  hubDown: (world) => {
    settled(world);
    world.offline = true;
  },
  full: (world) => {
    settled(world);
    world.models = [
      ...world.models,
      libraryModel("qwen2.5-coder-0.5b-instruct", "Q4_K_M", world.where),
      damagedModel(world.where),
      ...foreignModels(world.where),
    ];
    world.folders = ["/mnt/unplugged/models"];
    world.engines = [engine(), ownEngine()];
    world.conversations = history(now());
    for (let index = 0; index < 240; index += 1) {
      const at = now() - 90 * 86_400 - index * 40_000;
      world.conversations.push(
        conversation(`Older conversation ${240 - index}`, at, [
          userMessage("Hello", at),
          answerMessage(DINNERS, at),
        ]),
      );
    }
    const long = conversation("A long one", now() - 1200, []);
    long.id = "c-long";
    for (let index = 0; index < 400; index += 1) {
      const at = now() - 100_000 + index * 120;
      long.messages.push(userMessage(`Question ${index + 1}: and what then?`, at));
      long.messages.push(answerMessage([TIDES, DINNERS, CODE][index % 3] ?? DINNERS, at + 30));
    }
    world.conversations.unshift(long);
    startPull(world, "qwen3-4b", "Q6_K", 0.37);
    const deleted = conversation("A draft nobody needs", now() - 5000, [userMessage("Draft", now() - 5000)]);
    deleted.deletedAt = now() - 4000;
    world.conversations.push(deleted);
  },
};

/** `name` or `name,frozen`: frozen worlds hold still for pictures. An unknown name is `ready`. */
export function makeWorld(scenario: string): { calls: CallTable; listen: World["listen"]; world: World } {
  const [name = "ready", ...flags] = scenario.split(",");
  const world = new World();
  world.frozen = flags.includes("frozen");
  if (flags.includes("dark")) world.settings.theme = "dark";
  if (flags.includes("light")) world.settings.theme = "light";
  if (flags.includes("de")) world.settings.language = "de";
  if (flags.includes("compact")) world.settings.density = "compact";
  if (flags.includes("fast")) world.pace = 20;
  (SCENARIOS[name] ?? SCENARIOS["ready"])?.(world);
  return { calls: callTable(world), listen: (hear) => world.listen(hear), world };
}
