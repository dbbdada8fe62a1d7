import type { Calls } from "@/wire/wire";

import { type Body, type CallName, CallError, type Host, type Reply } from "../host";
import { makeWorld } from "./scenarios";

/** A whole world in memory behind the same door as the real hosts. For tests, screenshots and design work. */
export function scriptedHost(scenario: string): Host {
  const world = makeWorld(scenario);
  return {
    kind: "scripted",
    async call<N extends CallName>(name: N, body: Body<N>): Promise<Reply<N>> {
      // Every answer comes later, as in life; a copy, so that nobody shares our state.
      await Promise.resolve();
      const answer = world.calls[name] as ((body: Calls[N]["body"]) => Calls[N]["reply"]) | undefined;
      if (!answer) {
        throw new CallError({ code: "unknownCall", params: { name }, trace: [], fixes: ["updateApp"] });
      }
      return structuredClone(answer(body));
    },
    listen: (hear) => world.listen((event) => hear(structuredClone(event))),
    connection: () => () => {},
  };
}
