// A handler behind Node's own http server, with nothing in between.
// node bare.mjs MODULE: says its port, and serves until it is ended.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const { handler } = await import(pathToFileURL(process.argv[2]).href);
const server = createServer(async (request, response) => {
  const answer = await handler({ rawPath: request.url });
  const length = { "content-length": Buffer.byteLength(answer.body) };
  response.writeHead(answer.statusCode, { ...answer.headers, ...length }).end(answer.body);
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
