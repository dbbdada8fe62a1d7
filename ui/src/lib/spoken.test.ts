import { expect, it } from "vitest";

import { spoken } from "./spoken";

it("gives whole sentences only and remembers where they ended", () => {
  const text = "One **two**. Three `four`? And then";
  const first = spoken(text, 0);
  expect(first.sentences).toBe("One two. Three four?");
  expect(text.slice(first.upTo)).toBe(" And then");
  expect(spoken(text, first.upTo).sentences).toBe("");
});

it("leaves code and link targets out", () => {
  expect(spoken("See [the page](https://example.org/x). ```js\nlet a = 1.\n``` Done.\n\n", 0).sentences).toBe(
    "See the page. Done.",
  );
});
