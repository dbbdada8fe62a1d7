import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import {
  formatBytes,
  formatBytesPair,
  formatCount,
  formatRange,
  formatSeconds,
  formatTokens,
} from "./format";

const GIB = 1024 ** 3;

describe("sizes", () => {
  // The terminal's test reads the same file: one number is said in one way everywhere.
  const cases = JSON.parse(readFileSync("../crates/units/sizes.json", "utf8")) as [number, string][];
  it.each(cases)("%d bytes read %s", (bytes, said) => expect(formatBytes(bytes, "en")).toBe(said));

  it("speaks the reader's language", () => expect(formatBytes(5.13 * GIB, "de")).toBe("5,1 GB"));

  it("puts a part and its whole into one unit", () => {
    expect(formatBytesPair(512 * 1024 ** 2, 8 * GIB, "en")).toEqual(["0.5", "8 GB"]);
    expect(formatBytesPair(11.24 * GIB, 31.2 * GIB, "en")).toEqual(["11", "31 GB"]);
    expect(formatBytesPair(23.49 * GIB, 23.5 * GIB, "en")).toEqual(["23", formatBytes(23.5 * GIB, "en")]);
  });
});

describe("tokens and parameters", () => {
  it.each([
    [312, "312"],
    [4096, "4K"],
    [1234, "1.2K"],
    [131_072, "128K"],
    [1_048_576, "1M"],
  ])("%d tokens read %s", (tokens, said) => expect(formatTokens(tokens, "en")).toBe(said));

  it.each([
    [8_190_000_000, "8.2B"],
    [30_500_000_000, "31B"],
    [135_000_000, "135M"],
  ])("%d parameters read %s", (count, said) => expect(formatCount(count, "en")).toBe(said));
});

describe("time and ranges", () => {
  it.each([
    [0.42, "0.4 s"],
    [42, "42 s"],
    [361, "6 min"],
    [5400, "1 h 30 min"],
  ])("%d seconds read %s", (seconds, said) => expect(formatSeconds(seconds, "en")).toBe(said));

  it("folds a range whose ends read the same", () => {
    expect(formatRange(38.2, 46.7, "en")).toBe("38–47");
    expect(formatRange(38.2, 38.4, "en")).toBe("38");
  });
});
