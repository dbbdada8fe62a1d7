// What the tests of the real window share: a screen of its own, the driver, and ways to say what is looked for.

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { Place, ROOT, freePort, needed, realEngine, realModel, until } from "../support/place.mjs";
import { Driver } from "../support/webdriver.mjs";

export const words = JSON.parse(await readFile(join(ROOT, "ui/src/i18n/en.json"), "utf8"));

export const button = (...names) =>
  `//button[${names.map((name) => `normalize-space()="${name}"`).join(" or ")}]`;
export const labelled = (name) => `//*[@aria-label="${name}"]`;
/** The field with that label above it. */
export const field = (name) => `//input[@id=//label[normalize-space()="${name}"]/@for]`;
export const inDialog = (xpath) => `//*[@role="dialog"]${xpath}`;
/** The card of a fault. */
export const alert = (code) => `//*[@role="alert" and @aria-label="${words.fault[code]}"]`;

/** WebDriver's own screenshot hangs in WebKitGTK, so the screen is photographed. */
export async function photograph(place, name) {
  const folder = join(ROOT, "tests/window/shots");
  await mkdir(folder, { recursive: true });
  const child = place.start("import", ["-window", "root", join(folder, `${name}.png`)]);
  assert.equal(await child.ended, 0, child.output);
}

/** A virtual screen of its own, so that two runs do not meet. */
async function openScreen(place) {
  const screen = place.start("Xvfb", ["-displayfd", "1", "-screen", "0", "1280x860x24", "-nolisten", "tcp"]);
  const number = await until(() => screen.output.match(/^(\d+)$/m)?.[1], 15_000, "Xvfb");
  place.env.DISPLAY = `:${number}`;
}

/** Runs `body` with a window of a fresh home. `left` tells that the window is gone already. */
export async function withWindow(label, { engine = true, models = [], env = {}, hubMib }, body) {
  const place = await Place.fresh(label);
  let driver;
  let session;
  try {
    if (hubMib) await place.smallVolume(place.hub, hubMib);
    if (engine) await place.plimsoll("engine", "add", realEngine());
    for (const model of models) await place.plimsoll("import", realModel(model));
    await openScreen(place);
    Object.assign(place.env, { WEBKIT_DISABLE_COMPOSITING_MODE: "1", NO_AT_BRIDGE: "1", GDK_BACKEND: "x11" }, env);
    const [port, native] = [await freePort(), await freePort()];
    driver = place.start("dbus-run-session", [
      "--",
      "tauri-driver",
      "--port",
      String(port),
      "--native-port",
      String(native),
    ]);
    const address = `http://127.0.0.1:${port}`;
    await until(() => fetch(`${address}/status`).then((answer) => answer.ok), 15_000, "tauri-driver");
    session = await Driver.open(address, needed("PLIMSOLL_DESKTOP_BIN"));
    const left = () => {
      session = undefined;
    };
    await body({ place, session, left });
  } catch (problem) {
    if (place.env.DISPLAY) await photograph(place, `failed-${label}`).catch(() => {});
    problem.message += `\n--- the driver and the window said:\n${driver?.output.slice(-4000) ?? "nothing"}`;
    throw problem;
  } finally {
    await session?.close().catch(() => {});
    await place.leave();
  }
}

/** Opens a place of the page, as its links do. */
export async function go(session, place) {
  await session.run("location.hash = arguments[0]", place);
}

/** Picks the model of that name at the first start and presses the button. */
export async function begin(session, name) {
  await session.find(button(words.start.go, words.start.goOnDisk), 60_000);
  const heading = await session.text("//h1");
  if (!heading.includes(name)) {
    await session.click(button(words.start.choose));
    await session.click(inDialog(`//*[contains(text(), "${name}")]`));
  }
  await session.click(button(words.start.go, words.start.goOnDisk));
}

/** Waits until engine, model, start and proof are through, and opens the chat. */
export async function finishSetup(session) {
  const message = labelled(words.chat.message);
  // The first start may already have made way for the chat.
  await session.find(`${button(words.start.toChat)} | ${message}`, 240_000);
  await session.run(
    `document.evaluate(arguments[0], document, null, 9).singleNodeValue?.click()`,
    button(words.start.toChat),
  );
  await session.find(message);
}

/** Asks, waits for the whole answer and gives its text. */
export async function ask(session, question) {
  await session.type(labelled(words.chat.message), question);
  await session.click(labelled(words.chat.send));
  await session.find(labelled(words.chat.statsLabel), 180_000);
  return session.text(labelled(words.chat.assistant));
}
