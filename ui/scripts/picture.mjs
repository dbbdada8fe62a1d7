// Takes the picture of the README from the scripted world: a chat, and the load gauge of the model behind it.
//
//   node scripts/picture.mjs ../docs/picture.png
import process from "node:process";

import { chromium } from "playwright-core";
import { createServer } from "vite";

const [out = "../docs/picture.png"] = process.argv.slice(2);

const server = await createServer({ mode: "scripted", logLevel: "error", server: { port: 18773 } });
await server.listen();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--font-render-hinting=none"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 820 }, reducedMotion: "reduce" });
  await page.goto("http://localhost:18773/?scripted=ready,frozen,light#/");
  await page.getByRole("link", { name: "How tides work" }).click();
  await page.getByRole("article", { name: "Answer" }).getByText("tokens/s").waitFor();
  await page
    .getByRole("contentinfo")
    .getByRole("button", { name: /Qwen3 8B/ })
    .click();
  await page.waitForTimeout(800);
  await page.screenshot({ path: out });
} finally {
  await browser.close();
  await server.close();
}
