// A model hub on loopback that serves real files: enough of the hub's answers for a real download, at a pace that lets a
// person see the bar move. What a hub can do wrong is the business of crates/testkit.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const COMMIT = /^[0-9a-f]{40}$/;
const PIECE = 1 << 20;

async function sha256(path) {
  const digest = createHash("sha256");
  for await (const piece of createReadStream(path)) digest.update(piece);
  return digest.digest("hex");
}

/** Serves `paths` under any repository, found by file name without regard to case; to those with the token, if one is given. */
export async function startHub(paths, { bytesPerS = 150e6, port = 0, token } = {}) {
  const files = new Map();
  for (const path of paths) {
    files.set(basename(path).toLowerCase(), { path, bytes: (await stat(path)).size, sha256: await sha256(path) });
  }
  const hub = { asked: [], sent: 0 };

  const server = createServer(async (request, response) => {
    const [, org, name, kind, revision, ...inside] = decodeURIComponent(new URL(request.url, "http://hub").pathname).split("/");
    const file = kind === "resolve" ? files.get(inside.at(-1)?.toLowerCase()) : undefined;
    hub.asked.push(`${request.method} ${request.url}`);
    if (token && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401, { "x-error-code": "GatedRepo" }).end();
      return;
    }
    if (!file || !org || !name) {
      response.writeHead(404, { "x-error-code": "EntryNotFound" }).end();
      return;
    }
    const headers = {
      "accept-ranges": "bytes",
      etag: `"${file.sha256}"`,
      "x-linked-etag": `"${file.sha256}"`,
      "x-linked-size": file.bytes,
      "x-repo-commit": COMMIT.test(revision) ? revision : "0".repeat(40),
    };
    let [from, to] = [0, file.bytes];
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    if (range) {
      from = Number(range[1]);
      if (range[2]) to = Math.min(to, Number(range[2]) + 1);
      headers["content-range"] = `bytes ${from}-${to - 1}/${file.bytes}`;
    }
    headers["content-length"] = to - from;
    response.writeHead(range ? 206 : 200, headers);
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    const closed = once(response, "close");
    const handle = await open(file.path);
    try {
      for (let at = from; at < to && !response.destroyed; at += PIECE) {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(PIECE, to - at)), 0, undefined, at);
        hub.sent += bytesRead;
        if (!response.write(buffer.subarray(0, bytesRead))) {
          await Promise.race([once(response, "drain"), closed]);
        }
        await sleep((bytesRead / bytesPerS) * 1000);
      }
      response.end();
    } finally {
      await handle.close();
    }
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  hub.url = `http://127.0.0.1:${server.address().port}`;
  hub.end = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return hub;
}
