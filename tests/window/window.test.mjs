// The real window: WebKit under a virtual screen, driven through WebDriver. A smoke test; behaviour is tested in tests/e2e.

import assert from "node:assert/strict";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import test from "node:test";

import { Place, ROOT, needed, realEngine, realModel, until } from "../support/place.mjs";
import { Driver } from "../support/webdriver.mjs";

const words = JSON.parse(await readFile(join(ROOT, "ui/src/i18n/en.json"), "utf8"));
const NAME = "Qwen2.5 Coder 0.5B Instruct";
const MODEL_FILE = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf";

const button = (...names) => `//button[${names.map((name) => `normalize-space()="${name}"`).join(" or ")}]`;
const labelled = (name) => `//*[@aria-label="${name}"]`;

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A virtual screen of its own, so that two runs do not meet. */
async function openScreen(place) {
  const screen = place.start("Xvfb", ["-displayfd", "1", "-screen", "0", "1280x860x24", "-nolisten", "tcp"]);
  const number = await until(() => screen.output.match(/^(\d+)$/m)?.[1], 15_000, "Xvfb");
  place.env.DISPLAY = `:${number}`;
}

/** WebDriver's own screenshot hangs in WebKitGTK, so the screen is photographed. */
async function photograph(place, name) {
  const folder = join(ROOT, "tests/window/shots");
  await mkdir(folder, { recursive: true });
  const child = place.start("import", ["-window", "root", join(folder, `${name}.png`)]);
  assert.equal(await child.ended, 0, child.output);
}

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
  const place = await Place.fresh("window");
  let driver;
  let session;
  try {
    await place.plimsoll("engine", "add", realEngine());
    await place.plimsoll("import", realModel(MODEL_FILE));
    await openScreen(place);
    Object.assign(place.env, { WEBKIT_DISABLE_COMPOSITING_MODE: "1", NO_AT_BRIDGE: "1", GDK_BACKEND: "x11" });
    const [port, native] = [await freePort(), await freePort()];
    driver = place.start("dbus-run-session", ["--", "tauri-driver", "--port", String(port), "--native-port", String(native)]);
    const address = `http://127.0.0.1:${port}`;
    await until(() => fetch(`${address}/status`).then((answer) => answer.ok), 15_000, "tauri-driver");
    session = await Driver.open(address, needed("PLIMSOLL_DESKTOP_BIN"));

    await session.find(button(words.start.go, words.start.goOnDisk), 60_000);
    await photograph(place, "first-start");
    const heading = await session.text("//h1");
    if (!heading.includes(NAME)) {
      await session.click(button(words.start.choose));
      await session.click(`//*[@role="dialog"]//*[contains(text(), "${NAME}")]`);
    }
    await session.click(button(words.start.go, words.start.goOnDisk));
    await session.find(`//*[@role="progressbar"]`);
    // The first start may already have made way for the chat.
    const field = labelled(words.chat.message);
    await session.find(`${button(words.start.toChat)} | ${field}`, 240_000);
    await session.run(`document.evaluate(arguments[0], document, null, 9).singleNodeValue?.click()`, button(words.start.toChat));
    await session.find(field);
    await session.type(labelled(words.chat.message), "What is the capital of France? Answer in one short sentence.");
    await session.click(labelled(words.chat.send));
    await session.find(labelled(words.chat.statsLabel), 180_000);
    assert.match(await session.text(labelled(words.chat.assistant)), /Paris/);
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
    session = undefined;
  } catch (problem) {
    if (place.env.DISPLAY) await photograph(place, "failed").catch(() => {});
    problem.message += `\n--- the driver and the window said:\n${driver?.output.slice(-4000) ?? "nothing"}`;
    throw problem;
  } finally {
    await session?.close().catch(() => {});
    await place.leave();
  }
});
