/*
 * Numbers as a person would say them. Sizes count in 1024s and are called KB, MB and GB, as memory is sold
 * and as operating systems show it; the settings page says so.
 */

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

const cache = new Map<string, Intl.NumberFormat>();
function numberFormat(language: string, least: number, most: number): Intl.NumberFormat {
  const key = `${language}/${least}/${most}`;
  let format = cache.get(key);
  if (!format) {
    format = new Intl.NumberFormat(language, { minimumFractionDigits: least, maximumFractionDigits: most });
    cache.set(key, format);
  }
  return format;
}

/** Digits that matter: 4.72 → 4.7, 47.2 → 47. */
export function formatNumber(value: number, language: string, digits?: number): string {
  const most = digits ?? (Math.abs(value) < 9.95 ? 1 : 0);
  return numberFormat(language, most, most).format(value);
}

function scale(bytes: number): { value: number; unit: (typeof UNITS)[number] } {
  let value = Math.max(0, bytes);
  let step = 0;
  while (value >= 999.5 && step < UNITS.length - 1) {
    value /= 1024;
    step += 1;
  }
  return { value, unit: UNITS[step] ?? "B" };
}

export function formatBytes(bytes: number, language: string): string {
  const { value, unit } = scale(bytes);
  const digits = unit === "B" ? 0 : undefined;
  return `${trimZero(formatNumber(value, language, digits))} ${unit}`;
}

/** "5.1 of 8 GB" needs both numbers in one unit; the whole reads as `formatBytes` says it everywhere else. */
export function formatBytesPair(part: number, whole: number, language: string): [string, string] {
  const { unit } = scale(Math.max(part, whole));
  const size = 1024 ** UNITS.indexOf(unit);
  const digits = unit === "B" ? 0 : undefined;
  return [
    trimZero(formatNumber(part / size, language, digits)),
    `${trimZero(formatNumber(whole / size, language, digits))} ${unit}`,
  ];
}

function trimZero(text: string): string {
  return text.replace(/[.,]0$/, "");
}

export function formatRate(bytesPerS: number, language: string): string {
  return `${formatBytes(bytesPerS, language)}/s`;
}

/** Context sizes: 4096 → 4K, 131072 → 128K, 1234 → 1.2K. */
export function formatTokens(tokens: number, language: string): string {
  if (tokens < 1000) return formatNumber(tokens, language, 0);
  if (tokens >= 1024 * 1000) return `${trimZero(formatNumber(tokens / (1024 * 1024), language, 1))}M`;
  const thousands = tokens / 1024;
  return `${trimZero(formatNumber(thousands, language, thousands < 9.95 ? 1 : 0))}K`;
}

/** Parameters: 8190000000 → 8.2B. */
export function formatCount(count: number, language: string): string {
  if (count >= 1e9) return `${trimZero(formatNumber(count / 1e9, language))}B`;
  if (count >= 1e6) return `${trimZero(formatNumber(count / 1e6, language, 0))}M`;
  return formatNumber(count, language, 0);
}

export function formatPercent(share: number, language: string): string {
  return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 0 }).format(share);
}

/** A length of time in its largest sensible unit, by symbol: 0.4 s, 42 s, 6 min, 1 h 20 min. */
export function formatSeconds(seconds: number, language: string): string {
  if (seconds < 9.95) return `${trimZero(formatNumber(seconds, language, 1))} s`;
  if (seconds < 90) return `${formatNumber(seconds, language, 0)} s`;
  if (seconds < 90 * 60) return `${formatNumber(seconds / 60, language, 0)} min`;
  const all = Math.round(seconds / 60);
  const hours = Math.floor(all / 60);
  const minutes = all % 60;
  return minutes === 0 ? `${hours} h` : `${hours} h ${minutes} min`;
}

/** A range whose ends read the same is one number. */
export function formatRange(low: number, high: number, language: string): string {
  const from = trimZero(formatNumber(low, language));
  const to = trimZero(formatNumber(high, language));
  return from === to ? from : `${from}–${to}`;
}

export function formatDate(atSeconds: number, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(
    atSeconds * 1000,
  );
}
