// Calls one handler, again and again. A line of JSON comes for the function and one for each call,
// on a descriptor of their own; answers go to another. stdout and stderr stay the handler's.
import { writeSync } from "node:fs";
import { Socket } from "node:net";

import { call, prepare } from "./calling/call.mjs";
import { asLambda } from "./lambda_calls.mjs";

const [asked, answerTo] = process.argv.slice(2).map(Number);
const MOST = 6 * 1024 * 1024;
const requests = new Socket({ fd: asked, readable: true, writable: false });
const started = performance.now();

// What a handler writes is there before its answer, and before it ends its process.
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);

let handler;
// What is under way: loading the module is number 0.
let current = { id: 0, since: started };
let chunks = [];

requests.on("data", (chunk) => {
  let rest = chunk;
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    chunks.push(rest.subarray(0, end));
    take(JSON.parse(Buffer.concat(chunks).toString()));
    chunks = [];
    rest = rest.subarray(end + 1);
  }
  if (rest.length) chunks.push(rest);
});
// Whoever calls is gone.
requests.on("close", () => process.exit(0));

function take(line) {
  // What waits for nothing but the next request waits for ever.
  requests.unref();
  if (!handler) {
    load(line).then((found) => settle(0, (handler = found) && { ready: true, version: process.versions.node }), (error) => failed(0, error, true));
  } else {
    current = { id: line.id, since: performance.now() };
    call(handler, line.event).then((response) => settle(line.id, { response }), (error) => failed(line.id, error));
  }
}

async function load(said) {
  const loaded = await prepare(said);
  if (!said.streams || loaded.convention !== "event") return loaded;
  return { ...loaded, found: asLambda(loaded.found, said, () => (current.ignored = true)) };
}

function settle(id, answer) {
  if (current?.id !== id) return;
  const ms = Math.round(performance.now() - current.since);
  let text;
  try {
    text = Buffer.from(JSON.stringify({ ...answer, id, ms, ignored: current.ignored, rss: process.memoryUsage.rss() }) + "\n");
  } catch (error) {
    return failed(id, error);
  }
  if (text.length > MOST) text = Buffer.from(JSON.stringify({ id, ms, tooLarge: text.length }) + "\n");
  current = undefined;
  for (let at = 0; at < text.length; ) at += writeSync(answerTo, text, at);
  requests.ref();
}

function failed(id, error, ends = false) {
  if (current?.id === id) console.error(error?.stack ?? error);
  const type = error?.name ?? error?.constructor?.name ?? typeof error;
  settle(id, { error: { type: String(type), message: String(error?.message ?? error) }, ends });
  if (ends) process.exit(1);
}

// Whatever a callback throws, and what nobody catches: the process is of no use any more.
process.on("uncaughtException", (error) => {
  if (current) failed(current.id, error, true);
  console.error(error?.stack ?? error);
  process.exit(1);
});

// Handlers that answer at the end of everything come first.
process.on("beforeExit", () => {
  const id = current?.id;
  const stuck = () => settle(id, { unanswered: "nothing is left to wait for" });
  if (current) setImmediate(stuck);
});
