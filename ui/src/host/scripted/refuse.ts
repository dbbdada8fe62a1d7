import type { Fault } from "@/wire/wire";

import { CallError } from "../host";

/** Ends a scripted call with a fault. */
export function refuse(code: Fault["code"], fixes: Fault["fixes"], params: Fault["params"] = {}): never {
  throw new CallError({ code, params, trace: [`scripted: ${code}`], fixes });
}
