import { describe, expect, it } from "vitest";

import { segments } from "./segments";

const code = (source: string, language = "", closed = true) => ({
  kind: "code",
  language,
  code: source,
  closed,
});
const prose = (text: string) => ({ kind: "prose", text });

describe("segments", () => {
  it.each([
    ["only words", [prose("only words")]],
    ["a\n```py\nx = 1\n```\nb", [prose("a\n"), code("x = 1", "py"), prose("b")]],
    ["```\nx\n```", [code("x")]],
    ["```js title=x\nx", [code("x", "js", false)]],
    ["```\n```\n", [code("")]],
    ["~~~\n```\nnot the end\n```\n~~~\n", [code("```\nnot the end\n```")]],
    ["````md\n```\ninner\n```\n````\n", [code("```\ninner\n```", "md")]],
    ["```c++\na\n```\n\n```rust\nb", [code("a", "c++"), code("b", "rust", false)]],
    ["- item\n  ```py\n  x\n  ```\n", [prose("- item\n  ```py\n  x\n  ```\n")]],
    ["> ```\n> x\n> ```\n", [prose("> ```\n> x\n> ```\n")]],
    ["`inline` and ```three``` ticks", [prose("`inline` and ```three``` ticks")]],
    ["```three``` at the edge", [prose("```three``` at the edge")]],
    ["words\n```py", [prose("words\n```py")]],
    ["```\nx ``` y\n```\n", [code("x ``` y")]],
  ])("%j", (text, want) => expect(segments(text)).toEqual(want));

  it("keeps what was cut while the last block grows", () => {
    const text = "intro\n```py\na = 1\nb = 2\n```\nafter\n```rs\nlet a";
    for (let end = 1; end < text.length; end += 1) {
      const now = segments(text.slice(0, end));
      const next = segments(text.slice(0, end + 1));
      expect(next.slice(0, now.length - 1)).toEqual(now.slice(0, -1));
    }
  });
});
