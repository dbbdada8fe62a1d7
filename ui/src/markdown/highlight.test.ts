import { beforeAll, describe, expect, it } from "vitest";

import { GrowingLines, prepare } from "./highlight";
import { grammarOf } from "./languages";

const CODE = `def f(x):
    """A long
    text"""
    return x + 1  # one more
`;

describe("growing code", () => {
  beforeAll(() => prepare("python"));

  it("has the same colours as code that came at once", () => {
    const growing = new GrowingLines();
    for (let end = 1; end < CODE.length; end += 1) growing.of(CODE.slice(0, end), "python", 80);
    expect(growing.of(CODE, "python", 80)).toEqual(new GrowingLines().of(CODE, "python", 80));
  });

  it("keeps the identity of finished lines", () => {
    const growing = new GrowingLines();
    const before = growing.of("a = 1\nb = 2\nc", "python", 80).lines;
    const after = growing.of("a = 1\nb = 2\nc = 3\n", "python", 80).lines;
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toBe(before[1]);
  });

  it("starts again when the text was changed behind it", () => {
    const growing = new GrowingLines();
    growing.of("a = 1\nb", "python", 80);
    expect(growing.of("x = 1\nb", "python", 80)).toEqual(new GrowingLines().of("x = 1\nb", "python", 80));
  });

  it("colours a long block in steps, and what waits keeps its identity", () => {
    const stepwise = new GrowingLines();
    const first = stepwise.of(CODE, "python", 1);
    expect(first.whole).toBe(false);
    const second = stepwise.of(CODE, "python", 1);
    expect(second.lines[0]).toBe(first.lines[0]);
    expect(second.lines[3]).toBe(first.lines[3]);
    stepwise.of(CODE, "python", 1);
    const last = stepwise.of(CODE, "python", 1);
    expect(last).toEqual(new GrowingLines().of(CODE, "python", 80));
    expect(last.whole).toBe(true);
  });

  it("loses no character, coloured or plain", () => {
    for (const grammar of ["python", undefined] as const) {
      const { lines } = new GrowingLines().of(CODE, grammar, 2);
      expect(lines.map((line) => line.map((run) => run.text).join("")).join("\n")).toBe(CODE);
    }
  });
});

describe("languages", () => {
  it.each([
    ["py", "python"],
    ["TS", "typescript"],
    ["c++", "cpp"],
    ["shell", "bash"],
    ["klingon", undefined],
    ["constructor", undefined],
  ])("%s is %s", (name, grammar) => expect(grammarOf(name)).toBe(grammar));
});
