import type { Calls, Fault, ForeignServer, HubSite, ProviderEntry, Providers, Setup } from "@/wire/wire";

import type { CallName } from "../host";
import { contextCalls } from "./contexts";
import { catalog, engine, libraryModel, ownEngine, recommendation } from "./data";
import { machineDetails, overridden } from "./machine";
import { fileBytes, knows, planFor } from "./planning";
import { runTransfer, startHubPull, startPull } from "./pulls";
import { refuse } from "./refuse";
import { shelfCalls } from "./shelves";
import { talkCalls } from "./talk";
import type { World } from "./world";

export type CallTable = { [N in CallName]: (body: Calls[N]["body"]) => Calls[N]["reply"] };

const ENGINE_BYTES = 94_000_000;

const PORT_TAKEN: Fault = {
  code: "portTaken",
  params: { port: 18_760 },
  trace: ["no free port at 18760 or above, 10 tried", "Address already in use (os error 98)"],
  fixes: ["retry"],
};

function hub(world: World): HubSite {
  return {
    url: "https://huggingface.co",
    offline: false,
    token: world.token,
    tokenFile: "/home/ada/.cache/huggingface/token",
  };
}

function changeServer(world: World, id: string, change: Partial<ForeignServer>) {
  const server = world.servers.get(id);
  if (server) world.servers.set(id, { ...server, ...change });
  return { servers: [...world.servers.values()] };
}

function providers(world: World): Providers {
  const known: Pick<ProviderEntry, "id" | "name" | "protocol" | "baseUrl" | "ownServer" | "custom">[] = [
    {
      id: "openai",
      name: "OpenAI",
      protocol: "openaiResponses",
      baseUrl: "https://api.openai.com/v1",
      ownServer: false,
      custom: false,
    },
    {
      id: "ollama",
      name: "Ollama",
      protocol: "openaiChat",
      baseUrl: "http://127.0.0.1:11434/v1",
      ownServer: true,
      custom: false,
    },
    ...world.endpoints.map((own) => ({ ...own, ownServer: false, custom: true })),
  ];
  return {
    keysIn: "keyring",
    providers: known.map((one) => ({
      ...one,
      key: world.keys.has(one.id) ? "keyring" : "nowhere",
      keyOptional: one.ownServer,
      models: (world.cloudModels.get(one.id) ?? []).map((name) => ({
        id: `@${one.id}/${name}`,
        name,
        context: 128_000,
        images: true,
        tools: true,
      })),
    })),
  };
}

/** The same table that the core has, over the scripted world. */
export function callTable(world: World): CallTable {
  const library = () => ({
    models: world.models,
    catalog: catalog(world.models, world.accepted, world.where),
    folder: world.library,
    usedBytes: world.models.reduce((sum, model) => sum + model.bytes, 0),
    freeBytes: 182 * 1024 ** 3,
  });
  const offers = [
    { flavour: "cuda-13.4", code: "drivesNvidia", bytes: ENGINE_BYTES },
    { flavour: "vulkan", code: "drivesByVulkan", bytes: 31_636_673 },
    { flavour: "cpu", code: "onProcessor", bytes: 19_398_918 },
  ].map(({ flavour, code, bytes }) => ({
    flavour,
    bytes,
    why: { code, params: { device: "NVIDIA GeForce RTX 4070 Laptop GPU", driver: "580.95.05" } },
  }));
  const previous = () => world.engines.find((one) => !one.inUse && !one.fault)?.id;
  const engines = () => {
    const before = previous();
    return {
      engines: world.engines,
      ...(before === undefined ? {} : { previous: before }),
      available: offers.map((offer) => offer.flavour),
      offers,
      passed: [
        {
          name: "llama-b11429-bin-ubuntu-rocm-10.0-x64.tar.gz",
          why: { code: "noDevice", params: {} },
        },
      ],
    };
  };

  return {
    ...shelfCalls(world),
    ...talkCalls(world),
    ...contextCalls(world),
    "status/read": () => ({
      version: "0.1.0",
      router: world.router,
      ...(world.setup ? { setup: world.setup } : {}),
      transfers: [...world.transfers.values()],
      running: world.conversations.filter((one) => one.running !== undefined).map((one) => one.id),
      firstStart: world.firstStart,
      ...(world.settings.defaultModel ? { defaultModel: world.settings.defaultModel } : {}),
    }),
    "status/watch": ({ on }) => {
      world.watch(on);
      return {};
    },
    "machine/read": () => overridden(world),
    "machine/details": () => machineDetails(world),
    "machine/override": ({ overrides }) => {
      world.overrides = overrides;
      world.emit({ type: "machineChanged" });
      return machineDetails(world);
    },
    "plan/make": ({ model, wishes }) => {
      const [id = "", quant = "Q4_K_M"] = model.split(":");
      if (!knows(id)) refuse("unknownModel", ["chooseOtherModel"]);
      return planFor(id, quant, wishes, world.where);
    },
    "plan/recommend": () => recommendation(world.models, world.where),
    "setup/start": ({ model, quant, licenceAccepted }) => startSetup(world, model, quant, licenceAccepted),
    "setup/stop": () => {
      world.stop("setup");
      if (world.setup) {
        world.setSetup({
          ...world.setup,
          running: false,
          steps: world.setup.steps.map((step) =>
            step.state === "running" ? { ...step, state: "stopped" } : step,
          ),
        });
      }
      return {};
    },
    "bench/run": ({ model }) => ({
      model,
      engine: "b11429-cpu",
      promptTokens: 540,
      answerTokens: 48,
      runs: 3,
      prefillTps: 820,
      decodeTps: 34,
    }),
    "models/refresh": () => ({
      serial: 1,
      issued: "2026-11-30",
      models: library().catalog.length,
      modelsInUse: library().catalog.length,
      leftOut: [],
      newer: false,
    }),
    "models/list": library,
    "models/read": ({ model }) =>
      world.models.find((one) => one.id === model) ?? refuse("unknownModel", ["chooseOtherModel"], { model }),
    "models/pull": ({ model, licenceAccepted }) => {
      if (model.includes("/")) {
        startHubPull(world, model);
        return { id: model };
      }
      const [id = "", quant = "Q4_K_M"] = model.split(":");
      const known = library().catalog.find((one) => one.id === id);
      if (!known) refuse("unknownModel", ["chooseOtherModel"]);
      if (known.licence.consent && !known.licence.accepted && !licenceAccepted) {
        refuse("licenceNotAccepted", ["acceptLicence"]);
      }
      world.accepted.add(id);
      startPull(world, id, quant);
      return { id: `${id}:${quant}` };
    },
    "models/stopPull": ({ id }) => {
      world.stop(`pull ${id}`);
      const transfer = world.transfers.get(id);
      if (transfer) world.setTransfer({ ...transfer, state: "stopped", bytesPerS: 0 });
      return {};
    },
    "models/cancelPull": ({ id }) => {
      world.stop(`pull ${id}`);
      const transfer = world.transfers.get(id);
      if (!transfer) refuse("notFound", ["retry"], { transfer: id });
      world.setTransfer({ ...transfer, state: "cancelled", bytesPerS: 0 });
      world.transfers.delete(id);
      if (id === "moveLibrary") world.movingTo = undefined;
      world.emit({ type: "libraryChanged" });
      return { freedBytes: transfer.doneBytes };
    },
    "models/import": ({ path }) => {
      if (!path.endsWith(".gguf")) refuse("notGguf", ["importFile"], { path });
      const model = { ...libraryModel("qwen3-4b", "Q6_K", world.where), path };
      world.models = [...world.models.filter((one) => one.id !== model.id), model];
      world.emit({ type: "libraryChanged" });
      return model;
    },
    "models/verify": ({ id }) => ({ id, damaged: [], unpinned: [] }),
    "models/remove": ({ id }) => {
      const model = world.models.find((one) => one.id === id) ?? refuse("notFound", []);
      world.models = world.models.filter((one) => one.id !== id);
      world.emit({ type: "libraryChanged" });
      return { freedBytes: model.bytes };
    },
    "engines/list": engines,
    "engines/add": ({ path }) => {
      if (path.includes("nothing")) refuse("noEngine", ["addEngine"], { path });
      const { fault: _fault, ...own } = ownEngine();
      world.engines = [...world.engines, { ...own, folder: path }];
      world.emit({ type: "enginesChanged" });
      return engines();
    },
    "engines/use": ({ id }) => {
      world.engines = world.engines.map((one) => ({ ...one, inUse: one.id === id }));
      world.emit({ type: "enginesChanged" });
      return engines();
    },
    "engines/newest": () => ({ tag: "b11459", inUse: false, offers, passed: [] }),
    "engines/rollBack": () => {
      const to = previous();
      world.engines = world.engines.map((one) => ({ ...one, inUse: one.id === to }));
      world.emit({ type: "enginesChanged" });
      return engines();
    },
    "engines/remove": ({ id }) => {
      world.engines = world.engines.filter((one) => one.id !== id);
      world.emit({ type: "enginesChanged" });
      return engines();
    },
    "engines/check": ({ id }) => ({
      engine: id,
      passed: true,
      steps: [
        { code: "files", passed: true, detail: "llama-server and 9 libraries" },
        { code: "version", passed: true, detail: "version: b11429 (6f3a0c1)" },
        { code: "devices", passed: true, detail: "CUDA0: NVIDIA GeForce RTX 4070 Laptop (8188 MiB)" },
        { code: "abilities", passed: true, detail: "--models-preset --no-models-autoload --cache-ram" },
      ],
    }),
    "engines/install": () => {
      const id = engine().id;
      runTransfer(
        world,
        { id, subject: id, state: "running", doneBytes: 0, totalBytes: ENGINE_BYTES, bytesPerS: 11e6 },
        () => {
          world.engines = [...world.engines.filter((one) => one.id !== id), engine()];
          world.emit({ type: "enginesChanged" });
        },
      );
      return { id };
    },
    "router/read": () => world.router,
    "router/load": ({ model, wishes }) => {
      world.load(model, wishes.context);
      return world.router;
    },
    "router/unload": ({ model }) => {
      if (world.router.state === "ready") {
        world.setRouter({ ...world.router, models: world.router.models.filter((one) => one.id !== model) });
      }
      return world.router;
    },
    "router/stop": () => {
      world.setRouter({ state: "off" });
      return world.router;
    },
    "settings/read": () => world.settings,
    "settings/write": ({ settings }) => {
      world.settings = settings;
      world.emit({ type: "settingsChanged" });
      return settings;
    },
    "endpoint/read": () => ({
      ...(world.settings.endpoint !== false && !world.portTaken ? { url: "http://127.0.0.1:18760/v1" } : {}),
      key: "pl-3f9c1b7e42a84d0c9a6e5d2f8b1c7a30",
      ...(world.portTaken ? { fault: PORT_TAKEN } : {}),
    }),
    "endpoint/open": () => {
      world.portTaken = false;
      world.emit({ type: "settingsChanged" });
      return {};
    },
    "providers/list": () => providers(world),
    "servers/find": () => ({ servers: [...world.servers.values()] }),
    "servers/use": ({ id }) => changeServer(world, id, { used: true, ignored: false }),
    "servers/ignore": ({ id, ignored }) => changeServer(world, id, { ignored }),
    "providers/setKey": ({ id, key }) => {
      if (key === "") world.keys.delete(id);
      else world.keys.add(id);
      world.emit({ type: "settingsChanged" });
      return providers(world);
    },
    "providers/save": ({ name, baseUrl, protocol }) => {
      world.endpoints.push({ id: `own-${world.endpoints.length + 1}`, name, baseUrl, protocol });
      world.emit({ type: "settingsChanged" });
      return providers(world);
    },
    "providers/remove": ({ id }) => {
      world.endpoints = world.endpoints.filter((one) => one.id !== id);
      world.emit({ type: "settingsChanged" });
      return providers(world);
    },
    "providers/models": ({ id }) => {
      if (id === "openai" && !world.keys.has(id)) refuse("routeKey", ["setKey"]);
      return { models: ["small-1", "large-1"] };
    },
    "providers/choose": ({ id, models }) => {
      world.cloudModels.set(id, models);
      world.emit({ type: "settingsChanged" });
      return providers(world);
    },
    "routes/losses": ({ model }) => ({
      images: 0,
      thoughts: 0,
      calls: 0,
      leaves: model.startsWith("@openai/"),
    }),
    "hub/read": () => hub(world),
    "hub/setToken": ({ token }) => {
      world.token = token === "" ? "nowhere" : "file";
      world.emit({ type: "settingsChanged" });
      return hub(world);
    },
  };
}

export function startSetup(
  world: World,
  model: string,
  quant: string,
  licenceAccepted: boolean,
  from = 0,
): Setup {
  const known = catalog(world.models, world.accepted, world.where).find((one) => one.id === model);
  if (known?.licence.consent && !known.licence.accepted && !licenceAccepted) {
    refuse("licenceNotAccepted", ["acceptLicence"]);
  }
  world.accepted.add(model);
  const bytes = fileBytes(model, quant);
  const total = bytes + ENGINE_BYTES;
  let done =
    world.setup?.model === model && !world.setup.done
      ? Math.max(world.setup.doneBytes, from * total)
      : from * total;
  const state = (): Setup => {
    const engineDone = done >= ENGINE_BYTES;
    const modelDone = done >= total;
    return {
      model,
      quant,
      running: true,
      done: false,
      doneBytes: Math.min(done, total),
      totalBytes: total,
      secondsLeft: Math.round((total - done) / 11.4e6),
      steps: [
        { name: "engine", state: engineDone ? "done" : "running", value: Math.min(1, done / ENGINE_BYTES) },
        {
          name: "model",
          state: modelDone ? "done" : engineDone ? "running" : "waiting",
          value: Math.max(0, Math.min(1, (done - ENGINE_BYTES) / bytes)),
        },
        { name: "start", state: modelDone ? "running" : "waiting" },
        { name: "proof", state: "waiting" },
      ],
    };
  };
  const first = state();
  world.setSetup(first);
  if (world.frozen) return first;
  world.every("setup", 100, () => {
    done += 1.1e8;
    if (done < total) {
      world.setSetup(state());
      return;
    }
    world.stop("setup");
    done = total;
    world.engines = [engine()];
    world.models = [
      ...world.models.filter((one) => one.id !== `${model}:${quant}`),
      libraryModel(model, quant, world.where),
    ];
    world.settings = { ...world.settings, defaultModel: `${model}:${quant}` };
    world.emit({ type: "libraryChanged" });
    world.emit({ type: "enginesChanged" });
    world.setSetup(state());
    world.load(`${model}:${quant}`, undefined, () => {
      world.firstStart = false;
      world.setSetup({
        ...state(),
        running: false,
        done: true,
        steps: state().steps.map((step) => ({ ...step, state: "done" })),
      });
      world.emit({ type: "settingsChanged" });
    });
  });
  return first;
}
