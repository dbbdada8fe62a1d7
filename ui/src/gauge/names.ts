import type { TFunction } from "i18next";

/** A part of a model's memory by its code: a layer of the water, or what the overhead is made of. */
export function partName(t: TFunction, code: string): string {
  switch (code) {
    case "others":
    case "weights":
    case "repack":
    case "context":
    case "compute":
    case "projector":
    case "overhead":
      return t(`gauge.parts.${code}`);
    case "draft":
    case "promptCache":
    case "outputs":
    case "checkpoints":
    case "backend":
    case "process":
      return t(`gauge.overheadParts.${code}`);
    default:
      return code;
  }
}
