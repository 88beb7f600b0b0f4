"use strict";
// One request and its answer through Node's own server and client, without a port.
const http = require("node:http");

const { connection } = require("./connection.cjs");
const { remember } = require("./invocations.cjs");

// Gateways have limits of their own, and the event has passed them.
const MAX_HEADER_SIZE = 2 ** 20;
// A request that Node itself refuses, such as one with a method that it does not know.
const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const CALL = Symbol("call");

function byListener(listener) {
  const server = http.createServer({ maxHeaderSize: MAX_HEADER_SIZE }, (req, res) => {
    const call = req.socket[CALL];
    remember(req, call);
    res.sendDate = false;
    settled(listener, req, res).catch(call.failed);
  });
  server.on("clientError", (_error, socket) => socket.end(BAD_REQUEST));
  return (request, call) => exchange(server, request, call);
}

// A listener that throws and one whose promise fails are one case.
async function settled(listener, req, res) {
  await listener(req, res);
}

function exchange(server, { method, target, headers, body, ...of }, call) {
  return new Promise((resolve, reject) => {
    const ends = connection(of);
    ends.server[CALL] = { ...call, failed: (error) => failed(error, ends, reject) };
    const sized = body.length ? { ...headers, "content-length": String(body.length) } : headers;
    const options = { method, path: target, headers: sized, setHost: false, maxHeaderSize: MAX_HEADER_SIZE };
    const client = http.request({ ...options, signal: call.signal, createConnection: () => ends.client });
    client.on("response", (response) => void answered(response).then(resolve, cutOff(reject)));
    client.on("error", cutOff(reject));
    server.emit("connection", ends.server);
    client.end(body);
  });
}

// An error behind the answer has nobody to go to but the log.
function failed(error, ends, reject) {
  if (ends.client.destroyed) console.error(error);
  reject(error);
  ends.client.destroy();
}

function cutOff(reject) {
  return (error) => {
    const isCut = error.code === "ECONNRESET";
    reject(isCut ? new Error("the application closed the connection before the response was complete", { cause: error }) : error);
  };
}

async function answered(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const { statusCode: status, rawHeaders: raw } = response;
  const names = raw.filter((_, at) => at % 2 === 0);
  return { status, headers: names.map((name, at) => [name.toLowerCase(), raw[2 * at + 1]]), body: Buffer.concat(chunks) };
}

module.exports = { byListener };
