// Faults as the real window shows them: code, cause and a way on; when the cause is gone, the same button works.

import assert from "node:assert/strict";
import { copyFile, cp, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { startHub } from "../support/hub.mjs";
import { freePort, holdPorts, hugeClaim, realEngine, realModel } from "../support/place.mjs";
import {
  alert,
  ask,
  begin,
  button,
  field,
  finishSetup,
  go,
  inDialog,
  labelled,
  photograph,
  withWindow,
  words,
} from "./app.mjs";

const NAME = "Qwen2.5 Coder 0.5B Instruct";
const CHAT_MODEL = "Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf";
const SMALL_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf";
const retry = (code, fix = "retry") => `${alert(code)}${button(words.fix[fix])}`;

test("bad files, a full disk, taken ports, an incomplete engine: each is told, and put right the button works", async () => {
  const letGo = await holdPorts(18760, 10);
  try {
    await withWindow("faults", { engine: false, hubMib: 220 }, async ({ place, session }) => {
      await session.find("//h1", 60_000);

      // Other programs lose their door; the window works, says so and opens it later.
      await go(session, "/settings?section=endpoint");
      await session.click(`${alert("portTaken")}${button(words.faultWith.detailsTitle)}`);
      await session.find(`${alert("portTaken")}//*[normalize-space()="portTaken"]`);
      await photograph(place, "fault-port");
      await letGo();
      await session.click(retry("portTaken"));
      await session.find(`//code[starts-with(normalize-space(), "http://127.0.0.1:") and contains(., "/v1")]`);

      // An engine without its library.
      const folder = join(place.root, "engine");
      const aside = join(place.root, "aside");
      await mkdir(aside);
      await cp(realEngine(), folder, { recursive: true });
      const libraries = (await readdir(folder)).filter((file) => /^(libllama\.so|libggml-base)/.test(file));
      for (const file of libraries) await rename(join(folder, file), join(aside, file));
      await session.click(button(words.settings.engineAdd));
      await session.type(field(words.settings.engineAddLabel), folder);
      await session.click(inDialog(button(words.settings.engineAddGo)));
      assert.match(await session.text(alert("engineIncomplete"), 60_000), /libllama|libggml/);
      await photograph(place, "fault-engine");
      for (const file of libraries) await rename(join(aside, file), join(folder, file));
      await session.click(inDialog(button(words.settings.engineAddGo)));
      await session.find(`//*[normalize-space()="${words.settings.engineInUse}"]`, 60_000);

      // One path, worse and worse, then right.
      await go(session, "/models");
      await session.click(button(words.models.import));
      const path = join(place.root, SMALL_MODEL);
      const filler = join(place.hub, "filler");
      await writeFile(path, "These are notes, not a model.\n".repeat(100));
      await session.type(field(words.models.importLabel), path);
      const take = inDialog(button(words.models.importGo));
      await session.click(take);
      assert.ok((await session.text(alert("notGguf"))).includes(SMALL_MODEL));
      await photograph(place, "fault-not-gguf");
      await writeFile(path, hugeClaim());
      await session.click(take);
      await session.find(alert("ggufTooLarge"));
      await rm(path);
      await copyFile(realModel(SMALL_MODEL), path);
      await writeFile(filler, Buffer.alloc(120 << 20));
      await session.click(take);
      assert.match(await session.text(alert("diskFull")), /158 MB.*100 MB/);
      await photograph(place, "fault-disk-full");
      await rm(filler);
      await session.click(retry("diskFull"));
      // Its page is open, and it is on this disk: only then can it be verified.
      await session.find(`//h2[contains(., "SmolLM2")]`, 60_000);
      await session.find(button(words.models.verify));
    });
  } finally {
    await letGo();
  }
});

test("a hub that comes back lets the same setup go on to an answer", async () => {
  const port = await freePort();
  let hub;
  try {
    await withWindow("hub", { env: { HF_ENDPOINT: `http://127.0.0.1:${port}` } }, async ({ place, session }) => {
      await begin(session, NAME);
      await session.find(alert("hubUnreachable"), 120_000);
      await photograph(place, "fault-no-hub");
      hub = await startHub([realModel(CHAT_MODEL)], { port });
      await session.click(retry("hubUnreachable", "checkConnection"));
      await finishSetup(session);
      assert.match(await ask(session, "What is the capital of France? Answer in one short sentence."), /Paris/);
      await session.find(labelled(words.bar.label));
    });
  } finally {
    await hub?.end();
  }
});
