// Between events of http and requests: what came in, and answers in the one shape that they have.
import { Buffer } from "node:buffer";

const OF_THE_WIRE = new Set(["connection", "date", "keep-alive", "transfer-encoding", "set-cookie"]);

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isHttp(event) {
  if (!isObject(event)) return false;
  const said = event.requestContext?.http?.method ?? event.httpMethod;
  return typeof said === "string" || typeof event.rawPath === "string";
}

// Any event as a request: what is none of http is sent as JSON.
export function requestOf(event, { path = "/", host = "localhost" } = {}) {
  const request = isHttp(event) ? fromHttp(event) : posted(event, path);
  if (!request.headers.host) request.headers.host = host;
  if (request.body.length) request.headers["content-length"] = String(request.body.length);
  const { pathname, search } = new URL(`http://host${encoded(request.path)}`);
  const params = { ...matched(path, pathname), ...request.params };
  return { ...request, params, path: pathname, target: pathname + (request.search || search), host: request.headers.host };
}

function encoded(path) {
  const from = path.startsWith("/") ? path : `/${path}`;
  return from.replace(/[^\x21-\x7e]/gu, encodeURIComponent).replaceAll("?", "%3F").replaceAll("#", "%23");
}

function fromHttp(event) {
  const http = event.requestContext?.http ?? {};
  return {
    method: (http.method ?? event.httpMethod ?? "GET").toUpperCase(),
    path: event.rawPath ?? http.path ?? event.path ?? "/",
    search: searchOf(event),
    headers: headersOf(event),
    body: bodyOf(event),
    params: event.pathParameters ?? {},
    ip: http.sourceIp ?? event.requestContext?.identity?.sourceIp ?? "127.0.0.1",
  };
}

function posted(event, path) {
  const params = isObject(event) && isObject(event.pathParameters) ? event.pathParameters : {};
  const body = Buffer.from(JSON.stringify(event ?? null));
  const headers = { "content-type": "application/json" };
  return { method: "POST", path: filled(path, { ...event, ...params }), search: "", headers, body, params, ip: "127.0.0.1" };
}

function filled(path, values) {
  return path.replace(/\{([^{}+]+)(\+?)\}/g, (whole, name, rest) => {
    if (!(name in values)) return whole;
    const text = String(values[name]);
    return rest ? text.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(text);
  });
}

// What stands in a path for the names of a template such as /users/{id} or /files/{name+}.
function matched(template, path) {
  const names = [];
  const pattern = template.split(/(\{[^{}]+\})/).map((part) => {
    const name = /^\{([^{}+]+)(\+?)\}$/.exec(part);
    if (!name) return part.replace(/[.*+?^$()|[\]\\{}]/g, "\\$&");
    names.push(name[1]);
    return name[2] ? "(.+)" : "([^/]+)";
  });
  const found = new RegExp(`^${pattern.join("")}/?$`).exec(path);
  const pairs = found ? names.map((name, at) => [name, decoded(found[at + 1])]) : [];
  return Object.fromEntries(pairs.filter(([name, text]) => !text.startsWith(`{${name}`)));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function searchOf(event) {
  if (event.rawQueryString) return `?${event.rawQueryString}`;
  const pairs = Object.entries(event.multiValueQueryStringParameters ?? event.queryStringParameters ?? {});
  const flat = pairs.flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, String(one)]));
  return flat.length ? `?${new URLSearchParams(flat)}` : "";
}

function headersOf(event) {
  const given = Object.entries(event.headers ?? event.multiValueHeaders ?? {});
  const headers = Object.fromEntries(given.map(([name, value]) => [name.toLowerCase(), [value].flat().join(", ")]));
  if (Array.isArray(event.cookies) && event.cookies.length) headers.cookie ??= event.cookies.join("; ");
  // The body is given whole, whatever the length of another one was.
  delete headers["content-length"];
  delete headers["transfer-encoding"];
  return headers;
}

function bodyOf({ body, isBase64Encoded }) {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body !== "string") return Buffer.from(JSON.stringify(body));
  return Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
}

export function queryOf(request) {
  const query = {};
  for (const [name, value] of new URL(request.target, "http://host").searchParams) {
    query[name] = name in query ? [query[name], value].flat() : value;
  }
  return query;
}

// `headers` are pairs; text stays text, and all else is base64.
export function answerOf(statusCode, headers, bytes) {
  const cookies = headers.filter(([name]) => name === "set-cookie").map(([, value]) => value);
  const kept = headers.filter(([name]) => !OF_THE_WIRE.has(name));
  const isText = isUtf8(bytes) && !kept.some(([name]) => name === "content-encoding");
  return {
    statusCode,
    headers: Object.fromEntries(kept),
    ...(cookies.length ? { cookies } : {}),
    body: Buffer.from(bytes).toString(isText ? "utf8" : "base64"),
    isBase64Encoded: !isText,
  };
}

function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

// What a handler returned in place of a response: an object with a status, or the body itself.
export function answerOfValue(value) {
  const said = isObject(value) && !Buffer.isBuffer(value) ? value : { body: value };
  const status = said.statusCode ?? said.status;
  const given = status !== undefined || said.headers !== undefined || "body" in said ? said : { body: said };
  const headers = Object.entries(given.headers ?? {}).map(([name, one]) => [name.toLowerCase(), String(one)]);
  const cookies = (given.cookies ?? []).map((one) => ["set-cookie", typeof one === "string" ? one : `${one.name}=${one.value}`]);
  const isJson = !Buffer.isBuffer(given.body) && !(given.body instanceof Uint8Array) && typeof given.body === "object" && given.body !== null;
  if (isJson && !headers.some(([name]) => name === "content-type")) headers.push(["content-type", "application/json"]);
  const body = isJson ? JSON.stringify(given.body) : (given.body ?? "");
  const bytes = Buffer.isBuffer(body) || body instanceof Uint8Array ? body : Buffer.from(String(body), given.isBase64Encoded ? "base64" : "utf8");
  return answerOf(Number(status ?? 200), [...headers, ...cookies], bytes);
}
