import type { QueryClient } from "@tanstack/react-query";

import type { Host } from "@/host/host";
import type { Conversations, ConversationSummary, Event } from "@/wire/wire";

import { stale } from "./ask";
import { isTurnEvent, joined } from "./hear";
import { liveHear, seedLive, useLive } from "./live";
import { getThread, threadHear, threadOpened, useThreads } from "./threads";

/** How long events wait when the page is hidden and no frame comes. */
const HIDDEN_WAIT_MS = 250;

/**
 * Connects the host's events to the stores: once a frame, neighbouring pieces joined. Returns the way to
 * disconnect.
 */
export function startFeed(host: Host, queries: QueryClient): () => void {
  let waiting: Event[] = [];
  let frame = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function deliver() {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    frame = 0;
    timer = undefined;
    const events = joined(waiting);
    waiting = [];
    for (const event of events) take(event);
  }

  function schedule() {
    if (frame !== 0 || timer !== undefined) return;
    // Frames stop while the window is hidden; a timer keeps a long answer from piling up.
    frame = requestAnimationFrame(deliver);
    timer = setTimeout(deliver, HIDDEN_WAIT_MS);
  }

  function take(event: Event) {
    liveHear(event);
    if (isTurnEvent(event)) {
      threadHear(event);
      if (event.type === "turnEnded") stale(queries, "context/read", "context/plan");
      if (event.type === "turnEnded" && getThread(event.conversation)?.joinedLate) {
        void reopen(host, event.conversation);
      }
      return;
    }
    switch (event.type) {
      case "libraryChanged":
        stale(
          queries,
          "models/list",
          "plan/recommend",
          "plan/make",
          "models/duplicates",
          "folders/read",
          "hub/variants",
        );
        break;
      case "enginesChanged":
        stale(queries, "engines/list", "plan/recommend");
        break;
      case "settingsChanged":
        stale(
          queries,
          "settings/read",
          "endpoint/read",
          "hub/read",
          "hub/search",
          "hub/variants",
          "hub/fit",
          "providers/list",
          "conversations/settings",
        );
        void readStatus(host);
        break;
      case "machineChanged":
        // Every plan was made for the machine as it was.
        stale(queries, "machine/read", "machine/details", "models/list", "plan/recommend", "plan/make");
        break;
      case "conversationChanged":
        placeConversation(queries, event.conversation);
        break;
      case "contextChanged":
        stale(queries, "context/read", "context/plan", "context/expand");
        break;
      case "missed":
        void readStatus(host);
        stale(
          queries,
          ...([
            "models/list",
            "engines/list",
            "settings/read",
            "providers/list",
            "conversations/list",
            "conversations/search",
            "machine/details",
            "context/read",
          ] as const),
        );
        for (const id of Object.keys(useThreads.getState().threads)) void reopen(host, id);
        break;
      case "routerChanged":
      case "setupMoved":
        break;
      case "transferMoved":
        if (event.transfer.state === "done") stale(queries, "models/list", "engines/list");
        break;
      case "sampled":
      case "compared":
      case "endpointUsed":
        break;
      default:
        event satisfies never;
    }
  }

  const unlisten = host.listen((event) => {
    waiting.push(event);
    schedule();
  });
  const unwatch = host.connection((connected) => useLive.setState({ connected }));
  void readStatus(host);

  return () => {
    unlisten();
    unwatch();
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

async function readStatus(host: Host): Promise<void> {
  try {
    seedLive(await host.call("status/read", {}));
  } catch {
    useLive.setState({ connected: false });
    setTimeout(() => void readStatus(host), 2000);
  }
}

/** Reads a conversation from the store into its thread; a fault is the caller's to show. */
export async function reopen(host: Host, id: string): Promise<void> {
  try {
    threadOpened(await host.call("conversations/open", { id }));
  } catch {
    // It may have been deleted meanwhile; opening it on purpose shows why.
  }
}

function placeConversation(queries: QueryClient, changed: ConversationSummary): void {
  const key = ["conversations/list", { trash: false }];
  queries.setQueryData<Conversations>(key, (before) => {
    if (!before) return before;
    const others = before.conversations.filter((one) => one.id !== changed.id);
    if (changed.deletedAt !== undefined) return { conversations: others };
    const conversations = [changed, ...others].toSorted((a, b) => b.updatedAt - a.updatedAt);
    return { conversations };
  });
  void queries.invalidateQueries({ queryKey: ["conversations/list", { trash: true }] });
  stale(queries, "conversations/search");
}
