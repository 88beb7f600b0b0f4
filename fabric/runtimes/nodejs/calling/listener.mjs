// (req, res): Node's own server and client, joined in memory, so that every framework is at home.
import { Buffer } from "node:buffer";
import { createServer, request as ask, Server } from "node:http";

import { HelpedRequest, HelpedResponse, prepare } from "./helpers.mjs";
import { answerOf, answerOfValue, requestOf } from "./http_events.mjs";
import { connected } from "./in_memory.mjs";
import { isResponse, webAnswer } from "./web.mjs";

export function isListener(found) {
  return found instanceof Server;
}

export function byRequestResponse(found, event, said) {
  const listener = isListener(found) ? (req, res) => void found.emit("request", req, res) : found;
  const request = requestOf(event, said);
  return new Promise((resolve, reject) => {
    const server = createServer({ IncomingMessage: HelpedRequest, ServerResponse: HelpedResponse }, (req, res) => {
      prepare(req, request);
      settle(listener, req, res).then((value) => value === undefined || resolve(value), reject);
    });
    const [here, there] = connected();
    server.emit("connection", there);
    send(here, request).then(resolve, reject);
  });
}

// A value is an answer only where there is no `res` to give it to.
async function settle(listener, req, res) {
  const value = await listener(req, res);
  if (value === undefined || value === null || res.headersSent || res.writableEnded) return undefined;
  if (isResponse(value)) return webAnswer(value);
  return listener.length < 2 ? answerOfValue(value) : undefined;
}

function send(connection, { method, target, headers, body }) {
  return new Promise((resolve, reject) => {
    const options = { method, path: target, headers, setHost: false, createConnection: () => connection };
    const client = ask(options, (response) => read(response).then(resolve, reject));
    client.on("error", reject);
    client.end(body);
  });
}

async function read(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const headers = Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return answerOf(response.statusCode, headers, Buffer.concat(chunks));
}
