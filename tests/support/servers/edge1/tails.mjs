// Tails: whoever listens to a Worker is told of each of its calls when it ends, by a websocket.
import { Buffer } from "node:buffer";
import crypto from "node:crypto";

import { accountOf, hex } from "./accounts.mjs";
import { no, noWorker } from "./refusals.mjs";

const BINARY = 2;
const CLOSE = 8;
const PING = 9;
const PONG = 10;
const KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

function begin(call) {
  const { account, names, headers } = call;
  if (!account.scripts.has(names.script)) noWorker();
  const filters = call.body.length ? (call.json().filters ?? []) : [];
  const tail = { id: hex(), script: names.script, filters, socket: null };
  account.tails.set(tail.id, tail);
  return { id: tail.id, url: `ws://${headers.host}/tail/${account.id}/${tail.id}`, expires_at: new Date(Date.now() + 6e5).toISOString() };
}

function end(call) {
  const tail = call.account.tails.get(call.names.tail) ?? no(404, 10021, "tail not found");
  tail.socket?.destroy();
  call.account.tails.delete(tail.id);
  return null;
}

export function hear(account, ended) {
  for (const tail of account.tails.values())
    if (tail.script === ended.scriptName && tail.socket) tail.socket.write(frame(Buffer.from(JSON.stringify(ended)), BINARY));
}

// The connection goes away as it does when a machine there is taken down.
export function drop(account) {
  for (const tail of account.tails.values()) tail.socket?.destroy();
}

export function upgraded(request, socket) {
  const [, , id, tailId] = request.url.split("/");
  const tail = accountOf(id)?.tails.get(tailId);
  const isSpoken = String(request.headers["sec-websocket-protocol"]).split(/, */).includes("trace-v1");
  if (!tail || !isSpoken) return socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
  const accept = crypto.createHash("sha1").update(request.headers["sec-websocket-key"] + KEY).digest("base64");
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: trace-v1\r\n\r\n`);
  tail.socket = socket;
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk) => {
    rest = answered(socket, Buffer.concat([rest, chunk]));
  });
  socket.on("error", () => {});
  socket.on("close", () => (tail.socket = null));
  return undefined;
}

function answered(socket, bytes) {
  let rest = bytes;
  for (let found = read(rest); found; found = read(rest)) {
    if (found.kind === PING) socket.write(frame(found.content, PONG));
    if (found.kind === CLOSE) socket.end(frame(found.content, CLOSE));
    rest = found.rest;
  }
  return rest;
}

// Some clients do not mask what they send.
function read(bytes) {
  if (bytes.length < 2) return null;
  const [kind, isMasked] = [bytes[0] & 15, bytes[1] & 128];
  let [length, at] = [bytes[1] & 127, 2];
  if (length === 126) {
    if (bytes.length < 4) return null;
    [length, at] = [bytes.readUInt16BE(2), 4];
  }
  const begin = at + (isMasked ? 4 : 0);
  if (bytes.length < begin + length) return null;
  const content = Buffer.from(bytes.subarray(begin, begin + length));
  if (isMasked) for (let place = 0; place < length; place++) content[place] ^= bytes[at + (place % 4)];
  return { kind, content, rest: bytes.subarray(begin + length) };
}

function frame(content, kind) {
  const { length } = content;
  if (length < 126) return Buffer.concat([Buffer.from([0x80 | kind, length]), content]);
  const head = Buffer.alloc(length < 65536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = length < 65536 ? 126 : 127;
  if (length < 65536) head.writeUInt16BE(length, 2);
  else head.writeBigUInt64BE(BigInt(length), 2);
  return Buffer.concat([head, content]);
}

const TAILS = "/accounts/:account/workers/scripts/:script/tails";
export const tailCalls = [
  ["POST", TAILS, begin],
  ["DELETE", `${TAILS}/:tail`, end],
];
