"use strict";
// Http events of both versions, as one kind of request.

// These are about one connection, and the body comes whole whatever its way here was.
const OF_THE_CONNECTION = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const SHOWN_KEYS = 8;

class NotHttpEventError extends TypeError {
  constructor(event) {
    super(`${described(event)} is not an HTTP event: set onEvent to handle other events`);
    this.name = "NotHttpEventError";
  }
}

function described(event) {
  if (!isObject(event)) return `an event that is ${event === null ? "null" : `of type ${typeof event}`}`;
  const source = event.Records?.[0]?.eventSource ?? event.source;
  if (typeof source === "string") return `an event of ${source}`;
  return `an event with the keys ${Object.keys(event).slice(0, SHOWN_KEYS).join(", ") || "(none)"}`;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isHttp(event) {
  if (!isObject(event)) return false;
  const method = event.requestContext?.http?.method ?? event.httpMethod;
  return typeof method === "string" || typeof event.rawPath === "string";
}

// Version 2.0 may have the older names besides.
function isOfVersionTwo(event) {
  return event.version === "2.0" || isObject(event.requestContext?.http) || typeof event.rawPath === "string";
}

function requestOf(event, basePath) {
  const http = event.requestContext?.http ?? {};
  const identity = event.requestContext?.identity ?? {};
  const headers = headersOf(event);
  return {
    method: (http.method ?? event.httpMethod ?? "GET").toUpperCase(),
    target: below(basePath, encoded(String(event.rawPath ?? http.path ?? event.path ?? "/"))) + searchOf(event),
    headers,
    body: bodyOf(event),
    address: String(http.sourceIp ?? identity.sourceIp ?? "127.0.0.1"),
    isSecure: /^https\b/i.test(headers["x-forwarded-proto"] ?? ""),
  };
}

// Paths come decoded from some gateways: what cannot stand in a request line is encoded again.
function encoded(path) {
  const whole = path.startsWith("/") ? path : `/${path}`;
  return whole.replace(/[^\x21-\x7e]|[?#]/gu, percent);
}

function percent(character) {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}

function below(basePath, path) {
  if (!basePath || path === basePath) return basePath ? "/" : path;
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
}

function searchOf(event) {
  if (event.rawQueryString) return `?${encodedQuery(event.rawQueryString)}`;
  const values = { ...event.queryStringParameters, ...event.multiValueQueryStringParameters };
  const pairs = Object.entries(values).flatMap(([name, value]) => listOf(value).map((one) => [name, one]));
  return pairs.length ? `?${new URLSearchParams(pairs)}` : "";
}

function encodedQuery(query) {
  return query.replace(/[^\x21-\x7e]|#/gu, percent);
}

function listOf(value) {
  return (Array.isArray(value) ? value : [value]).filter((one) => one !== undefined && one !== null).map(String);
}

// Text for one value, a list for more.
function headersOf(event) {
  const cookies = listOf(event.cookies);
  const given = Object.entries({ ...lowerCased(event.headers), ...lowerCased(event.multiValueHeaders) });
  const kept = given.filter(([name, values]) => values.length && !OF_THE_CONNECTION.has(name));
  const headers = Object.fromEntries(kept.map(([name, values]) => [name, oneOrMore(name, values.map(ofBytes))]));
  if (cookies.length) headers.cookie ??= ofBytes(cookies.join("; "));
  headers.host ??= event.requestContext?.domainName || "localhost";
  return headers;
}

function lowerCased(headers) {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), listOf(value)]));
}

function oneOrMore(name, values) {
  if (name === "cookie") return values.join("; ");
  if (name === "host" || name === "x-forwarded-proto") return values.at(-1);
  return values.length === 1 ? values[0] : values;
}

// A header is bytes: text beyond them stands there as its UTF-8, as clients send it.
function ofBytes(value) {
  return /[^\x00-\xff]/.test(value) ? Buffer.from(value).toString("latin1") : value;
}

function bodyOf({ body, isBase64Encoded }) {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body !== "string") return Buffer.from(JSON.stringify(body));
  return Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
}

module.exports = { isHttp, isOfVersionTwo, NotHttpEventError, requestOf };
