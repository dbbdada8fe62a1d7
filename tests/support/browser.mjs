// Chromium over playwright-core (which ui/ brings), with nothing but our page to talk to.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { ROOT } from "./place.mjs";

const { chromium } = createRequire(join(ROOT, "ui/package.json"))("playwright-core");

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/google-chrome", "/usr/bin/chromium-browser"];

export async function openBrowser() {
  const executablePath = process.env.PLIMSOLL_CHROMIUM || PROGRAMS.find((path) => existsSync(path));
  if (!executablePath) throw new Error("no Chromium or Chrome found: run scripts/setup, or set PLIMSOLL_CHROMIUM");
  return chromium.launch({
    executablePath,
    args: [
      // As root Chromium refuses its sandbox; the only page it sees is ours.
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A page that fails the test when it reports an error or asks anyone but our host. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 780 }, locale: "en-GB", ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (problem) => page.complaints.push(`error: ${problem.message}`));
  page.on("console", (message) => {
    // A call that answers with a fault is logged by the browser as a failed request; the page handles it.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      page.complaints.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") page.complaints.push(`outside: ${request.url()}`);
  });
  return page;
}

/** A picture for people to look at. */
export async function picture(page, name) {
  const folder = join(ROOT, "tests/e2e/shots");
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
