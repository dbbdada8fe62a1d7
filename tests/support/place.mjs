// A fresh place for one test: its own home, hub cache and environment, and our programs run inside it.
// When it is left, everything that was started in it is ended, and a llama-server that survived is an error.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, mkdir, readdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");

/** A variable that scripts/test sets; nothing is skipped for the lack of it. */
export function needed(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run this through scripts/test`);
  return value;
}

export function realEngine() {
  return needed("PLIMSOLL_TEST_ENGINE");
}

export function realModel(name) {
  const path = join(needed("PLIMSOLL_TEST_MODELS"), name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run scripts/fetch-real`);
  return path;
}

/** Characters that are kept of what a child printed; a list of models with their plans is some hundred thousand. */
const OUTPUT_MAX = 8 << 20;

export class Place {
  #children = new Set();
  #volumes = [];

  static async fresh(label) {
    const place = new Place();
    place.root = await mkdtemp(join(tmpdir(), `plimsoll-${label}-`));
    place.home = join(place.root, "home");
    place.hub = join(place.root, "hub");
    await mkdir(place.home);
    await mkdir(place.hub);
    // A list of what may pass, so that no setting, token or proxy of the person who runs this leaks in.
    const kept = ["PATH", "LANG", "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH"];
    place.env = Object.fromEntries(kept.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])));
    Object.assign(place.env, {
      HOME: place.root,
      PLIMSOLL_HOME: place.home,
      HF_HUB_CACHE: place.hub,
      // Nothing here may reach out; a test that needs a hub starts one of its own.
      HF_ENDPOINT: "http://127.0.0.1:9",
    });
    return place;
  }

  /** Starts a program in its own process group; its output is kept in `output`. */
  start(program, args = [], env = {}) {
    const child = spawn(program, args, { env: { ...this.env, ...env }, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    child.output = "";
    child.ended = new Promise((resolve) => {
      child.on("error", (problem) => {
        child.output += `${program}: ${problem.message}\n`;
        resolve(127);
      });
      child.on("exit", (code, signal) => resolve(code ?? signal));
    });
    child.ended.then(() => this.#children.delete(child));
    // After `exit` there may still be something in the pipes.
    child.read = new Promise((resolve) => child.on("close", resolve).on("error", resolve));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        child.output = (child.output + text).slice(-OUTPUT_MAX);
      });
    }
    this.#children.add(child);
    return child;
  }

  /** Runs `plimsoll ARGS` to its end; a failure is thrown with what it printed. */
  async plimsoll(...args) {
    const child = this.start(needed("PLIMSOLL_BIN"), args);
    const code = await child.ended;
    await child.read;
    if (code !== 0) throw new Error(`plimsoll ${args.join(" ")} ended with ${code}\n${child.output}`);
    return child.output;
  }

  /** Makes `folder` a volume of its own that holds `mib` MiB. Only root can, or sudo without a password. */
  async smallVolume(folder, mib) {
    await asRoot("mount", "-t", "tmpfs", "-o", `size=${mib}m,mode=0777`, "tmpfs", folder);
    this.#volumes.push(folder);
  }

  /** Takes the file of a model, in whatever case the hub writes it, out of the library, as an unplugged disk does; gives a way to put it back. */
  async takeAway(name) {
    const found = (await readdir(this.hub, { recursive: true })).find((path) => path.toLowerCase().endsWith(name.toLowerCase()));
    if (!found) throw new Error(`${name} is not in ${this.hub}`);
    const file = await realpath(join(this.hub, found));
    const aside = join(this.root, `aside-${name}`);
    await rename(file, aside);
    return () => rename(aside, file);
  }

  /** Process ids of llama-server processes that were started from this place. */
  async engines() {
    const found = [];
    for (const pid of await readdir("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      try {
        const command = await readFile(`/proc/${pid}/cmdline`, "utf8");
        if (command.split("\0")[0].endsWith("llama-server") && command.includes(this.root)) found.push(Number(pid));
      } catch {
        // It ended while we looked.
      }
    }
    return found;
  }

  /** Ends what is still running and removes the place. Throws when a llama-server outlives its owner. */
  async leave() {
    for (const child of this.#children) signal(child, "SIGTERM");
    const all = Promise.all([...this.#children].map((child) => child.ended));
    await Promise.race([all, sleep(8000)]);
    for (const child of this.#children) signal(child, "SIGKILL");
    const left = await until(async () => (await this.engines()).length === 0, 5000).then(() => [], () => this.engines());
    for (const pid of left) process.kill(pid, "SIGKILL");
    for (const folder of this.#volumes) await asRoot("umount", folder);
    await rm(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    if (left.length > 0) throw new Error(`llama-server outlived its owner: ${left.join(", ")}`);
  }
}

async function asRoot(program, ...args) {
  for (const [command, ...before] of [[program], ["sudo", "-n", program]]) {
    const child = spawn(command, [...before, ...args], { stdio: "ignore" });
    const code = await new Promise((resolve) => child.once("error", () => resolve(127)).once("exit", resolve));
    if (code === 0) return;
  }
  throw new Error(`${program} ${args.join(" ")} failed: this test needs root, or sudo without a password`);
}

/** Holds ports as a foreign program would; gives a way to let them go. */
export async function holdPorts(first, count) {
  const held = [];
  for (let port = first; port < first + count; port += 1) {
    const server = createServer((connection) => connection.destroy());
    server.listen(port, "127.0.0.1");
    // Taken by somebody else already: as good.
    const got = await Promise.race([once(server, "listening").then(() => true), once(server, "error").then(() => false)]);
    if (got) held.push(server);
  }
  return () => Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
}

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A file that begins as a GGUF of version 3 and claims 2^60 tensors. */
export function hugeClaim() {
  const header = Buffer.alloc(64);
  header.write("GGUF", 0);
  header.writeUInt32LE(3, 4);
  header.writeBigUInt64LE(1n << 60n, 8);
  return header;
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // It is gone.
  }
}

/** Waits until `check` gives something truthy and returns it; `limit` is a net, not a measure. */
export async function until(check, limit = 60_000, what = "the condition") {
  const end = Date.now() + limit;
  let last;
  while (Date.now() < end) {
    try {
      const value = await check();
      if (value) return value;
      last = undefined;
    } catch (problem) {
      last = problem;
    }
    await sleep(100);
  }
  throw new Error(`${what} did not come about in ${limit} ms${last ? `: ${last.message}` : ""}`);
}
