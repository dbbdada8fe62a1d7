import { readFileSync } from "node:fs";

import { beforeEach, expect, it } from "vitest";

import { applyAppearance } from "./appearance";

const script = readFileSync("public/first-colours.js", "utf8");
const shown = () => {
  delete document.documentElement.dataset["theme"];
  // oxlint-disable-next-line no-new-func
  new Function(script)();
  return document.documentElement.dataset["theme"];
};

beforeEach(() => localStorage.clear());

it("begins with the colours that were chosen", () => {
  for (const theme of ["dark", "light"]) {
    applyAppearance({ theme })();
    expect(shown()).toBe(theme);
  }
});

it("begins as the system is when nothing was chosen", () => {
  expect(shown()).toBe("light");
  applyAppearance({ theme: "system" })();
  expect(shown()).toBe("light");
});
