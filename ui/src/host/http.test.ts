import { afterEach, describe, expect, it, vi } from "vitest";

import type { Event } from "@/wire/wire";

import { CallError } from "./host";
import { httpHost } from "./http";

function answer(status: number, body: unknown): void {
  vi.stubGlobal(
    "fetch",
    vi.fn(async () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status })),
  );
}

async function faultOf(work: Promise<unknown>) {
  const thrown = await work.catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(CallError);
  return (thrown as CallError).fault;
}

afterEach(() => vi.unstubAllGlobals());

describe("calls over HTTP", () => {
  it("post the body to the call's name", async () => {
    answer(200, { id: "t1" });
    await expect(httpHost().call("turn/start", { conversation: "c", text: "hi" })).resolves.toEqual({
      id: "t1",
    });
    expect(fetch).toHaveBeenCalledWith("/call/turn/start", expect.objectContaining({ method: "POST" }));
  });

  it("hand on the fault that the core gave", async () => {
    const fault = { code: "diskFull", params: {}, trace: [], fixes: ["freeSpace"] };
    answer(507, fault);
    expect(await faultOf(httpHost().call("models/list", {}))).toEqual(fault);
  });

  it("say that the page is not signed in", async () => {
    answer(401, "no");
    expect((await faultOf(httpHost().call("models/list", {}))).code).toBe("notAllowed");
  });

  it("survive an answer that is no JSON", async () => {
    answer(200, "<html>");
    expect((await faultOf(httpHost().call("models/list", {}))).code).toBe("internal");
  });

  it("tell that the way is broken, and that it is back", async () => {
    const host = httpHost();
    const heard: boolean[] = [];
    host.connection((up) => heard.push(up));
    vi.stubGlobal(
      "fetch",
      vi.fn(async () => Promise.reject(new TypeError("refused"))),
    );
    expect((await faultOf(host.call("models/list", {}))).params).toEqual({ unreachable: 1 });
    answer(200, {});
    await host.call("router/read", {});
    expect(heard).toEqual([false, true]);
  });
});

describe("events over HTTP", () => {
  it("ask for a fresh reading after a reconnect, not after the first connect", () => {
    const sources: EventTarget[] = [];
    vi.stubGlobal(
      "EventSource",
      class extends EventTarget {
        constructor() {
          super();
          sources.push(this);
        }
        close() {}
      },
    );
    const heard: Event[] = [];
    httpHost().listen((event) => heard.push(event));
    const source = sources[0];
    source?.dispatchEvent(new globalThis.Event("open"));
    source?.dispatchEvent(new MessageEvent("message", { data: '{"type":"libraryChanged"}' }));
    source?.dispatchEvent(new globalThis.Event("error"));
    source?.dispatchEvent(new globalThis.Event("open"));
    expect(heard.map((event) => event.type)).toEqual(["libraryChanged", "missed"]);
  });
});
