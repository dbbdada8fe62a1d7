import { describe, expect, it } from "vitest";

import { SNIPPETS, snippetsFor } from "./programs";

describe("snippets", () => {
  const made = snippetsFor("http://127.0.0.1:18760/v1", "pl-key", "qwen3-8b:Q4_K_M");

  it.each(SNIPPETS)("%s holds address and key", (name) => {
    expect(made[name]).toContain("http://127.0.0.1:18760");
    expect(made[name]).toContain("pl-key");
  });

  it("gives Claude Code the address without a path: it adds its own", () => {
    expect(made.claudeCode).toContain("ANTHROPIC_BASE_URL=http://127.0.0.1:18760\n");
  });

  it("leaves curl's lines joined", () => {
    expect(made.curl).toContain("chat/completions \\\n");
  });
});
