import { useTranslation } from "react-i18next";

import {
  formatBytes,
  formatBytesPair,
  formatCount,
  formatDate,
  formatNumber,
  formatPercent,
  formatRange,
  formatRate,
  formatSeconds,
  formatTokens,
} from "@/lib/format";

/** The number formats of `lib/format`, in the reader's language. */
export function useFormat() {
  const { i18n } = useTranslation();
  const language = i18n.language;
  return {
    language,
    bytes: (bytes: number) => formatBytes(bytes, language),
    pair: (part: number, whole: number) => formatBytesPair(part, whole, language),
    rate: (bytesPerS: number) => formatRate(bytesPerS, language),
    tokens: (tokens: number) => formatTokens(tokens, language),
    count: (count: number) => formatCount(count, language),
    number: (value: number, digits?: number) => formatNumber(value, language, digits),
    percent: (share: number) => formatPercent(share, language),
    seconds: (seconds: number) => formatSeconds(seconds, language),
    range: (low: number, high: number) => formatRange(low, high, language),
    date: (atSeconds: number) => formatDate(atSeconds, language),
  };
}
