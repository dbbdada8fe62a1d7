// The whole path in a browser, with a real engine and a real model.

import assert from "node:assert/strict";
import test from "node:test";

import { picture } from "../support/browser.mjs";
import { startHub } from "../support/hub.mjs";
import { realModel, until } from "../support/place.mjs";
import { CHAT_MODEL, ask, firstStart, finishSetup, stopAnAnswer, withPage, words } from "./app.mjs";

const NAME = "Qwen2.5 Coder 0.5B Instruct";
const QUESTION = "What is the capital of France? Answer in one short sentence.";

test("first start: button, download, load, proof, an answer; all of it there after a reload", async () => {
  const hub = await startHub([realModel(CHAT_MODEL)], { bytesPerS: 150e6 });
  try {
    await withPage("download", { env: { HF_ENDPOINT: hub.url } }, async ({ page, place }) => {
      await page.getByRole("heading").first().waitFor();
      const go = await firstStart(page, NAME);
      await picture(page, "first-start");
      await go.click();
      await page.getByRole("progressbar").first().waitFor();
      await until(() => hub.sent > 50e6, 60_000, "bytes from the hub");
      await picture(page, "first-start-progress");
      await finishSetup(page);
      assert.match(await ask(page, QUESTION), /Paris/);
      const bar = page.getByRole("contentinfo", { name: words.bar.label });
      assert.ok((await bar.innerText()).includes(NAME), "the status bar names the model");
      await picture(page, "answer");
      assert.equal((await place.engines()).length, 2, "one router, one child with the model");

      await page.reload();
      await page.getByRole("article", { name: words.chat.assistant }).getByText(/Paris/).first().waitFor();
      // It goes on after a reload. What so small a model knows of Italy is its own affair.
      await ask(page, "And of Italy?");
    });
  } finally {
    await hub.end();
  }
});

test("an answer can be stopped, and an engine that dies comes back with the next message", async () => {
  await withPage("stop", { models: [CHAT_MODEL] }, async ({ page, place }) => {
    await (await firstStart(page, NAME)).click();
    await finishSetup(page);

    assert.match(await stopAnAnswer(page), /\S/, "what was written before the stop stays");

    for (const pid of await place.engines()) process.kill(pid, "SIGKILL");
    await until(
      async () => {
        const retry = page.getByRole("button", { name: words.fix.retry }).last();
        if (await retry.isVisible()) await retry.click();
        return true;
      },
      5000,
      "the page",
    );
    assert.match(await ask(page, QUESTION), /Paris/);
  });
});
