// What goes wrong outside us is explained with its cause and a way on; when the cause is gone, the same button works.

import assert from "node:assert/strict";
import { copyFile, cp, mkdir, readFile, readdir, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { picture } from "../support/browser.mjs";
import { startHub } from "../support/hub.mjs";
import { freePort, holdPorts, hugeClaim, realEngine, realModel } from "../support/place.mjs";
import { CHAT_MODEL, ask, finishSetup, firstStart, withPage, words } from "./app.mjs";

const SMALL_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf";
const BASE_MODEL = "gemma-3-270m-Q4_K_M.gguf";
const NAME = "Qwen2.5 Coder 0.5B Instruct";
/** The endpoint for other programs takes one of these. */
const FRONT_PORTS = [18760, 10];

const go = (page, place) => page.goto(`${new URL(page.url()).origin}/#${place}`);

/** The card of a fault: what it says, which thing it names, and its code and causes under the fold. */
async function faultCard(page, code, what = "") {
  const card = page.getByRole("alert", { name: words.fault[code], exact: true }).last();
  await card.waitFor({ timeout: 120_000 });
  await card.getByText(words.faultAbout[code].split("{{")[0].trim()).waitFor();
  const fold = card.getByRole("button", { name: words.faultWith.detailsTitle });
  if ((await fold.getAttribute("aria-expanded")) !== "true") await fold.click();
  await card.getByText(code, { exact: true }).waitFor();
  if (what) assert.match(await card.innerText(), new RegExp(what, "i"));
  return card;
}

async function openImport(page) {
  await go(page, "/models");
  await page.getByRole("button", { name: words.models.import }).first().click();
  const dialog = page.getByRole("dialog", { name: words.models.importTitle });
  const button = dialog.getByRole("button", { name: words.models.importGo, exact: true });
  const name = async (path) => {
    await dialog.getByRole("textbox", { name: words.models.importLabel }).fill(path);
    await button.click();
  };
  return { dialog, button, name };
}

/** Its page is open, and it is on this disk: only then can it be verified. */
async function inLibrary(page, name) {
  await page.getByRole("article", { name }).waitFor();
  await page.getByRole("button", { name: words.models.verify, exact: true }).waitFor();
}

const badFiles = [
  ["notGguf", SMALL_MODEL, /SmolLM2/, (path) => writeFile(path, "These are notes, not a model.\n".repeat(100))],
  [
    "ggufCut",
    CHAT_MODEL,
    /Qwen2.5/,
    async (path) => {
      await copyFile(realModel(CHAT_MODEL), path);
      await truncate(path, 40_000_000);
    },
  ],
  ["ggufTooLarge", BASE_MODEL, /gemma/i, (path) => writeFile(path, hugeClaim())],
];

test("a file that is no model, half of one, or claims too much is refused; put right, the same button takes it", async () => {
  await withPage("import", {}, async ({ page, place }) => {
    for (const [code, model, shown, spoil] of badFiles) {
      const path = join(place.root, model);
      await spoil(path);
      const { dialog, button, name } = await openImport(page);
      await name(path);
      await faultCard(page, code, model);
      await picture(page, `fault-${code}`);

      await rm(path);
      await copyFile(realModel(model), path);
      await button.click();
      await dialog.waitFor({ state: "hidden", timeout: 60_000 });
      await inLibrary(page, shown);
    }
  });
});

test("an engine without its library is refused; with the library back, the same button takes it", async () => {
  await withPage("engine", { engine: false }, async ({ page, place }) => {
    await go(page, "/settings?section=engines");
    const folder = join(place.root, "engine");
    const aside = join(place.root, "aside");
    await mkdir(aside);
    await cp(realEngine(), folder, { recursive: true });
    const libraries = (await readdir(folder)).filter((file) => /^(libllama\.so|libggml-base)/.test(file));
    assert.ok(libraries.length > 0, "there is something to take away");
    for (const file of libraries) await rename(join(folder, file), join(aside, file));

    await page.getByRole("button", { name: words.settings.engineAdd }).first().click();
    await page.getByRole("textbox", { name: words.settings.engineAddLabel }).fill(folder);
    const add = page.getByRole("button", { name: words.settings.engineAddGo, exact: true });
    await add.click();
    await faultCard(page, "engineIncomplete", "libllama|libggml");
    await picture(page, "fault-engine");

    for (const file of libraries) await rename(join(aside, file), join(folder, file));
    await add.click();
    await page.getByText(words.settings.engineInUse).first().waitFor({ timeout: 60_000 });
    assert.equal(await page.getByText(words.fault.engineIncomplete).count(), 0, "the old fault is gone");
  });
});

test("a disk without space is refused before a byte is copied; with space, the same button imports", async () => {
  await withPage("space", { hubMib: 220 }, async ({ page, place }) => {
    const filler = join(place.hub, "filler");
    await writeFile(filler, Buffer.alloc(120 << 20));
    const { dialog, button, name } = await openImport(page);
    await name(realModel(SMALL_MODEL));
    // What is needed, with the 64 MB that are left alone, and what is there.
    const card = await faultCard(page, "diskFull", "158 MB");
    assert.match(await card.innerText(), /100 MB/);
    await picture(page, "fault-disk-full");

    await rm(filler);
    await button.click();
    await dialog.waitFor({ state: "hidden", timeout: 60_000 });
    await inLibrary(page, /SmolLM2/);
  });
});

test("a model file that vanishes while it loads is named; put back, the retry answers", async () => {
  await withPage("vanished", { models: [CHAT_MODEL] }, async ({ page, place }) => {
    await (await firstStart(page, NAME)).click();
    await finishSetup(page);
    await go(page, "/models");
    await page.getByRole("button", { name: new RegExp(NAME) }).first().click();
    await page.getByRole("button", { name: words.models.unload, exact: true }).click();
    await page.getByRole("button", { name: words.models.load, exact: true }).waitFor();

    // The engine is held still, so that the file goes between the order to load it and its opening.
    const engines = await place.engines();
    assert.equal(engines.length, 1, "only the router is left");
    process.kill(engines[0], "SIGSTOP");
    await page.getByRole("button", { name: words.models.load, exact: true }).click();
    await page.getByRole("button", { name: words.models.state.loading, exact: true }).waitFor();
    const putBack = await place.takeAway(CHAT_MODEL);
    process.kill(engines[0], "SIGCONT");
    const card = await faultCard(page, "modelFileMissing", CHAT_MODEL);
    await picture(page, "fault-file-missing");

    await putBack();
    await card.getByRole("button", { name: words.fix.retry, exact: true }).click();
    await page.getByRole("button", { name: words.models.unload, exact: true }).waitFor({ timeout: 120_000 });
    await page.getByRole("button", { name: words.models.use, exact: true }).click();
    assert.match(await ask(page, "What is the capital of France? Answer in one short sentence."), /Paris/);
  });
});

test("ports that others hold cost other programs their door, not the page; free again, the retry opens it", async () => {
  const letGo = await holdPorts(...FRONT_PORTS);
  try {
    await withPage("ports", { engine: false }, async ({ page, place }) => {
      await go(page, "/settings?section=endpoint");
      const card = await faultCard(page, "portTaken");
      await picture(page, "fault-port");

      // Still taken: the button tries, and says so again. The ports are held until it has.
      const tried = page.waitForResponse((answer) => decodeURIComponent(answer.url()).endsWith("/call/endpoint/open"));
      await card.getByRole("button", { name: words.fix.retry, exact: true }).click();
      await tried;
      await faultCard(page, "portTaken");

      await letGo();
      await card.getByRole("button", { name: words.fix.retry, exact: true }).click();
      const address = page.locator("code").filter({ hasText: /^http:\/\/127\.0\.0\.1:\d+\/v1$/ });
      await address.waitFor({ timeout: 30_000 });
      assert.equal(await page.getByText(words.fault.portTaken).count(), 0, "the old fault is gone");
      const key = await readFile(join(place.home, "endpoint.key"), "utf8");
      const models = await fetch(`${await address.innerText()}/models`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(models.status, 200, "it really listens");
    });
  } finally {
    await letGo();
  }
});

test("a hub that is not there is explained; when it is back, the same setup goes on to an answer", async () => {
  const port = await freePort();
  let hub;
  try {
    await withPage("nohub", { env: { HF_ENDPOINT: `http://127.0.0.1:${port}` } }, async ({ page }) => {
      await (await firstStart(page, NAME)).click();
      const card = await faultCard(page, "hubUnreachable");
      await picture(page, "fault-no-hub");

      hub = await startHub([realModel(CHAT_MODEL)], { port });
      await card.getByRole("button", { name: words.fix.checkConnection, exact: true }).click();
      await finishSetup(page);
      assert.match(await ask(page, "What is the capital of France? Answer in one short sentence."), /Paris/);
    });
  } finally {
    await hub?.end();
  }
});

test("a model that wants a token leads to the field for it, and back", async () => {
  const hub = await startHub([realModel(CHAT_MODEL)], { token: "hf_right" });
  try {
    await withPage("token", { env: { HF_ENDPOINT: hub.url } }, async ({ page }) => {
      await (await firstStart(page, NAME)).click();
      const card = await faultCard(page, "hubNeedsToken");
      await card.getByRole("button", { name: words.fix.setToken, exact: true }).click();
      const field = page.getByLabel(words.settings.hubToken, { exact: true });
      await field.waitFor();
      assert.ok(await field.evaluate((one) => one === document.activeElement), "it is ready to be filled");
      await picture(page, "fault-token");
      await field.fill("hf_right");
      await page.getByRole("button", { name: words.settings.hubTokenSave, exact: true }).click();
      await page.getByRole("button", { name: words.app.back, exact: true }).click();
      await page.getByRole("button", { name: words.fix.retry, exact: true }).click();
      await finishSetup(page);
      assert.ok(!hub.asked.some((line) => line.includes("hf_right")), "the token is in no address");
    });
  } finally {
    await hub.end();
  }
});
