import { Channel, invoke } from "@tauri-apps/api/core";

import type { Event } from "@/wire/wire";

import { CallError, faultOf, type Host } from "./host";

/** The desktop shell: one command in, one channel out. */
export function tauriHost(): Host {
  return {
    kind: "tauri",
    async call(name, body) {
      try {
        return await invoke("call", { name, body });
      } catch (thrown) {
        throw new CallError(faultOf(thrown));
      }
    },
    listen(hear) {
      let listening = true;
      const to = new Channel<Event>();
      to.onmessage = (event) => {
        if (listening) hear(event);
      };
      invoke("listen", { to }).catch(() => {
        // Without the channel the page would show a still picture: reading again is the honest way on.
        if (listening) hear({ type: "missed" });
      });
      return () => {
        listening = false;
      };
    },
    connection: () => () => {},
  };
}
