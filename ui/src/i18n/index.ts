import i18next from "i18next";
import { initReactI18next } from "react-i18next";

import { formatBytes, formatNumber, formatSeconds, formatTokens } from "@/lib/format";

import en from "./en.json";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "translation";
    resources: { translation: typeof en };
  }
}

/** Languages with a complete file, in the order the settings show them. */
export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

export async function startTexts(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false },
    // A parameter that a fault did not bring is a dash, never an empty hole in the sentence.
    missingInterpolationHandler: () => "–",
  });
  const { formatter } = i18next.services;
  formatter?.add("bytes", (value, language) => formatBytes(Number(value), language ?? "en"));
  formatter?.add("count", (value, language) => formatNumber(Number(value), language ?? "en", 0));
  formatter?.add("seconds", (value, language) => formatSeconds(Number(value), language ?? "en"));
  formatter?.add("tokens", (value, language) => formatTokens(Number(value), language ?? "en"));
}

/** `system` follows the browser; a language without a file falls back to English. */
export async function applyLanguage(setting: string | undefined): Promise<void> {
  const wanted = resolveLanguage(setting, navigator.languages);
  if (wanted === "de" && !i18next.hasResourceBundle("de", "translation")) {
    const { default: german } = await import("./de.json");
    // Fails to compile when a text is missing in German.
    const complete: typeof en = german;
    i18next.addResourceBundle("de", "translation", complete);
  }
  if (i18next.language !== wanted) await i18next.changeLanguage(wanted);
  document.documentElement.lang = wanted;
}

export function resolveLanguage(setting: string | undefined, preferred: readonly string[]): Language {
  const asked = setting === undefined || setting === "system" ? preferred : [setting];
  for (const one of asked) {
    const short = one.slice(0, 2).toLowerCase();
    const found = LANGUAGES.find((language) => language === short);
    if (found) return found;
  }
  return "en";
}
