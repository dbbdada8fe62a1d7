// How long, how much memory and how much processor a download takes: ours, curl's, aria2c's and hf's, from the same
// fake hub on loopback. Run through scripts/bench-downloads.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const REPO = "org/bench-GGUF";
const FILE = "bench.gguf";
const { values } = parseArgs({ options: { mib: { type: "string", default: "2000" }, rounds: { type: "string", default: "3" }, only: { type: "string" } } });
const mib = Number(values.mib);
const rounds = Number(values.rounds);
const { PLIMSOLL_BIN, FAKE_HUB, PLIMSOLL_TEST_HF } = process.env;
const clean = Object.fromEntries(["PATH", "LANG"].flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])));

async function startHub(options) {
  const child = spawn(FAKE_HUB, [REPO, FILE, String(options.mib ?? mib), ...options.weather], { env: clean, stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  return {
    ...JSON.parse(value),
    sent: async () => {
      child.stdin.write("\n");
      return Number((await lines.next()).value);
    },
    end: () =>
      new Promise((resolve) => {
        child.on("exit", resolve);
        child.stdin.end();
      }),
  };
}

/** Runs one program to its end: seconds, processor seconds, and the most memory it had, in MiB. */
async function measure(program, args, env) {
  const began = performance.now();
  // The shell's own clock knows the processor time of its children.
  const child = spawn("bash", ["-c", 'TIMEFORMAT="cpu %U %S"; time "$@"', "-", program, ...args], { env: { ...clean, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  let done = false;
  const ended = new Promise((resolve) => child.on("close", resolve)).then((code) => ((done = true), code));
  let peak = 0;
  while (!done) {
    peak = Math.max(peak, await memoryBelow(child.pid));
    await Promise.race([ended, sleep(25)]);
  }
  const seconds = (performance.now() - began) / 1000;
  if ((await ended) !== 0) throw new Error(`${program} ${args.join(" ")}:\n${said.slice(-3000)}`);
  const [, user, system] = /cpu ([\d.]+) ([\d.]+)/.exec(said);
  return { seconds, cpu: Number(user) + Number(system), peak };
}

async function memoryBelow(pid) {
  try {
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ").filter(Boolean);
    const own = await Promise.all(
      children.map(async (child) => {
        const status = await readFile(`/proc/${child}/status`, "utf8");
        return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
      }),
    );
    return own.reduce((sum, one) => sum + one, 0);
  } catch {
    return 0; // it has just ended
  }
}

async function sha256(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

const ways = {
  plimsoll: (hub, folder) => ({
    program: PLIMSOLL_BIN,
    args: ["pull", `hf:${REPO}/${FILE}`, "--json"],
    env: { HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: join(folder, "cache"), PLIMSOLL_HOME: join(folder, "home"), HOME: folder },
  }),
  curl: (hub, folder) => ({ program: "curl", args: ["-fsSL", "-o", join(folder, "out"), url(hub)], env: {} }),
  "aria2c -x16": (hub, folder) => ({
    program: "aria2c",
    args: ["-q", "-x16", "-s16", "-k1M", "--file-allocation=falloc", "-d", folder, "-o", "out", url(hub)],
    env: { HOME: folder },
  }),
  hf: (hub, folder) => ({
    program: PLIMSOLL_TEST_HF,
    args: ["download", REPO, FILE, "--quiet"],
    env: { HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: join(folder, "cache"), HOME: folder, HF_HUB_DISABLE_XET: "1", HF_HUB_DISABLE_TELEMETRY: "1" },
  }),
};
const url = (hub) => `${hub.endpoint}/${REPO}/resolve/main/${FILE}`;

async function once(way, hub) {
  const folder = await mkdtemp(join(tmpdir(), "plimsoll-bench-"));
  try {
    const { program, args, env } = ways[way](hub, folder);
    const took = await measure(program, args, env);
    const files = await readdir(folder, { recursive: true });
    const file = files.find((name) => name.endsWith(`/${FILE}`) || name === "out");
    const found = await sha256(await realpath(join(folder, file)));
    if (found !== hub.sha256) throw new Error(`${way} fetched other bytes`);
    return took;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

async function compare(title, weather, { which = Object.keys(ways), once: single = [] } = {}) {
  console.log(`\n${title}, ${mib} MiB, median of ${rounds}`);
  console.log(`${"".padEnd(14)}${"s".padStart(8)}${"MB/s".padStart(8)}${"CPU s/GB".padStart(10)}${"MiB".padStart(8)}`);
  const hub = await startHub({ weather });
  const took = Object.fromEntries(which.map((way) => [way, []]));
  // Round about, so that all see the same weather of this machine.
  for (let round = 0; round < rounds; round++) {
    for (const way of which) if (round === 0 || !single.includes(way)) took[way].push(await once(way, hub));
  }
  await hub.end();
  const seconds = {};
  for (const way of which) {
    seconds[way] = median(took[way].map((one) => one.seconds));
    const cpu = median(took[way].map((one) => one.cpu)) / ((mib * 1.048576) / 1000);
    const peak = Math.max(...took[way].map((one) => one.peak));
    console.log(
      `${way.padEnd(14)}${seconds[way].toFixed(2).padStart(8)}${((mib * 1.048576) / seconds[way]).toFixed(0).padStart(8)}${cpu.toFixed(2).padStart(10)}${peak.toFixed(0).padStart(8)}`,
    );
  }
  const others = which.filter((way) => way !== "plimsoll");
  if (others.length > 0) {
    const best = others.reduce((a, b) => (seconds[a] < seconds[b] ? a : b));
    console.log(`ratio to the best (${best}): ${(seconds[best] / seconds.plimsoll).toFixed(2)}`);
  }
  return seconds;
}

/** What either fetched costs the other nothing. */
async function agree() {
  const hub = await startHub({ mib: 24, weather: [] });
  for (const [first, second] of [
    ["hf", "plimsoll"],
    ["plimsoll", "hf"],
  ]) {
    const folder = await mkdtemp(join(tmpdir(), "plimsoll-bench-"));
    for (const way of [first, second]) {
      const before = await hub.sent();
      const { program, args, env } = ways[way](hub, folder);
      await measure(program, args, env);
      const sent = (await hub.sent()) - before;
      if (way === first ? sent < 24 << 20 : sent > 0) throw new Error(`${way} after ${first}: ${sent} bytes were fetched`);
    }
    await rm(folder, { recursive: true, force: true });
    console.log(`what ${first} fetched, ${second} has`);
  }
  await hub.end();
}

const steps = {
  agree,
  line: () => compare("one line of 300 MB/s", ["all=300000000"]),
  each: () => compare("8 MB/s for each connection, 80 ms away", ["each=8000000", "delay=80"], { once: ["curl", "hf"] }),
  verify: async () => {
    const right = await compare("one line of 300 MB/s, hashed", ["all=300000000"], { which: ["plimsoll"] });
    const plain = await compare("the same, a file that has no known hash", ["all=300000000", "plain"], { which: ["plimsoll"] });
    console.log(`\nverification adds ${((right.plimsoll / plain.plimsoll - 1) * 100).toFixed(1)} %`);
  },
};
for (const [name, run] of Object.entries(steps)) if (!values.only || values.only === name) await run();
