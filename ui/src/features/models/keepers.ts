import type { TFunction } from "i18next";

import type { Keeper } from "@/wire/wire";

/** Names of programs are the same in every language. */
const NAMES: Record<Exclude<Keeper, "folder">, string> = {
  lmStudio: "LM Studio",
  ollama: "Ollama",
  llamaCpp: "llama.cpp",
  jan: "Jan",
  gpt4All: "GPT4All",
};

export function keeperName(t: TFunction, keeper: Keeper): string {
  return keeper === "folder" ? t("models.ownFolder") : NAMES[keeper];
}
