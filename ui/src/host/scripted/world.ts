import type {
  ChatSettings,
  Comparing,
  Conversation,
  EngineBuild,
  Event,
  Fault,
  ForeignServer,
  LibraryModel,
  MachineOverrides,
  Message,
  ProviderProtocol,
  Router,
  Sample,
  Settings,
  Setup,
  TokenFrom,
  Transfer,
} from "@/wire/wire";

import { engine, loaded } from "./data";
import { machine, type MachineName, nameOf, planFor } from "./planning";

const GIB = 1024 ** 3;

/** The state of the scripted world and the ways it moves by itself. */
export class World {
  where: MachineName = "laptop";
  engines: EngineBuild[] = [];
  models: LibraryModel[] = [];
  accepted = new Set<string>();
  conversations: Conversation[] = [];
  /** Every message of a conversation, on all its branches. */
  trees = new Map<string, Message[]>();
  modelSettings = new Map<string, ChatSettings>();
  router: Router = { state: "off" };
  setup: Setup | undefined;
  transfers = new Map<string, Transfer>();
  settings: Settings = {
    theme: "system",
    language: "en",
    density: "comfortable",
    statusBar: true,
    endpoint: true,
  };
  overrides: MachineOverrides = { devices: [] };
  firstStart = false;
  /** Where the hub’s token comes from. */
  token: TokenFrom = "nowhere";
  library = "/home/ada/.cache/huggingface/hub";
  /** Where the library is being moved to. */
  movingTo: string | undefined;
  /** Folders that the person named. */
  folders: string[] = [];
  /** The hub does not answer. */
  offline = false;
  comparing: Comparing | undefined;
  compared = false;
  /** Providers with a key. */
  keys = new Set<string>();
  servers = new Map<string, ForeignServer>([
    [
      "ollama:11434",
      {
        id: "ollama:11434",
        kind: "ollama",
        port: 11434,
        pid: 2210,
        memoryBytes: 327_000_000,
        deviceBytes: 5_100_000_000,
        models: ["llama3.2:3b", "qwen3:8b"],
        wantsKey: false,
        used: false,
        ignored: false,
      },
    ],
  ]);
  endpoints: { id: string; name: string; baseUrl: string; protocol: ProviderProtocol }[] = [];
  cloudModels = new Map<string, string[]>();
  /** Other programs cannot be let in. */
  portTaken = false;
  /** How many messages are refused yet. */
  refusals = 0;
  /** Nothing moves by itself: for pictures. */
  frozen = false;
  /** How fast downloads and answers go; tests turn it up. */
  pace = 1;
  watching = false;

  private ears = new Set<(event: Event) => void>();
  private timers = new Map<string, ReturnType<typeof setInterval>>();
  private tick = 0;

  listen(hear: (event: Event) => void): () => void {
    this.ears.add(hear);
    return () => this.ears.delete(hear);
  }

  emit(event: Event): void {
    for (const hear of this.ears) hear(event);
  }

  every(key: string, ms: number, step: () => void): void {
    this.stop(key);
    this.timers.set(key, setInterval(step, ms / this.pace));
  }

  stop(key: string): void {
    clearInterval(this.timers.get(key));
    this.timers.delete(key);
  }

  setRouter(router: Router): void {
    this.router = router;
    this.emit({ type: "routerChanged", router });
  }

  setSetup(setup: Setup): void {
    this.setup = setup;
    this.emit({ type: "setupMoved", setup });
  }

  setTransfer(transfer: Transfer): void {
    this.transfers.set(transfer.id, transfer);
    this.emit({ type: "transferMoved", transfer });
  }

  changed(conversation: Conversation): void {
    const { messages: _m, tools: _t, settings: _s, running: _r, ...summary } = conversation;
    this.emit({ type: "conversationChanged", conversation: summary });
  }

  find(id: string): Conversation | undefined {
    return this.conversations.find((one) => one.id === id);
  }

  /** Loads a model with progress, then proves it. */
  load(id: string, context: number | undefined, then?: () => void): void {
    const [base = "", quant = ""] = id.split(":");
    const ready = loaded(base, quant, this.where);
    const plan = planFor(base, quant, context === undefined ? {} : { context }, this.where);
    ready.context = plan.settings.context;
    const running = (models: Extract<Router, { state: "ready" }>["models"]): Router => ({
      state: "ready",
      engine: engine().id,
      pid: 48_213,
      models,
      owned: true,
    });
    let value = 0;
    this.setRouter(
      running([{ id, name: nameOf(base), status: "loading", progress: { stage: "text_model", value } }]),
    );
    this.every("load", 60, () => {
      value += 0.02;
      if (value < 1) {
        this.setRouter(
          running([{ id, name: nameOf(base), status: "loading", progress: { stage: "text_model", value } }]),
        );
      } else if (value < 1.12) {
        this.setRouter(running([{ id, name: nameOf(base), status: "proving" }]));
      } else {
        this.stop("load");
        this.setRouter(running([ready]));
        then?.();
      }
    });
  }

  /** Hashes files of equal size. */
  compare(totalBytes: number): void {
    this.comparing = { doneBytes: 0, totalBytes };
    if (this.frozen) return;
    this.every("compare", 100, () => {
      const doneBytes = (this.comparing?.doneBytes ?? 0) + totalBytes / 20;
      this.comparing = { doneBytes, totalBytes };
      if (doneBytes < totalBytes) {
        this.emit({ type: "compared", comparing: this.comparing });
        return;
      }
      this.stop("compare");
      this.comparing = undefined;
      this.compared = true;
      this.emit({ type: "libraryChanged" });
    });
  }

  fail(fault: Fault): void {
    if (!this.setup) return;
    this.stop("setup");
    this.setSetup({
      ...this.setup,
      running: false,
      fault,
      steps: this.setup.steps.map((step) => (step.state === "running" ? { ...step, state: "failed" } : step)),
    });
  }

  sample(): Sample {
    const facts = machine(this.where);
    this.tick += 1;
    const sway = Math.sin(this.tick / 3);
    const busy = this.conversations.some((one) => one.running !== undefined);
    const model =
      this.router.state === "ready" ? this.router.models.find((one) => one.status === "ready") : undefined;
    const need = model?.proof?.planned;
    return {
      takenAt: Math.floor(Date.now() / 1000),
      cpuPercent: Math.max(1, Math.round((busy ? 31 : 4) + sway * 2)),
      memory: {
        id: "memory",
        name: "memory",
        totalBytes: facts.memory.totalBytes,
        appBytes: (need?.host.totalBytes ?? 0) + 0.19 * GIB,
        othersBytes: facts.memory.totalBytes - (facts.memory.availableBytes ?? 0) + sway * 0.05 * GIB,
      },
      devices: facts.devices.map((device) => ({
        id: device.id,
        name: device.name,
        totalBytes: device.totalBytes,
        appBytes: need?.devices.find((one) => one.id === device.id)?.totalBytes ?? 0,
        othersBytes: device.totalBytes - (device.freeBytes ?? 0),
      })),
    };
  }

  watch(on: boolean): void {
    this.watching = on;
    if (!on || this.frozen) {
      this.stop("sample");
      if (on) this.emit({ type: "sampled", sample: this.sample() });
      return;
    }
    this.emit({ type: "sampled", sample: this.sample() });
    this.every("sample", 1500, () => this.emit({ type: "sampled", sample: this.sample() }));
  }
}
