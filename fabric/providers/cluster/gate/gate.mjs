// The way in of a service: passes each request on to the Service of its function, and the answer
// back, both as they come. No packages; its routes lie in a file beside it that never changes.
import { readFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";

import { answerHeaders, preflightHeaders } from "./serving_cors.mjs";
import { routed, routesOf } from "./serving_routes.mjs";

const READY = "/.fabric/ready";
const { drain = 3, margin = 5, routes: rows } = JSON.parse(readFileSync(new URL("./routes.json", import.meta.url), "utf8"));
const routes = routesOf(rows);
// Of one hop alone, or answered here.
const OF_THE_HOP = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade", "expect"],
]);
const CONNECT = 5000;
// Less than any pod keeps an idle connection, and than one goes on that is to end: none is used
// again in the moment in which its other side closes it.
const agent = new Agent({ keepAlive: true, timeout: 2000 });
let isEnding = false;

const server = createServer((req, res) => {
  const [path] = req.url.split("?", 1);
  if (path === READY) return said(res, isEnding ? 503 : 200, isEnding ? "ending" : "ready");
  const found = routed(routes, req.method, path);
  if (found.key) return pass(req, res, found.row);
  const open = preflightHeaders(found.rows, req.method, (name) => req.headers[name]);
  if (open) return void res.writeHead(204, { ...open, ...ending() }).end();
  if (!found.allowed.length) return said(res, 404, "Not Found");
  said(res, 405, "Method Not Allowed", { allow: found.allowed.join(", ") });
});
server.requestTimeout = 0;
// Longer than controllers keep theirs: who comes closes first.
server.keepAliveTimeout = 75_000;
server.listen(Number(process.env.PORT ?? 8080));
process.on("SIGTERM", end);

// Requests still come for a moment, until nobody is sent here any more; what is under way is ended.
function end() {
  isEnding = true;
  setTimeout(() => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  }, drain * 1000);
}

function pass(req, res, { url, seconds, cors }) {
  const place = new URL(url);
  const hop = { isMade: false, timer: undefined };
  let onward;
  try {
    const options = { method: req.method, path: req.url, headers: headersOnward(req), agent };
    onward = request({ ...options, host: place.hostname, port: place.port || 80 });
  } catch {
    return said(res, 400, "Bad Request");
  }
  const late = (status, text) => () => (said(res, status, text), onward.destroy());
  onward.on("socket", (socket) => {
    hop.isMade = !socket.connecting;
    if (hop.isMade) return;
    hop.timer = setTimeout(late(503, "Service Unavailable"), CONNECT);
    socket.once("connect", () => (clearTimeout(hop.timer), (hop.isMade = true)));
  });
  onward.on("finish", () => {
    if (!seconds || res.headersSent) return;
    // Its own server is to be the one that says so, where it still can.
    hop.limit = setTimeout(late(504, "Gateway Timeout"), (seconds + margin) * 1000);
  });
  onward.on("response", (answer) => back(answer, res, hop, cors ? answerHeaders(cors, req.headers.origin) : {}));
  onward.on("error", (error) => {
    if (res.headersSent || res.destroyed) return;
    console.error(`${req.method} ${place.hostname}: ${error.message}`);
    said(res, hop.isMade ? 502 : 503, hop.isMade ? "Bad Gateway" : "Service Unavailable");
  });
  res.on("close", () => {
    clearTimeout(hop.timer);
    clearTimeout(hop.limit);
    // Nobody waits for it any more.
    if (!res.writableFinished) onward.destroy();
  });
  req.pipe(onward);
}

function back(answer, res, hop, { vary, ...open }) {
  clearTimeout(hop.limit);
  if (res.headersSent || res.destroyed) return answer.destroy();
  const headers = { ...passedOn(answer), ...open };
  if (vary) headers.vary = [headers.vary ?? [], vary].flat();
  res.writeHead(answer.statusCode, answer.statusMessage, { ...headers, ...ending() });
  res.flushHeaders();
  // What breaks off half-way has to be seen to.
  answer.on("error", () => res.destroy());
  answer.pipe(res);
}

function headersOnward(req) {
  const peer = (req.socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  const headers = passedOn(req);
  const before = [headers["x-forwarded-for"] ?? []].flat();
  const body = "transfer-encoding" in req.headers ? { "transfer-encoding": "chunked" } : {};
  return { ...headers, ...body, "x-forwarded-for": [...before, peer].filter(Boolean).join(", ") };
}

// Headers in the order in which they came; one that came more than once goes on so.
function passedOn({ rawHeaders, headers }) {
  const named = (headers.connection ?? "").toLowerCase().split(",").map((one) => one.trim());
  const found = new Map();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at].toLowerCase();
    if (OF_THE_HOP.has(name) || named.includes(name)) continue;
    found.set(name, found.has(name) ? [found.get(name), rawHeaders[at + 1]].flat() : rawHeaders[at + 1]);
  }
  return Object.fromEntries(found);
}

function ending() {
  return isEnding ? { connection: "close" } : {};
}

function said(res, status, message, headers = {}) {
  if (res.headersSent || res.destroyed) return;
  const body = JSON.stringify({ message });
  res.writeHead(status, { "content-type": "application/json", ...headers, "content-length": Buffer.byteLength(body), ...ending() });
  res.end(res.req.method === "HEAD" ? undefined : body);
}
