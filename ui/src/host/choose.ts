import type { Host } from "./host";
import { httpHost } from "./http";

declare global {
  interface Window {
    __TAURI_INTERNALS__?: unknown;
  }
}

/** The shell when we are inside it, a scripted world when a test or a designer asks for one, else HTTP. */
export async function chooseHost(): Promise<Host> {
  if (window.__TAURI_INTERNALS__ !== undefined) {
    const { tauriHost } = await import("./tauri");
    return tauriHost();
  }
  if (__SCRIPTED__) {
    const scenario = new URLSearchParams(window.location.search).get("scripted");
    if (scenario !== null) {
      const { scriptedHost } = await import("./scripted/scripted");
      return scriptedHost(scenario);
    }
  }
  return httpHost();
}
