// Added time of our path against a direct request to the same llama-server, interleaved so that all three see the
// same weather; cold start of the terminal program and its first probe; what the sampler costs; first paint of the page.
// Run through scripts/bench.

import { randomInt } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

import { openBrowser } from "../tests/support/browser.mjs";
import { Place, needed, realEngine, realModel, until } from "../tests/support/place.mjs";

const MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf";
const PROMPT_WORDS = 620; // about one token each; checked below against what the server counted
const UNCACHED_MIN = 500;
const ANSWER_TOKENS = 16;
const CACHED_ROUNDS = 40; // a cached prompt takes milliseconds, so that what we add stands out

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "12" }, "sampler-seconds": { type: "string", default: "60" } },
});
const rounds = Number(values.rounds);
const samplerSeconds = Number(values["sampler-seconds"]);

const median = (numbers) => {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
const ms = (value) => `${value.toFixed(1)} ms`;

const WORDS = "anchor beam cargo deck engine flag galley harbor island keel ladder mast north ocean port quay rope sail tide water".split(" ");
/** A prompt that no cache has seen: it differs from its first words on. Always the same words in another order, so that
 *  all prompts are equally long. */
function prompt() {
  const words = Array.from({ length: PROMPT_WORDS }, (_, at) => WORDS[at % WORDS.length]);
  for (let at = words.length - 1; at > 0; at--) {
    const other = randomInt(at + 1);
    [words[at], words[other]] = [words[other], words[at]];
  }
  return `${words.join(" ")}\nName one of these words.`;
}

/** What the app puts before every conversation: the other ways send it as well, so that all ask the same. */
async function systemPrompt() {
  const source = await readFile(new URL("../crates/agent/src/transcript.rs", import.meta.url), "utf8");
  const literal = source.match(/SYSTEM_PROMPT: &str = "([^"]*)"/)?.[1];
  if (!literal) throw new Error("SYSTEM_PROMPT is not where this script looks for it");
  return literal.replaceAll(/\\\n\s*/g, "");
}

/** One streamed chat request; times from sending. */
async function chat(url, key, model, body) {
  const began = performance.now();
  const answer = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, stream: true, stream_options: { include_usage: true }, return_progress: true, max_tokens: ANSWER_TOKENS, ...body }),
  });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  let first;
  let last;
  let usage;
  let rest = "";
  const decoder = new TextDecoder();
  for await (const bytes of answer.body) {
    const now = performance.now();
    rest += decoder.decode(bytes, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: {")) continue;
      const chunk = JSON.parse(line.slice(6));
      if (chunk.error) throw new Error(JSON.stringify(chunk.error));
      if (chunk.choices?.[0]?.delta?.content) {
        first ??= now;
        last = now;
      }
      usage = chunk.usage ?? usage;
    }
  }
  return { first: first - began, tail: performance.now() - last, uncached: usage.prompt_tokens - (usage.prompt_tokens_details?.cached_tokens ?? 0) };
}

/** The page's way: calls over HTTP, answers as events. */
class PageClient {
  static async open(link) {
    const client = new PageClient();
    client.base = new URL(link).origin;
    const answer = await fetch(link, { redirect: "manual", headers: { accept: "text/html" } });
    client.cookie = answer.headers.getSetCookie().map((cookie) => cookie.split(";")[0]).join("; ");
    const stream = await fetch(`${client.base}/events`, { headers: { cookie: client.cookie, accept: "text/event-stream" } });
    client.hearers = new Set();
    client.#read(stream.body);
    return client;
  }
  async #read(body) {
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const bytes of body) {
        const now = performance.now();
        rest += decoder.decode(bytes, { stream: true });
        const lines = rest.split("\n");
        rest = lines.pop();
        for (const line of lines) {
          if (line.startsWith("data:")) for (const hear of this.hearers) hear(JSON.parse(line.slice(5)), now);
        }
      }
    } catch {
      // The server ended.
    }
  }
  async call(name, body = {}) {
    const answer = await fetch(`${this.base}/call/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie: this.cookie, origin: this.base },
      body: JSON.stringify(body),
    });
    const value = await answer.json();
    if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(value)}`);
    return value;
  }
  async turn(conversation, text, model, stopAfter = 400) {
    let first;
    let last;
    let uncached;
    const ended = new Promise((resolve) => {
      const hear = (event, now) => {
        if (event.conversation !== conversation) return;
        // The first report of the prompt's reading starts at what the cache had.
        if (event.type === "promptRead") uncached ??= event.total - event.done;
        if (event.type === "textAdded") {
          first ??= now;
          last = now;
        }
        if (event.type === "turnEnded") {
          this.hearers.delete(hear);
          resolve({ event, now });
        }
        // The app has no answer limit of its own; what matters here has been seen.
        if (first !== undefined && now - first >= stopAfter) this.call("turn/stop", { conversation }).catch(() => {});
      };
      this.hearers.add(hear);
    });
    const began = performance.now();
    await this.call("turn/start", { conversation, text, model });
    const { event, now } = await ended;
    if (event.end === "failed") throw new Error(JSON.stringify(event.fault));
    return { first: first - began, tail: now - last, uncached };
  }
}

/** What a process used of one core over some seconds, in percent. Linux counts in ticks of 10 ms. */
async function share(pid, seconds) {
  // With its children, one of which asks NVIDIA's driver where there is one.
  const ticks = async () => {
    const family = [String(pid)];
    for (const thread of await readdir(`/proc/${pid}/task`)) {
      const children = await readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => "");
      family.push(...children.split(" ").filter(Boolean));
    }
    let sum = 0;
    for (const one of family) {
      const stat = await readFile(`/proc/${one}/stat`, "utf8").catch(() => "");
      const fields = (stat.split(") ")[1] ?? "").split(" ");
      sum += Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
    }
    return sum;
  };
  const [before, began] = [await ticks(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return ((await ticks()) - before) / ((performance.now() - began) / 1000);
}

/** The first command ever: no database, nothing measured, nothing remembered. */
async function coldProbe() {
  const fresh = await Place.fresh("cold");
  try {
    const began = performance.now();
    await fresh.plimsoll("probe", "--json");
    return performance.now() - began;
  } finally {
    await fresh.leave();
  }
}

const rows = [];
const colds = [];
for (let round = 0; round < 7; round++) colds.push(await coldProbe());
rows.push(["plimsoll probe --json in a fresh home", `${ms(median(colds))} (slowest ${ms(Math.max(...colds))})`]);

// `reports judged right: 140 of 143 decidable (97.9 %); …`, as the test of the recorded machines prints it.
const judged = process.env.PLIMSOLL_JUDGED;
if (judged) rows.push(["machines judged from reports", judged.slice(judged.indexOf(":") + 2)]);
const place = await Place.fresh("bench");
try {
  await place.plimsoll("engine", "add", realEngine());
  await place.plimsoll("import", realModel(MODEL_FILE));
  const library = JSON.parse(await place.plimsoll("models", "--json"));
  const model = library.models[0].id;

  const program = needed("PLIMSOLL_BIN");
  const timed = async (...args) => {
    const began = performance.now();
    await place.plimsoll(...args);
    return performance.now() - began;
  };
  for (const [what, args] of [["probe", ["probe", "--json"]], ["plan", ["plan", realModel(MODEL_FILE), "--json"]]]) {
    const times = [];
    for (let round = 0; round < 7; round++) times.push(await timed(...args));
    rows.push([`plimsoll ${what}, wall time`, `${ms(median(times))} (first ${ms(times[0])})`]);
  }

  const web = place.start(program, ["web"]);
  const link = await until(() => web.output.match(/http:\/\/127\.0\.0\.1:\d+\/\?token=\S+/)?.[0], 30_000, "the page's address");
  const page = await PageClient.open(link);
  if (samplerSeconds > 0) {
    let readings = 0;
    page.hearers.add((event) => (readings += event.type === "sampled" ? 1 : 0));
    await page.call("status/watch", { on: true });
    await until(() => readings > 0, 30_000, "the first reading");
    readings = 0;
    const watched = await share(web.pid, samplerSeconds);
    rows.push([`sampler, watched for ${samplerSeconds} s`, `${watched.toFixed(2)} % of one core, ${readings} readings`]);
    await page.call("status/watch", { on: false });
    const asleep = await share(web.pid, Math.min(10, samplerSeconds));
    rows.push(["sampler, nobody looks", `${asleep.toFixed(2)} % of one core`]);
  }
  await page.call("router/load", { model, wishes: {} });
  const endpoint = await until(async () => {
    const reply = await page.call("endpoint/read");
    return reply.url && reply;
  }, 30_000, "the endpoint");
  const router = JSON.parse(await readFile(join(place.home, "run", "router.json"), "utf8"));
  const direct = { url: `${router.url}/v1`, key: router.key };

  const system = { role: "system", content: await systemPrompt() };
  const ask = async (way, text, stopAfter) => {
    if (way !== "app") {
      const { url, key } = way === "direct" ? direct : endpoint;
      return chat(url, key, model, { messages: [system, { role: "user", content: text }] });
    }
    const conversation = (await page.call("conversations/create", { model })).id;
    return page.turn(conversation, text, model, stopAfter);
  };
  /** The same questions on every way, in turning order; `before` each of them. */
  const compare = async (times, question, stopAfter, before) => {
    const ways = { direct: [], front: [], app: [] };
    for (let round = -1; round < times; round++) {
      // The order turns, so that none always comes after the same neighbour.
      const order = ["direct", "front", "app"];
      for (let turn = 0; turn < (round + 1) % 3; turn++) order.push(order.shift());
      for (const way of order) {
        await before?.();
        const took = await ask(way, question(), stopAfter);
        if (round >= 0) ways[way].push(took); // the first round warms everything up
      }
    }
    return ways;
  };
  const OURS = [["front", "our front (other programs)"], ["app", "the app's own turn (page over HTTP)"]];
  // Against the direct request of the same round: what else the machine does weighs on both.
  const added = (ways, way, what) => median(ways[way].map((took, round) => took[what] - ways.direct[round][what]));

  // Whoever came before leaves a prefix in the slot, and not everybody the same one: a short stranger evens it out.
  const stranger = () => [{ role: "system", content: "Reset." }, { role: "user", content: String(randomInt(1e9)) }];
  const reset = () => chat(direct.url, direct.key, model, { messages: stranger(), max_tokens: 1 });
  const fresh = await compare(rounds, prompt, 400, reset);
  const uncached = Object.values(fresh).flat().map((took) => took.uncached).filter((count) => count !== undefined);
  if (Math.min(...uncached) < UNCACHED_MIN) throw new Error(`a prompt had only ${Math.min(...uncached)} uncached tokens`);
  const counted = (way) => median(fresh[way].map((took) => took.uncached));
  rows.push(["uncached prompt tokens", `direct ${counted("direct")}, front ${counted("front")}, app ${counted("app")}`]);
  rows.push(["direct: first token", ms(median(fresh.direct.map((took) => took.first)))]);
  for (const [way, name] of OURS) {
    const ratio = median(fresh[way].map((took, round) => took.first / fresh.direct[round].first));
    rows.push([`${name}: first token`, `${ratio.toFixed(4)} of direct, ${ms(added(fresh, way, "first"))} added`]);
  }
  // The app's turn is stopped at its first word; whoever comes next finds the slot free again, with its prompt in it.
  const cached = await compare(CACHED_ROUNDS, () => "Name a ship.", 0, () => sleep(200));
  rows.push(["direct: first token of a cached prompt", ms(median(cached.direct.map((took) => took.first)))]);
  for (const [way, name] of OURS) {
    const [first, tail] = ["first", "tail"].map((what) => added(cached, way, what));
    rows.push([`${name}: added per turn`, `${ms(first + tail)} (${ms(first)} before the first token, ${ms(tail)} after the last word)`]);
  }

  const browser = await openBrowser();
  const paints = [];
  const address = new URL(link).origin;
  for (let round = 0; round < 7; round++) {
    const context = await browser.newContext();
    const [name, value] = page.cookie.split("=");
    await context.addCookies([{ name, value, url: address }]);
    const tab = await context.newPage();
    await tab.goto(address);
    const paint = await until(
      () => tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime),
      20_000,
      "the first paint",
    );
    paints.push(paint);
    await context.close();
  }
  await browser.close();
  rows.push(["page: first contentful paint", `${ms(median(paints))} (first ${ms(paints[0])})`]);
} finally {
  await place.leave();
}

const width = Math.max(...rows.map(([name]) => name.length));
console.log(`\nmedians of ${rounds} interleaved rounds, ${MODEL_FILE}, ${availableParallelism()} logical cores`);
for (const [name, value] of rows) console.log(`${name.padEnd(width)}  ${value}`);
