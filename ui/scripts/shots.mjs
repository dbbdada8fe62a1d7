// Takes a picture of every screen and state of the scripted world, to be looked at.
//
//   npm run shots -- OUT [filter]
//
// Starts its own dev server unless SHOTS_URL names one. Uses the system's Chromium (CHROMIUM overrides).
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

import { chromium } from "playwright-core";
import { createServer } from "vite";

const [out = "shots", filter = ""] = process.argv.slice(2);

const WIDE = { width: 1280, height: 820 };
const NARROW = { width: 420, height: 800 };

/** name, scenario, place in the page, and what to do before the picture. */
const SHOTS = [
  ["start", "first", ""],
  ["start-cpu", "firstCpu", ""],
  [
    "start-machine",
    "first",
    "",
    async (page) => {
      await page.getByRole("button", { name: /every number/i }).click();
      await page.waitForTimeout(250);
      await page.getByRole("main").evaluate((main) => main.scrollTo(0, 9999));
    },
  ],
  ["start-choose", "first", "", (page) => page.getByRole("button", { name: /choose another/i }).click()],
  [
    "start-licence",
    "first",
    "",
    async (page) => {
      await page.getByRole("button", { name: /choose another/i }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /Gemma 3 4B/ })
        .click();
      await page.getByRole("button", { name: /set it up/i }).click();
    },
  ],
  ["downloading", "downloading", ""],
  ["failed", "failed", ""],
  ["empty", "empty", "#/"],
  ["chat", "ready", "#/", openFirst],
  ["chat-table", "ready", "#/", (page) => openNamed(page, "How tides work")],
  [
    "reasoning",
    "ready",
    "#/",
    async (page) => {
      await openFirst(page);
      const thought = page.getByRole("button", { name: "Thought" });
      await thought.click();
      await page.waitForTimeout(250);
      await thought.scrollIntoViewIfNeeded();
    },
  ],
  ["streaming", "streaming", "#/c/c-live"],
  ["loading", "loading", "#/", (page) => openNamed(page, "How tides work")],
  ["load-failed", "loadFailed", "#/c/c-broken"],
  ["picker", "ready", "#/", (page) => page.keyboard.press("Control+k")],
  ["picker-full", "full", "#/", (page) => page.keyboard.press("Control+k")],
  ["models", "full", "#/models"],
  ["model-elsewhere", "full", "#/models?model=ollama%3Agemma3%3A4b"],
  ["hub", "full", "#/models?hub=qwen3"],
  ["hub-empty", "full", "#/models?hub="],
  ["hub-nothing", "full", "#/models?hub=zeppelin"],
  ["hub-repo", "full", "#/models?hub=qwen3&repo=unsloth%2FQwen3-8B-GGUF"],
  ["hub-gated", "full", "#/models?hub=qwen3&repo=harbour-lab%2FQwen3-Pilot-32B-GGUF"],
  ["hub-down", "hubDown", "#/models?hub=qwen3"],
  ["folders", "full", "#/settings?section=folders"],
  [
    "folders-move",
    "full",
    "#/settings?section=folders",
    async (page) => {
      await page.getByRole("button", { name: "Move", exact: true }).click();
      await page.getByRole("textbox", { name: "New folder" }).fill("/mnt/big/models");
      await page.keyboard.press("Enter");
      await page.waitForTimeout(300);
    },
  ],
  ["model", "full", "#/models?model=qwen3-8b%3AQ4_K_M"],
  [
    "model-end",
    "full",
    "#/models?model=qwen3-8b%3AQ4_K_M",
    (page) => page.getByText("Parameters").scrollIntoViewIfNeeded(),
  ],
  ["model-over", "ready", "#/models?model=llama-3.3-70b%3AQ4_K_M"],
  ["model-broken", "full", "#/models?model=gemma-3-4b%3AQ4_K_M"],
  [
    "model-drag",
    "ready",
    "#/models?model=qwen3-8b%3AQ4_K_M",
    async (page) => {
      await page.getByRole("slider").focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      await page.waitForTimeout(500);
    },
  ],
  ["machine", "full", "#/machine"],
  [
    "machine-changed",
    "ready",
    "#/machine",
    async (page) => {
      await page
        .getByRole("button", { name: /Change: Usable memory/ })
        .first()
        .click();
      await page.getByRole("textbox", { name: /Usable memory/ }).fill("16");
      await page.getByRole("button", { name: "Use this" }).click();
      await page.getByRole("switch").first().click();
    },
  ],
  [
    "machine-edit",
    "ready",
    "#/machine",
    (page) =>
      page
        .getByRole("button", { name: /Change: Bandwidth/ })
        .first()
        .click(),
  ],
  ["machine-german", "full,de", "#/machine"],
  ["settings", "full", "#/settings"],
  ["settings-endpoint", "full", "#/settings?section=endpoint"],
  ["settings-hub", "full", "#/settings?section=hub"],
  ["settings-port", "portTaken", "#/settings?section=endpoint"],
  ["needs-token", "needsToken", ""],
  ["import", "full", "#/models", (page) => page.getByRole("button", { name: /Import a file/ }).click()],
  [
    "import-fault",
    "full",
    "#/models",
    async (page) => {
      await page.getByRole("button", { name: /Import a file/ }).click();
      await page.getByRole("textbox", { name: "Path" }).fill("/home/ada/notes.txt");
      await page.getByRole("button", { name: "Import", exact: true }).click();
    },
  ],
  ["settings-about", "full", "#/settings?section=aboutApp"],
  ["trash", "full", "#/trash"],
  ["full", "full", "#/c/c-long"],
  [
    "status",
    "ready",
    "#/",
    async (page) => {
      await openFirst(page);
      await page
        .getByRole("contentinfo")
        .getByRole("button", { name: /RTX 4070|GPU/ })
        .click();
    },
  ],
  [
    "status-model",
    "ready",
    "#/",
    async (page) => {
      await openFirst(page);
      await page
        .getByRole("contentinfo")
        .getByRole("button", { name: /Qwen3 8B/ })
        .click();
    },
  ],
  [
    "undo",
    "ready",
    "#/",
    async (page) => {
      await openNamed(page, "Three dinners");
      const list = page.getByRole("button", { name: /open the list/i });
      if (await list.isVisible()) await list.click();
      await page.getByRole("link", { name: "Three dinners" }).press("Delete");
    },
  ],
  ["german", "ready,de", "#/", openFirst],
  ["german-start", "first,de", ""],
  ["german-downloading", "downloading,de", ""],
  ["german-failed", "failed,de", ""],
  ["german-loading", "loading,de", "#/"],
  ["german-load-failed", "loadFailed,de", "#/c/c-broken"],
  ["german-picker", "full,de", "#/", (page) => page.keyboard.press("Control+k")],
  ["german-models", "full,de", "#/models"],
  ["german-model", "full,de", "#/models?model=qwen3-8b%3AQ4_K_M"],
  ["german-model-broken", "full,de", "#/models?model=gemma-3-4b%3AQ4_K_M"],
  ["german-settings", "full,de", "#/settings"],
  ["german-settings-endpoint", "full,de", "#/settings?section=endpoint"],
  ["german-settings-about", "full,de", "#/settings?section=aboutApp"],
  ["compact", "ready,compact", "#/", openFirst],
];

async function openFirst(page) {
  await openNamed(page, "Group dates by week");
}

async function openNamed(page, name) {
  const list = page.getByRole("button", { name: /open the list|liste öffnen/i });
  if (await list.isVisible()) await list.click();
  await page.getByRole("link", { name }).first().click();
  await page.waitForTimeout(350);
}

let server;
let base = process.env.SHOTS_URL;
if (!base) {
  server = await createServer({ mode: "scripted", logLevel: "error", server: { port: 18772 } });
  await server.listen();
  base = "http://localhost:18772/";
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--font-render-hinting=none"],
});
await mkdir(out, { recursive: true });
let bad = 0;
for (const theme of ["light", "dark"]) {
  for (const [size, viewport] of [
    ["wide", WIDE],
    ["narrow", NARROW],
  ]) {
    for (const [name, scenario, place, act] of SHOTS) {
      const file = `${name}-${size}-${theme}`;
      if (!file.includes(filter)) continue;
      const page = await browser.newPage({ viewport, deviceScaleFactor: 1, reducedMotion: "reduce" });
      page.on("pageerror", (error) => {
        bad += 1;
        console.error(file, error.message);
      });
      page.on("console", (message) => {
        if (message.type() === "error") console.error(file, message.text());
      });
      try {
        await page.goto(`${base}?scripted=${scenario},frozen,${theme}${place}`);
        await page.waitForTimeout(500);
        await act?.(page);
        await page.waitForTimeout(350);
        await page.screenshot({ path: join(out, `${file}.png`) });
      } catch (error) {
        bad += 1;
        console.error(file, String(error).split("\n")[0]);
      }
      await page.close();
    }
  }
}
await browser.close();
await server?.close();
process.exit(bad === 0 ? 0 : 1);
