// What the tests in this folder share: a place with engine and model, the page of `plimsoll web` in Chromium, and the
// words of the language file, so that a changed sentence does not break a test.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { openBrowser, openPage, picture } from "../support/browser.mjs";
import { Place, ROOT, needed, realEngine, realModel, until } from "../support/place.mjs";

export const words = JSON.parse(await readFile(join(ROOT, "ui/src/i18n/en.json"), "utf8"));
export const CHAT_MODEL = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf";

/** Runs `body` with a page of a fresh home, the hub cache on a small disk of its own if wanted; a failure leaves a picture and the program's output. */
export async function withPage(label, { engine = true, models = [], env = {}, hubMib }, body) {
  const place = await Place.fresh(label);
  const browser = await openBrowser();
  let page;
  let web;
  try {
    if (hubMib) await place.smallVolume(place.hub, hubMib);
    if (engine) await place.plimsoll("engine", "add", realEngine());
    for (const model of models) await place.plimsoll("import", realModel(model));
    web = place.start(needed("PLIMSOLL_BIN"), ["web"], env);
    const link = await until(
      () => web.output.match(/http:\/\/127\.0\.0\.1:\d+\/\?token=[^\s"]+/)?.[0],
      30_000,
      `the page's address in «${web.output}»`,
    );
    page = await openPage(browser);
    await page.goto(link);
    await body({ place, page, web, browser });
    assert.deepEqual(page.complaints, [], "the page complained");
  } catch (problem) {
    if (page) await picture(page, `failed-${label}`).catch(() => {});
    problem.message += `\n--- plimsoll web said:\n${web?.output.slice(-4000) ?? "nothing"}`;
    throw problem;
  } finally {
    await browser.close();
    await place.leave();
  }
}

/** Through the first start with the model of that name, to an open chat. */
export async function firstStart(page, name) {
  const go = page.getByRole("button", { name: new RegExp(`^(${words.start.go}|${words.start.goOnDisk})$`) });
  await go.waitFor();
  const heading = page.getByRole("heading", { name }).first();
  if (!(await heading.isVisible())) {
    await page.getByRole("button", { name: words.start.choose }).click();
    await page.getByRole("dialog").getByText(name).first().click();
  }
  await heading.waitFor();
  return go;
}

/** Asks and waits for the whole answer; gives its text. */
export async function ask(page, question) {
  const answers = page.getByRole("article", { name: words.chat.assistant });
  const before = await answers.count();
  await page.getByRole("textbox", { name: words.chat.message }).fill(question);
  await page.getByRole("button", { name: words.chat.send, exact: true }).click();
  const answer = answers.nth(before);
  // The figures stand under an answer when it is complete.
  await answer.getByText(/tokens\/s/).waitFor({ timeout: 180_000 });
  return answer.innerText();
}

/**
 * Stops an answer while it is being written; gives what stood there by then. How much so small a model has to say is
 * its own affair, so an answer that was over before the stop is followed by the next question.
 */
export async function stopAnAnswer(page) {
  const answers = page.getByRole("article", { name: words.chat.assistant });
  const field = page.getByRole("textbox", { name: words.chat.message });
  const stopped = page.getByText(words.chat.end.stopped, { exact: true });
  for (const subject of ["the sea", "a mountain", "a winter", "a railway", "a garden", "an old city"]) {
    const at = await answers.count();
    await field.fill(`Write a long story about ${subject}, in at least twenty paragraphs.`);
    await field.press("Enter");
    const answer = answers.nth(at);
    await answer.locator(".prose").getByText(/\p{L}{2}/u).first().waitFor({ timeout: 120_000 });
    await page.keyboard.press("Escape");
    await answer.and(page.locator(":not([aria-busy])")).waitFor();
    if (await answer.filter({ has: stopped }).count()) return answer.locator(".prose").innerText();
  }
  throw new Error("six answers were over before they could be stopped");
}

/** Waits until engine, model, start and proof are through, and opens the chat. */
export async function finishSetup(page) {
  const field = page.getByRole("textbox", { name: words.chat.message });
  const toChat = page.getByRole("button", { name: words.start.toChat });
  await field.or(toChat).first().waitFor({ timeout: 240_000 });
  // The first start may already have made way for the chat.
  if (await toChat.isVisible()) await toChat.click();
  await field.waitFor();
}
