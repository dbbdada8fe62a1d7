// Takes docs/picture.png anew, with the real engine and the real model. Needs what scripts/test sets:
//   eval "$(scripts/fetch-real --env)" && PLIMSOLL_BIN=~/.cache/plimsoll/target/debug/plimsoll node scripts/picture.mjs

import { join } from "node:path";

import { ROOT } from "../tests/support/place.mjs";
import { CHAT_MODEL, ask, finishSetup, firstStart, withPage } from "../tests/e2e/app.mjs";

await withPage("picture", { models: [CHAT_MODEL] }, async ({ page }) => {
  await (await firstStart(page, "Qwen2.5 Coder 0.5B Instruct")).click();
  await finishSetup(page);
  await ask(page, "Write a Python function that counts how often each word occurs in a text. Code first, then one sentence.");
  await page.mouse.move(700, 300);
  await page.waitForTimeout(1500); // the last highlight and the status bar's next sample
  await page.screenshot({ path: join(ROOT, "docs/picture.png") });
});
