import type { Event, Fault } from "@/wire/wire";

import { CallError, faultOf, type Host, isFault } from "./host";

/** The same calls over loopback HTTP. The session is a cookie that the page itself never sees. */
export function httpHost(base = ""): Host {
  const tellConnection = new Set<(up: boolean) => void>();
  let up = true;
  function connected(now: boolean) {
    if (now === up) return;
    up = now;
    for (const tell of tellConnection) tell(now);
  }

  return {
    kind: "http",
    async call(name, body) {
      let answer: Response;
      try {
        answer = await fetch(`${base}/call/${name}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
          credentials: "same-origin",
        });
      } catch (thrown) {
        connected(false);
        throw new CallError(unreachable(thrown));
      }
      connected(true);
      const text = await answer.text();
      let value: unknown;
      try {
        value = text === "" ? {} : JSON.parse(text);
      } catch {
        value = undefined;
      }
      if (!answer.ok) throw new CallError(isFault(value) ? value : refused(answer.status, text));
      if (value === undefined) throw new CallError(faultOf(new Error(`no JSON: ${text.slice(0, 200)}`)));
      // The contract is generated from the same types that the other side serialises.
      return value as never;
    },
    listen(hear) {
      const source = new EventSource(`${base}/events`, { withCredentials: true });
      let seen = false;
      source.addEventListener("open", () => {
        connected(true);
        // EventSource reconnects by itself; what happened in between is lost and has to be read again.
        if (seen) hear({ type: "missed" });
        seen = true;
      });
      source.addEventListener("message", (message) => {
        hear(JSON.parse(message.data) as Event);
      });
      source.addEventListener("error", () => connected(false));
      return () => source.close();
    },
    connection(tell) {
      tellConnection.add(tell);
      return () => tellConnection.delete(tell);
    },
  };
}

function unreachable(thrown: unknown): Fault {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "internal", params: { unreachable: 1 }, trace: [said], fixes: ["retry"] };
}

function refused(status: number, text: string): Fault {
  const code = status === 401 || status === 403 ? "notAllowed" : "internal";
  return { code, params: { status }, trace: [`${status} ${text.slice(0, 200)}`], fixes: ["retry"] };
}
