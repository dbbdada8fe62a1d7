// @vitest-environment node
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, describe, expect, it } from "vitest";

const ui = join(import.meta.dirname, "../..");
const sinner = 'import { invoke } from "@tauri-apps/api/core";\nexport const call = invoke;\n';

/** Lints one file with our own configuration; says what the linter said. */
function lint(path: string): { passed: boolean; said: string } {
  try {
    const said = execFileSync(join(ui, "node_modules/.bin/oxlint"), [path], { cwd: ui, encoding: "utf8" });
    return { passed: true, said };
  } catch (thrown) {
    return { passed: false, said: String((thrown as { stdout?: string }).stdout) };
  }
}

describe("the guard around Tauri", () => {
  const made: string[] = [];
  function write(folder: string): string {
    const path = join(folder, "sinner.guard.ts");
    mkdirSync(join(ui, folder), { recursive: true });
    writeFileSync(join(ui, path), sinner);
    made.push(join(ui, path));
    return path;
  }
  afterEach(() => {
    for (const path of made.splice(0)) rmSync(path, { force: true });
  });

  it("stops a page that talks to Tauri itself", () => {
    const { passed, said } = lint(write("src/features"));
    expect(passed).toBe(false);
    expect(said).toContain("Only src/host may talk to Tauri.");
  });

  it("lets the host do it", () => {
    expect(lint(write("src/host")).said).not.toContain("Only src/host may talk to Tauri.");
  });
});
