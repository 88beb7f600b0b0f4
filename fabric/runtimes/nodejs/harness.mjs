// Calls one handler once. Its answer goes to the descriptor that fabric gave; stdout stays its own.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [call, answerTo] = process.argv.slice(2);
const { folder, module, name, functionName, seconds, event } = JSON.parse(readFileSync(call, "utf8"));

function answer(result) {
  writeFileSync(Number(answerTo), JSON.stringify(result));
  process.exit(0);
}

function failed(error) {
  console.error(error?.stack ?? error);
  const type = error?.name ?? error?.constructor?.name ?? typeof error;
  answer({ error: { type: String(type), message: String(error?.message ?? error) } });
}

async function load() {
  const file = [".js", ".mjs", ".cjs"].map((end) => `${folder}/${module}${end}`).find(existsSync);
  if (!file) throw new Error(`the archive has no module ${module}`);
  const exports = await import(pathToFileURL(file).href);
  const whole = exports.default;
  const found = exports[name] ?? whole?.[name] ?? (name === "handler" ? whole : undefined);
  if (typeof found !== "function") throw new TypeError(`${module} exports no function ${name}`);
  return found;
}

function settle(handler) {
  const until = Date.now() + seconds * 1000;
  const context = { functionName, getRemainingTimeInMillis: () => Math.max(0, until - Date.now()) };
  return new Promise((resolve, reject) => {
    const callback = (error, value) => (error ? reject(error) : resolve(value));
    const result = handler(event, context, callback);
    if (typeof result?.then === "function") result.then(resolve, reject);
    else if (handler.length < 3) resolve(result);
    // With a third parameter the answer comes through the callback, while there is anything to do.
    else process.once("beforeExit", () => resolve(result));
  });
}

try {
  const handler = await load();
  const start = performance.now();
  const response = (await settle(handler)) ?? null;
  answer({ response, ms: Math.round(performance.now() - start) });
} catch (error) {
  failed(error);
}
