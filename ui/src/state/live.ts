import { create } from "zustand";

import type {
  Comparing,
  EndpointUse,
  Event,
  LoadedModel,
  Router,
  Sample,
  Setup,
  Status,
  Transfer,
} from "@/wire/wire";

/** What changes by itself: the router, a setup, transfers, the sampler. Seeded by `status/read`. */
interface Live {
  /** `status/read` was answered at least once. */
  known: boolean;
  connected: boolean;
  version: string;
  router: Router;
  setup: Setup | undefined;
  sample: Sample | undefined;
  transfers: Record<string, Transfer>;
  /** How far files of equal size are compared. */
  comparing: Comparing | undefined;
  running: string[];
  /** What other programs ask of the endpoint now. */
  endpointUses: EndpointUse[];
  firstStart: boolean;
  defaultModel: string | undefined;
}

export const useLive = create<Live>()(() => ({
  known: false,
  connected: true,
  version: "",
  router: { state: "off" },
  setup: undefined,
  sample: undefined,
  transfers: {},
  comparing: undefined,
  running: [],
  endpointUses: [],
  firstStart: false,
  defaultModel: undefined,
}));

export function seedLive(status: Status): void {
  useLive.setState({
    known: true,
    version: status.version,
    router: status.router,
    setup: status.setup,
    sample: status.sample ?? useLive.getState().sample,
    transfers: Object.fromEntries(status.transfers.map((transfer) => [transfer.id, transfer])),
    running: status.running,
    endpointUses: status.endpointUses ?? [],
    firstStart: status.firstStart,
    defaultModel: status.defaultModel,
  });
}

/** Keeps the live picture up to date; events of other concerns pass by. */
export function liveHear(event: Event): void {
  switch (event.type) {
    case "routerChanged":
      useLive.setState({ router: event.router });
      break;
    case "setupMoved":
      useLive.setState({ setup: event.setup });
      break;
    case "transferMoved":
      useLive.setState(({ transfers }) => ({
        transfers: { ...transfers, [event.transfer.id]: event.transfer },
      }));
      break;
    case "sampled":
      useLive.setState({ sample: event.sample });
      break;
    case "turnStarted":
      useLive.setState(({ running }) => ({
        running: running.includes(event.conversation) ? running : [...running, event.conversation],
      }));
      break;
    case "turnEnded":
      useLive.setState(({ running }) => ({ running: running.filter((id) => id !== event.conversation) }));
      break;
    case "endpointUsed":
      useLive.setState({ endpointUses: event.uses });
      break;
    case "compared":
      useLive.setState({ comparing: event.comparing });
      break;
    case "libraryChanged":
      useLive.setState({ comparing: undefined });
      break;
    case "enginesChanged":
    case "settingsChanged":
    case "machineChanged":
    case "conversationChanged":
    case "contextChanged":
    case "turnWaiting":
    case "toolsMoved":
    case "toolAsked":
    case "promptRead":
    case "textAdded":
    case "reasoningAdded":
    case "missed":
      break;
    default:
      event satisfies never;
  }
}

const NONE: LoadedModel[] = [];

/** The models of a running router; empty in every other state. */
export function routerModels(router: Router): LoadedModel[] {
  return router.state === "ready" ? router.models : NONE;
}

/** The transfer that moves the library: no model and no engine. */
export const MOVE = "moveLibrary";

/** Something of it is here and can be gone on with. */
export function isKept(transfer: Transfer): boolean {
  return transfer.state !== "done" && transfer.state !== "cancelled";
}

export function isActive(transfer: Transfer): boolean {
  return transfer.state === "running" || transfer.state === "checking";
}
