// One warm runtime of Node: an event a line on stdin, an answer a line on the descriptor that is
// named; the first is empty: it is there. A line that ends with NUL says on stdout that all of what was printed is there.
"use strict";
const path = require("path");
const fs = require("fs");
const lines = require("readline").createInterface({ input: process.stdin });

const descriptor = Number(process.env.RESULT_FD);
delete process.env.RESULT_FD;
const answer = (value) => fs.writeSync(descriptor, JSON.stringify(value) + "\n");

function failure(name, message) {
  return Object.assign(new Error(message), { name });
}

async function load() {
  const [, module, name] = process.env._HANDLER.match(/^(.*)\.([^.]*)$/);
  const base = path.resolve(process.cwd(), module);
  const file = [".js", ".cjs", ".mjs"].map((end) => base + end).find(fs.existsSync);
  if (!file) throw failure("Runtime.ImportModuleError", `Cannot find module '${module}'`);
  const loaded = await import(file);
  const handler = loaded[name] ?? loaded.default?.[name];
  if (typeof handler !== "function") {
    throw failure("Runtime.HandlerNotFound", `${process.env._HANDLER} is not exported`);
  }
  return handler;
}

function call(handler, event, context) {
  if (handler.length < 3) return handler(event, context);
  return new Promise((resolve, reject) => {
    const promise = handler(event, context, (error, value) =>
      error ? reject(error) : resolve(value));
    if (promise?.then) promise.then(resolve, reject);
  });
}

let handler;
fs.writeSync(descriptor, "\n");
lines.on("line", async (line) => {
  const { event, context } = JSON.parse(line);
  const end = Date.now() + context.seconds * 1000;
  try {
    handler ??= await load();
    const result = await call(handler, event, {
      awsRequestId: context.request,
      functionName: context.name,
      functionVersion: context.version,
      invokedFunctionArn: context.arn,
      memoryLimitInMB: String(context.memory),
      getRemainingTimeInMillis: () => end - Date.now(),
    });
    answer({ result: result === undefined ? null : result });
  } catch (error) {
    answer({
      error: {
        errorType: error?.name ?? "Error",
        errorMessage: error?.message ?? String(error),
        trace: (error?.stack ?? "").split("\n"),
      },
    });
  }
  process.stdout.write("\0\n");
});
