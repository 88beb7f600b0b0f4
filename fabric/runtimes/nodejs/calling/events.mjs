// (event, context), with a callback or a stream besides; and the same with the event's bytes.
import { Buffer } from "node:buffer";
import { randomBytes, randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";

import { answerOf, isHttp, queryOf, requestOf } from "./http_events.mjs";

const STREAMING = Symbol.for("aws.lambda.runtime.handler.streaming");
const FAR = 15 * 60 * 1000;

// The global that the runtime has before any handler is loaded.
export function offerStreaming() {
  globalThis.awslambda = {
    streamifyResponse(handler) {
      handler[STREAMING] = "response";
      return handler;
    },
    HttpResponseStream: {
      from(stream, metadata) {
        stream.metadata = metadata;
        return stream;
      },
    },
  };
}

export function contextOf(said) {
  const until = Date.now() + (said.seconds ? said.seconds * 1000 : FAR);
  const id = randomUUID();
  const day = new Date().toISOString().slice(0, 10).replaceAll("-", "/");
  return {
    functionName: said.functionName,
    functionVersion: "$LATEST",
    invokedFunctionArn: said.resource ?? "",
    memoryLimitInMB: said.memory ? String(said.memory) : "",
    awsRequestId: id,
    requestId: id,
    logGroupName: `/aws/lambda/${said.functionName}`,
    logStreamName: `${day}/[$LATEST]${randomBytes(16).toString("hex")}`,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, until - Date.now()),
  };
}

export function byEvent(found, event, said) {
  const context = contextOf(said);
  return found[STREAMING] ? streamed(found, event, context) : settled(found, event, context);
}

function settled(handler, event, context) {
  let atTheEnd;
  const answered = new Promise((resolve, reject) => {
    const callback = (error, value) => (error ? reject(error) : resolve(value));
    Object.assign(context, { done: callback, fail: reject, succeed: resolve });
    const result = handler(event, context, callback);
    if (typeof result?.then === "function") result.then(resolve, reject);
    else if (handler.length < 3) resolve(result);
    // With a third parameter the answer comes through the callback, while there is anything to do.
    else process.once("beforeExit", (atTheEnd = () => resolve(result)));
  });
  // A child answers many calls.
  return answered.finally(() => atTheEnd && process.off("beforeExit", atTheEnd));
}

async function streamed(handler, event, context) {
  const stream = new PassThrough();
  const chunks = [];
  stream.setContentType = (type) => void (stream.contentType = type);
  stream.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
  const ended = new Promise((resolve, reject) => stream.once("end", resolve).once("error", reject));
  await handler(event, stream, context);
  await ended;
  const body = Buffer.concat(chunks);
  const { statusCode = 200, headers = {}, cookies = [] } = stream.metadata ?? {};
  if (!stream.metadata && !stream.contentType && !isHttp(event)) return body.toString();
  const said = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
  const type = stream.contentType ?? "application/octet-stream";
  const typed = said.some(([name]) => name === "content-type") ? said : [["content-type", type], ...said];
  return answerOf(statusCode, [...typed, ...cookies.map((one) => ["set-cookie", one])], body);
}

export function byRawEvent(found, event, said) {
  const http = isHttp(event) ? { ...event, queryParameters: queryOf(requestOf(event, said)) } : event;
  return settled(found, Buffer.from(JSON.stringify(http ?? null)), rawContextOf(said));
}

// The event as it is, and its text for a handler that parses it.
export function byReadableEvent(found, event, said) {
  if (typeof event === "object" && event !== null) {
    const value = () => JSON.stringify(event);
    Object.defineProperty(event, "toString", { value, enumerable: false, configurable: true, writable: true });
  }
  return settled(found, event, rawContextOf(said));
}

function rawContextOf(said) {
  const { functionName: name, memory = 0, seconds: timeout, region = "" } = said;
  const handler = `${said.module}.${said.name}`;
  const base = { credentials: {}, region, accountId: "", service: {}, tracing: {}, logger: console };
  return { ...contextOf(said), ...base, function: { name, handler, memory, timeout } };
}
