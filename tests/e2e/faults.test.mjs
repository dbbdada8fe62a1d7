// What goes wrong outside us is explained with a way on, and the next try works.

import assert from "node:assert/strict";
import { cp, mkdir, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { picture } from "../support/browser.mjs";
import { realEngine, realModel } from "../support/place.mjs";
import { withPage, words } from "./app.mjs";

const SMALL_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf";

async function importFile(page, path) {
  const dialog = page.getByRole("dialog", { name: words.models.importTitle });
  if (!(await dialog.isVisible())) await page.getByRole("button", { name: words.models.import }).first().click();
  await dialog.getByRole("textbox", { name: words.models.importLabel }).fill(path);
  await dialog.getByRole("button", { name: words.models.importGo, exact: true }).click();
  return dialog;
}

test("a file that is no model, or half of one, is refused by name; the whole one is imported", async () => {
  await withPage("import", {}, async ({ page, place }) => {
    await page.goto(`${new URL(page.url()).origin}/#/models`);

    const text = join(place.root, "notes.gguf");
    await writeFile(text, "These are notes, not a model.\n".repeat(100));
    let dialog = await importFile(page, text);
    await dialog.getByText(words.fault.notGguf).waitFor();
    await picture(page, "fault-not-gguf");

    const half = join(place.root, "half.gguf");
    await cp(realModel(SMALL_MODEL), half);
    await truncate(half, 40_000_000);
    dialog = await importFile(page, half);
    await dialog.getByText(words.fault.ggufCut).waitFor();

    dialog = await importFile(page, realModel(SMALL_MODEL));
    await dialog.waitFor({ state: "hidden" });
    await page.getByText(/SmolLM2/).first().waitFor();
  });
});

test("an engine without its library is refused by name; the whole one is taken", async () => {
  await withPage("engine", { engine: false }, async ({ page, place }) => {
    await page.goto(`${new URL(page.url()).origin}/#/settings?section=engines`);
    const broken = join(place.root, "engine");
    await mkdir(broken);
    await cp(realEngine(), broken, { recursive: true });
    for (const file of await readdir(broken)) {
      if (file.startsWith("libllama.so") || file.startsWith("libggml-base")) await rm(join(broken, file));
    }

    const add = async (folder) => {
      const field = page.getByRole("textbox", { name: words.settings.engineAddLabel });
      if (!(await field.isVisible())) {
        await page.getByRole("button", { name: words.settings.engineAdd }).first().click();
      }
      await field.fill(folder);
      await page.getByRole("button", { name: words.settings.engineAddGo, exact: true }).click();
    };
    await add(broken);
    await page.getByText(words.fault.engineIncomplete).first().waitFor();
    await picture(page, "fault-engine");

    await add(realEngine());
    await page.getByText(words.settings.engineInUse).first().waitFor();
    assert.equal(await page.getByText(words.fault.engineIncomplete).count(), 0, "the old fault is gone");
  });
});

test("a hub that is not there is explained, and what is needed can be brought by hand", async () => {
  // HF_ENDPOINT of the place leads nowhere.
  await withPage("nohub", {}, async ({ page }) => {
    const go = page.getByRole("button", { name: words.start.go, exact: true });
    await go.click();
    const agree = page.getByRole("button", { name: words.start.licenceGo });
    const fault = page.getByText(words.fault.hubUnreachable);
    await fault.or(agree).first().waitFor({ timeout: 120_000 });
    if (await agree.isVisible()) {
      await page.getByRole("checkbox", { name: words.start.licenceAgree }).check();
      await agree.click();
    }
    await fault.first().waitFor({ timeout: 120_000 });
    await picture(page, "fault-no-hub");
  });
});
