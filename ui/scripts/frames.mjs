// Measures frames in a real browser on the built page: while a listing of 2,000 lines streams in, and while a conversation
// of 10,000 messages is opened and scrolled from its end towards its beginning.
//
//   npm run frames
//
// Numbers of a busy machine say more about the machine; compare medians of one run with another's.
import process from "node:process";

import { chromium } from "playwright-core";
import { build, preview } from "vite";

const BASE = "http://localhost:18774/";
/** Screens that are scrolled up. */
const SCREENS = 300;

await build({ mode: "scripted", logLevel: "error" });
const server = await preview({
  mode: "scripted",
  logLevel: "error",
  build: { outDir: "dist-scripted" },
  preview: { port: 18774 },
});
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking"],
});

/** A page that writes down how long after the last one each frame came. */
async function openPage(place) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 } });
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  await page.addInitScript(() => {
    window.gaps = [];
    let last = performance.now();
    const frame = () => {
      const now = performance.now();
      window.gaps.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await page.goto(BASE + place);
  return { page, session };
}

async function report(title, { page, session }, skip) {
  const gaps = (await page.evaluate(() => window.gaps)).slice(skip).toSorted((a, b) => a - b);
  const { metrics } = await session.send("Performance.getMetrics");
  const seconds = (name) => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  const at = (share) => gaps[Math.floor((gaps.length - 1) * share)].toFixed(1);
  const long = gaps.filter((gap) => gap > 50).length;
  console.log(title);
  console.log(
    `  frames            ${gaps.length}, gap median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms, over 50 ms: ${long}`,
  );
  console.log(`  script per frame  ${((seconds("ScriptDuration") / gaps.length) * 1000).toFixed(2)} ms`);
  console.log(`  layout per frame  ${((seconds("LayoutDuration") / gaps.length) * 1000).toFixed(2)} ms`);
}

async function streaming() {
  const open = await openPage("?scripted=stress#/c/c-live");
  const { page } = open;
  await page.waitForSelector("article[aria-busy]");
  await page.waitForFunction(() => !document.querySelector("article[aria-busy]"), undefined, {
    timeout: 300_000,
  });
  const first = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  );
  console.log(`first contentful paint  ${first.toFixed(0)} ms`);
  await report("a listing of 2,000 lines streams in", open, 20);
  await page.close();
}

async function scrolling() {
  const open = await openPage("?scripted=long,frozen#/");
  const { page } = open;
  const link = page.getByRole("link", { name: "Ten thousand messages" });
  await link.waitFor();
  // The renderer is fetched after the first picture.
  await page.waitForTimeout(1500);
  const opened = await page.evaluate(async () => {
    const began = performance.now();
    [...document.querySelectorAll("a")].find((one) => one.textContent.includes("Ten thousand")).click();
    while (!document.querySelector("article")) await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    return performance.now() - began;
  });
  console.log(`10,000 messages open in  ${opened.toFixed(0)} ms`);
  await page.waitForTimeout(500);
  const skip = await page.evaluate(() => window.gaps.length);
  const reached = await page.evaluate(async (screens) => {
    const log = document.querySelector("[role=log]");
    const scroller = log.parentElement;
    for (let step = 0; step < screens * 8; step += 1) {
      scroller.scrollTop -= 100;
      const more = log.querySelector(":scope > button");
      if (more && scroller.scrollTop < 200) more.click();
      await new Promise(requestAnimationFrame);
    }
    return log.querySelectorAll("article").length;
  }, SCREENS);
  await report(`scrolled up ${SCREENS * 800} px, ${reached} messages built`, open, skip);
  await page.close();
}

try {
  await streaming();
  await scrolling();
} finally {
  await browser.close();
  await server.close();
}
