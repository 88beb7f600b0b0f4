// Between a server's requests and answers, and the events and answers of functions (version 2.0).
import { randomUUID } from "node:crypto";

const TEXTS = ["text/", "application/json", "application/xml", "application/javascript", "application/x-www-form-urlencoded"];
const OURS = new Set(["content-length", "transfer-encoding", "connection", "keep-alive"]);

export class BadAnswer extends Error {}

export function eventOf(req, body, { key, pathParameters }) {
  const [path, query] = split(req.url);
  const { cookie, ...headers } = joined(pairsOf(req.rawHeaders).map(([name, value]) => [name.toLowerCase(), value]));
  const cookies = (req.headers.cookie ?? "").split(";").map((one) => one.trim()).filter(Boolean);
  const found = joined([...new URLSearchParams(query)]);
  const now = new Date();
  return {
    version: "2.0",
    routeKey: key,
    rawPath: path,
    rawQueryString: query,
    ...(cookies.length ? { cookies } : {}),
    headers,
    ...(Object.keys(found).length ? { queryStringParameters: found } : {}),
    ...(Object.keys(pathParameters).length ? { pathParameters } : {}),
    requestContext: contextOf(req, { path, key, now }),
    ...bodyOf(body, req.headers["content-type"] ?? ""),
    httpMethod: req.method,
    path,
  };
}

export function split(url) {
  const at = url.indexOf("?");
  return at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
}

function contextOf(req, { path, key, now }) {
  const host = req.headers.host ?? "";
  const sourceIp = (req.headers["x-forwarded-for"] ?? "").split(",")[0].trim() || req.socket.remoteAddress || "";
  const userAgent = req.headers["user-agent"] ?? "";
  return {
    accountId: "",
    apiId: "",
    domainName: host,
    domainPrefix: host.split(/[.:]/)[0],
    http: { method: req.method, path, protocol: `HTTP/${req.httpVersion}`, sourceIp, userAgent },
    requestId: req.headers["x-request-id"] ?? randomUUID(),
    routeKey: key,
    stage: "$default",
    time: spoken(now),
    timeEpoch: now.getTime(),
  };
}

function spoken(now) {
  const [, day, month, year, time] = now.toUTCString().split(" ");
  return `${day}/${month}/${year}:${time} +0000`;
}

function pairsOf(raw) {
  return raw.flatMap((name, at) => (at % 2 ? [] : [[name, raw[at + 1]]]));
}

function joined(pairs) {
  const found = {};
  for (const [name, value] of pairs) found[name] = Object.hasOwn(found, name) ? `${found[name]},${value}` : value;
  return found;
}

// Text where its type says so and it is; all else as base64.
function bodyOf(body, type) {
  if (!body.length) return { isBase64Encoded: false };
  const kind = type.toLowerCase();
  if (!kind || TEXTS.some((one) => kind.startsWith(one)) || kind.includes("+json") || kind.includes("+xml")) {
    try {
      return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body), isBase64Encoded: false };
    } catch {}
  }
  return { body: body.toString("base64"), isBase64Encoded: true };
}

// `{statusCode, headers, body, …}`, or any other value, which is the JSON of a 200.
export function answerOf(response) {
  const isObject = typeof response === "object" && response !== null && !Array.isArray(response);
  const status = isObject ? (response.statusCode ?? (typeof response.status === "number" ? response.status : undefined)) : undefined;
  if (status === undefined) return { status: 200, headers: [["content-type", "application/json"]], body: Buffer.from(JSON.stringify(response ?? null)) };
  const headers = [...headersOf(response), ...(response.cookies ?? []).map((one) => ["set-cookie", String(one)])];
  if (!headers.some(([name]) => name === "content-type")) headers.unshift(["content-type", "text/plain; charset=utf-8"]);
  return { status: statusOf(status), headers, body: bytesOf(response) };
}

function statusOf(status) {
  const number = Number(status);
  if (!Number.isInteger(number) || number < 200 || number > 599) throw new BadAnswer(`its statusCode is ${JSON.stringify(status)}: answers have 200 to 599`);
  return number;
}

function bytesOf({ body, isBase64Encoded }) {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body !== "string") throw new BadAnswer("its body is not text: convert it to JSON");
  return Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
}

function headersOf({ headers, multiValueHeaders }) {
  return [headers, multiValueHeaders]
    .flatMap((part) => Object.entries(part ?? {}))
    .flatMap(([name, value]) => [value].flat().map((one) => [name.toLowerCase(), one]))
    .filter(([name, value]) => value !== null && value !== undefined && !OURS.has(name))
    .map(([name, value]) => [name, String(value)]);
}
