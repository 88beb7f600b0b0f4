// Calls one function's handler with each line that comes, as the runtime below host2 does: the
// module has the function's name, and what it writes is its log.
import { createInterface } from "node:readline";
import { existsSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [name, answers] = process.argv.slice(2);
const file = [".js", ".mjs", ".cjs"].map((end) => resolve(`${name}${end}`)).find(existsSync);
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);
const loaded = import(pathToFileURL(file).href);
loaded.catch(() => {});

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { event } = JSON.parse(line);
  let answer;
  try {
    const { handler } = await loaded;
    answer = { ok: await handler(event, { awsRequestId: "id", functionName: name }) };
  } catch (error) {
    console.error(error?.stack ?? error);
    answer = { error: { errorType: error?.name, errorMessage: String(error?.message ?? error) } };
  }
  writeSync(Number(answers), `${JSON.stringify(answer)}\n`);
});
