import { useParams } from "@tanstack/react-router";

import type { Message } from "@/wire/wire";

import { routerModels, useLive } from "./live";
import { useThreads } from "./threads";

interface Reading {
  /** Tokens in the open conversation, as the engine counted them for its last answer. */
  used: number | undefined;
  window: number | undefined;
  tps: number | undefined;
}

const NONE: Message[] = [];

/** How full the context of the open conversation is. Unknown stays unknown. */
export function useReading(): Reading {
  const id = useParams({ strict: false }).id;
  const messages = useThreads((state) => (id === undefined ? NONE : (state.threads[id]?.messages ?? NONE)));
  const router = useLive((live) => live.router);
  const loaded = routerModels(router).find((model) => model.status === "ready");
  const stats = messages.findLast((message) => message.stats?.promptTokens !== undefined)?.stats;
  return {
    used: stats?.promptTokens === undefined ? undefined : stats.promptTokens + (stats.completionTokens ?? 0),
    window: stats?.window ?? loaded?.context,
    tps: stats?.decodeTps,
  };
}
