// Serves one function as host1's launcher does: what its module exports is a listener of Node's own
// server. The port goes to a descriptor, what the function writes is its log.
import { writeSync } from "node:fs";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [handler, told] = process.argv.slice(2);
for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);
const { default: listener } = await import(pathToFileURL(resolve(handler)).href);
const server = createServer(listener);
server.listen(0, "127.0.0.1", () => writeSync(Number(told), `${server.address().port}\n`));
