// A handler that runs in workerd: the host of its service is asked, and started if there is none.
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const HOST = fileURLToPath(new URL("../workerd/host.mjs", import.meta.url));
const PATIENCE = 15_000;
const PAUSE = 50;
const GONE = new Set(["ECONNREFUSED", "ENOENT"]);

export async function connect({ workers, functionName }) {
  const described = JSON.parse(readFileSync(workers.file));
  const { socket, miniflare, digest, ...service } = described;
  const register = () => opened(socket, miniflare).then(() => asked(socket, "/register", { digest, service, variables: workers.variables }));
  // A host that is ending can still accept a child.
  const begin = () => register().catch((error) => (error.code ? register() : Promise.reject(error)));
  await begin();
  const { name } = described.workers.find((one) => one.function === functionName);
  const act = async (kind, given) => {
    const call = () => called(socket, { kind, worker: name, ...given });
    // Whoever has ended the host: another one has the same state.
    return call().catch((error) => (GONE.has(error.code) ? begin().then(call) : Promise.reject(error)));
  };
  return { name: "", exports: {}, found: { fetch: (one) => fetched(act, one), scheduled: (one) => timed(act, one), queue: (one) => delivered(act, one) } };
}

async function opened(socket, miniflare) {
  mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
  // Variables are sent there, which another user must not read.
  const { uid, mode } = statSync(dirname(socket));
  if (uid !== process.getuid?.() || mode & 0o077) throw new Error(`the directory ${dirname(socket)} belongs to another user, or others can read it: delete it`);
  const end = Date.now() + PATIENCE;
  let isStarted = false;
  while (Date.now() < end) {
    if (await stays(socket)) return;
    if (!isStarted) {
      const env = { PATH: process.env.PATH ?? "" };
      spawn(process.execPath, [HOST, socket, miniflare], { detached: true, stdio: "ignore", env, cwd: dirname(socket) }).unref();
      isStarted = true;
    }
    await new Promise((go) => setTimeout(go, PAUSE));
  }
  throw new Error(`the runtime of Workers did not start (miniflare in ${miniflare})`);
}

// The connection says that this child is there.
function stays(socket) {
  return new Promise((resolve) => {
    const presence = request({ socketPath: socket, path: "/stay" }, (answer) => {
      answer.socket.unref();
      answer.resume();
      answer.on("error", () => {});
      resolve(true);
    });
    presence.on("error", () => resolve(false));
    presence.end();
  });
}

function asked(socket, path, given) {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, path, method: "POST" }, async (answer) => {
      const chunks = [];
      for await (const chunk of answer) chunks.push(chunk);
      const found = JSON.parse(Buffer.concat(chunks).toString());
      if (answer.statusCode === 200) resolve(found);
      else reject(new Error(found.message));
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(given));
  });
}

async function called(socket, given) {
  const { answer, error, lines } = await asked(socket, "/call", given);
  for (const line of lines) console.log(line);
  if (error) throw Object.assign(new Error(error.message), { name: error.name });
  return answer;
}

async function fetched(act, asking) {
  const body = Buffer.from(await asking.arrayBuffer()).toString("base64");
  const { url, method } = asking;
  const { status, headers, body: text } = await act("fetch", { url, method, headers: [...asking.headers], body });
  const isBodiless = [101, 204, 205, 304].includes(status);
  return new Response(isBodiless ? null : Buffer.from(text, "base64"), { status, headers });
}

async function timed(act, { cron, scheduledTime }) {
  const { outcome } = await act("scheduled", { cron, scheduledTime });
  if (outcome !== "ok") throw new Error("the scheduled call failed");
}

async function delivered(act, { queue, messages, retryAll }) {
  const rows = messages.map(({ id, timestamp, attempts, body }) => ({ id, timestamp: timestamp.getTime(), attempts, body }));
  const { outcome, retryBatch, retryMessages = [] } = await act("queue", { queue, messages: rows });
  if (outcome !== "ok") throw new Error("the batch failed");
  if (retryBatch?.retry) retryAll();
  const again = new Set(retryMessages.map((one) => one.msgId));
  for (const one of messages) if (again.has(one.id)) one.retry();
}
