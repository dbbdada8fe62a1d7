import type { TFunction } from "i18next";

import type { Plan, Reason } from "@/wire/wire";

import en from "./en.json";
import type { useFormat } from "./format";

type Known = keyof typeof en.reason;

function isKnown(code: string): code is Known {
  return Object.hasOwn(en.reason, code);
}

/**
 * A reason of the planner or a note about the machine as a sentence. Codes are open strings on the wire; one
 * that has no text yet is shown as it is, with its numbers, rather than left out.
 */
export function reasonText(t: TFunction, format: ReturnType<typeof useFormat>, reason: Reason): string {
  if (isKnown(reason.code)) return t(`reason.${reason.code}`, reason.params);
  const words = reason.code.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
  const params = Object.entries(reason.params).map(([name, value]) => {
    if (typeof value === "number" && /bytes$/i.test(name)) return format.bytes(value);
    return typeof value === "number" ? format.number(value, Number.isInteger(value) ? 0 : 1) : value;
  });
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return params.length === 0 ? `${sentence}.` : `${sentence}: ${params.join(", ")}.`;
}

/** Why a plan is no plan: the reason that says too big, else the first one. */
export function unfitReason(plan: Plan | undefined): Reason | undefined {
  if (plan?.verdict !== "tooBig") return undefined;
  return plan.why.find((reason) => reason.code === "tooBig") ?? plan.why[0];
}
