import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

type Tokens = Map<string, [number, number, number]>;

/** Text and its ground: at least 4.5 to 1. */
const TEXT: [string, string][] = [
  ...["paper", "raised", "sunken", "pressed", "lifted"].flatMap((ground): [string, string][] => [
    ["ink", ground],
    ["ink-2", ground],
  ]),
  ["ink-3", "paper"],
  ["ink-3", "raised"],
  ["ink-3", "sunken"],
  ["sea-ink", "paper"],
  ["sea-ink", "raised"],
  ["ink", "sea-soft"],
  ["ink-2", "sea-soft"],
  ["on-sea", "sea"],
  ["on-sea", "sea-strong"],
  ["on-sea", "bad"],
  ["good-ink", "good-soft"],
  ["good-ink", "raised"],
  ["warn-ink", "warn-soft"],
  ["bad-ink", "bad-soft"],
  ["ink", "bad-soft"],
  ["paper", "ink"],
  ...["plain", "comment", "keyword", "string", "number", "name", "type"].map((kind): [string, string] => [
    `code-${kind}`,
    "code-ground",
  ]),
  ["ink-3", "code-ground"],
];

/** What tells a control or a part of a picture from its ground: at least 3 to 1. */
const PARTS: [string, string][] = [
  ["focus", "paper"],
  ["focus", "raised"],
  ["focus", "sunken"],
  ["control", "paper"],
  ["control", "raised"],
  ["signal", "paper"],
  ["signal", "raised"],
  ["signal", "hull"],
  ["hull-edge", "paper"],
  ["hull-edge", "raised"],
  ["water-weights", "hull"],
  ["water-context", "hull"],
];

function read(): { light: Tokens; dark: Tokens } {
  const text = readFileSync(join(import.meta.dirname, "tokens.css"), "utf8");
  const [day = "", night = ""] = text.split(':root[data-theme="dark"]');
  return { light: parse(day), dark: parse(night) };
}

function parse(css: string): Tokens {
  const found: Tokens = new Map();
  for (const [, name = "", l, c, h] of css.matchAll(/--([\w-]+): oklch\(([\d.]+) ([\d.]+) ([\d.]+)\);/g)) {
    found.set(name, [Number(l), Number(c), Number(h)]);
  }
  return found;
}

/** Relative luminance of an OKLCH colour, with what the screen cannot show cut off. */
function luminance([l, c, h]: [number, number, number]): number {
  const a = c * Math.cos((h * Math.PI) / 180);
  const b = c * Math.sin((h * Math.PI) / 180);
  const long = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const middle = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const red = 4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short;
  const green = -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short;
  const blue = -0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short;
  const cut = (value: number) => Math.min(1, Math.max(0, value));
  return 0.2126 * cut(red) + 0.7152 * cut(green) + 0.0722 * cut(blue);
}

function contrast(tokens: Tokens, one: string, other: string): number {
  const first = tokens.get(one);
  const second = tokens.get(other);
  if (!first || !second) throw new Error(`no token ${first ? other : one}`);
  const [light = 0, dark = 0] = [luminance(first), luminance(second)].toSorted((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("contrast by %s", (theme) => {
  const tokens = read()[theme];

  it.each(TEXT)("%s on %s can be read", (word, ground) => {
    expect(contrast(tokens, word, ground)).toBeGreaterThanOrEqual(4.5);
  });

  it.each(PARTS)("%s against %s can be told apart", (part, ground) => {
    expect(contrast(tokens, part, ground)).toBeGreaterThanOrEqual(3);
  });
});

it("has the same colours by day and by night", () => {
  const { light, dark } = read();
  expect([...dark.keys()]).toEqual([...light.keys()]);
});
