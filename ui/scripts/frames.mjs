// Measures frames while a listing of 2,000 lines streams in: the built page, in a real browser.
//
//   npm run frames
//
// Numbers of a busy machine say more about the machine; compare medians of one run with another's.
import process from "node:process";

import { chromium } from "playwright-core";
import { build, preview } from "vite";

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
try {
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
  await page.goto("http://localhost:18774/?scripted=stress#/c/c-live");
  await page.waitForSelector("article[aria-busy]");
  await page.waitForFunction(() => !document.querySelector("article[aria-busy]"), undefined, {
    timeout: 300_000,
  });
  const first = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
  );
  const gaps = (await page.evaluate(() => window.gaps)).slice(20).toSorted((a, b) => a - b);
  const { metrics } = await session.send("Performance.getMetrics");
  const seconds = (name) => metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  const at = (share) => gaps[Math.floor((gaps.length - 1) * share)].toFixed(1);
  console.log(`first contentful paint  ${first.toFixed(0)} ms`);
  console.log(
    `frames                  ${gaps.length}, gap median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`,
  );
  console.log(`script per frame        ${((seconds("ScriptDuration") / gaps.length) * 1000).toFixed(2)} ms`);
  console.log(`layout per frame        ${((seconds("LayoutDuration") / gaps.length) * 1000).toFixed(2)} ms`);
} finally {
  await browser.close();
  await server.close();
}
