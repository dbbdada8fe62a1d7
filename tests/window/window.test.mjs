// The real window: WebKit under a virtual screen, driven through WebDriver. A smoke test; behaviour is tested in tests/e2e.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import test from "node:test";

import { until } from "../support/place.mjs";
import { ask, begin, finishSetup, photograph, withWindow, words } from "./app.mjs";

const NAME = "Qwen2.5 Coder 0.5B Instruct";
const MODEL_FILE = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf";

/** Process ids of our desktop program that belong to this place. */
async function desktops(place) {
  const found = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const [command, environment] = await Promise.all([
        readFile(`/proc/${pid}/cmdline`, "utf8"),
        readFile(`/proc/${pid}/environ`, "utf8"),
      ]);
      if (command.split("\0")[0].endsWith("plimsoll-desktop") && environment.includes(`PLIMSOLL_HOME=${place.home}`)) {
        found.push(Number(pid));
      }
    } catch {
      // It ended while we looked, or it is not ours to look at.
    }
  }
  return found;
}

test("first start to an answer in the real window; nothing survives kill -9", async () => {
  await withWindow("window", { models: [MODEL_FILE] }, async ({ place, session, left }) => {
    await session.find("//h1", 60_000);
    await photograph(place, "first-start");
    await begin(session, NAME);
    await session.find(`//*[@role="progressbar"]`);
    await finishSetup(session);
    assert.match(await ask(session, "What is the capital of France? Answer in one short sentence."), /Paris/);
    // WebDriver's text leaves out what is shortened with an ellipsis, as a long name is.
    const bar = await session.run("return document.querySelector(`[aria-label='${arguments[0]}']`).textContent", words.bar.label);
    assert.ok(bar.includes(NAME), `the status bar names the model: ${bar}`);
    await photograph(place, "answer");

    // The page may ask and listen, nothing else; and it is really the shell's page.
    assert.match(await session.run("return location.origin"), /^(tauri:\/\/localhost|https?:\/\/tauri\.localhost)$/);
    assert.equal(await session.run("return typeof window.__TAURI__"), "undefined");

    assert.equal((await place.engines()).length, 2, "one router, one child with the model");
    const [desktop, ...more] = await desktops(place);
    assert.ok(desktop && more.length === 0, "one desktop program");
    process.kill(desktop, "SIGKILL");
    await until(async () => (await place.engines()).length === 0, 5000, "the end of llama-server after kill -9");
    left();
  });
});
