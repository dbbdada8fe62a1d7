import type { Calls, Event, Fault } from "@/wire/wire";

export type CallName = keyof Calls;
export type Body<N extends CallName> = Calls[N]["body"];
export type Reply<N extends CallName> = Calls[N]["reply"];

/**
 * The page's only door to the world. Three hosts implement it: the desktop shell, the HTTP host and a
 * scripted world for tests and design work.
 */
export interface Host {
  readonly kind: "tauri" | "http" | "scripted";
  /** Rejects with a {@link CallError} and nothing else. */
  call<N extends CallName>(name: N, body: Body<N>): Promise<Reply<N>>;
  /** Events in order, until the returned function is called. */
  listen(hear: (event: Event) => void): () => void;
  /** Told when the way to the app breaks and when it is back. Never called by hosts that cannot lose it. */
  connection(hear: (up: boolean) => void): () => void;
}

export class CallError extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.code);
    this.name = "CallError";
    this.fault = fault;
  }
}

/** What went wrong, whatever was thrown. */
export function faultOf(thrown: unknown): Fault {
  if (thrown instanceof CallError) return thrown.fault;
  if (isFault(thrown)) return thrown;
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: "internal", params: {}, trace: [said], fixes: ["retry", "reportBug"] };
}

export function isFault(value: unknown): value is Fault {
  return (
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    typeof value.code === "string" &&
    "fixes" in value &&
    Array.isArray(value.fixes)
  );
}
