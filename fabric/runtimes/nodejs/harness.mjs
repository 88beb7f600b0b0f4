// Calls one handler once. Its answer goes to the descriptor that fabric gave; stdout stays its own.
import { readFileSync, writeFileSync } from "node:fs";

import { call, prepare } from "./calling/call.mjs";

const [asked, answerTo] = process.argv.slice(2);
const { event, ...said } = JSON.parse(readFileSync(asked, "utf8"));

function answer(result) {
  writeFileSync(Number(answerTo), JSON.stringify(result));
  process.exit(0);
}

function failed(error) {
  console.error(error?.stack ?? error);
  const type = error?.name ?? error?.constructor?.name ?? typeof error;
  answer({ error: { type: String(type), message: String(error?.message ?? error) } });
}

// Whatever a callback throws, and what nobody catches.
process.once("uncaughtException", failed);

async function once() {
  const handler = await prepare(said);
  // Handlers that answer at the end of everything come first.
  process.on("beforeExit", () => setImmediate(() => answer({ unanswered: "nothing is left that it could wait for" })));
  const start = performance.now();
  const response = await call(handler, event);
  answer({ response, ms: Math.round(performance.now() - start) });
}

once().catch(failed);
