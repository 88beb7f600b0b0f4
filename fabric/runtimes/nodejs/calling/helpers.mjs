// What (req, res) have beside Node's own: the part of Express that hosts of functions promise.
import { Buffer } from "node:buffer";
import { IncomingMessage, ServerResponse, STATUS_CODES } from "node:http";

import { queryOf } from "./http_events.mjs";

const TYPES = { html: "text/html; charset=utf-8", json: "application/json; charset=utf-8", text: "text/plain; charset=utf-8", txt: "text/plain; charset=utf-8", xml: "application/xml" };

export class HelpedRequest extends IncomingMessage {
  get(name) {
    const wanted = name.toLowerCase();
    return this.headers[wanted === "referrer" ? "referer" : wanted];
  }

  header(name) {
    return this.get(name);
  }

  is(type) {
    const said = (this.headers["content-type"] ?? "").split(";")[0].trim();
    return said !== "" && (said === type || said.endsWith(`/${type}`)) ? said : false;
  }
}

// What was read from the body and the query stays when a framework puts its prototype in place of
// ours; what it says itself (a path below where it is mounted) gives way to it.
export function prepare(req, request) {
  const ours = Object.create(Object.getPrototypeOf(req));
  for (const [name, make] of Object.entries(STAYING)) lazy(req, name, () => make(request));
  for (const [name, make] of Object.entries(GIVING_WAY)) lazy(ours, name, () => make(request));
  Object.setPrototypeOf(req, ours);
}

const STAYING = {
  query: queryOf,
  cookies: ({ headers }) => cookiesOf(headers.cookie ?? ""),
  body: parsedBody,
  rawBody: ({ body }) => body,
};
const GIVING_WAY = {
  params: ({ params }) => ({ ...params }),
  path: ({ path }) => path,
  originalUrl: ({ target }) => target,
  ip: ({ ip }) => ip,
  hostname: ({ host }) => host.replace(/:\d+$/, ""),
  protocol: ({ headers }) => headers["x-forwarded-proto"] ?? "http",
};

// Made when it is first read; assigning to it works as to any property.
function lazy(target, name, make) {
  function set(value) {
    Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true });
  }
  function get() {
    set.call(this, make());
    return this[name];
  }
  Object.defineProperty(target, name, { get, set, configurable: true, enumerable: true });
}

function cookiesOf(header) {
  const pairs = header.split(";").map((one) => one.trim().split("="));
  return Object.fromEntries(pairs.filter(([name]) => name).map(([name, ...rest]) => [name, decodeURIComponent(rest.join("="))]));
}

function parsedBody({ headers, body }) {
  const type = (headers["content-type"] ?? "").split(";")[0].trim().toLowerCase();
  if (!body.length) return type === "application/json" ? {} : undefined;
  if (type === "application/json" || type.endsWith("+json")) return asJson(body.toString());
  if (type === "application/x-www-form-urlencoded") return queryOf({ target: `/?${body}` });
  return type === "" || type.startsWith("text/") ? body.toString() : body;
}

function asJson(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw Object.assign(new SyntaxError(`invalid JSON in the request body: ${error.message}`), { status: 400, statusCode: 400 });
  }
}

export class HelpedResponse extends ServerResponse {
  status(code) {
    this.statusCode = code;
    return this;
  }

  sendStatus(code) {
    return this.status(code).type("text").send(STATUS_CODES[code] ?? String(code));
  }

  set(name, value) {
    const pairs = typeof name === "string" ? [[name, value]] : Object.entries(name);
    for (const [one, said] of pairs) this.setHeader(one, Array.isArray(said) ? said.map(String) : String(said));
    return this;
  }

  header(name, value) {
    return this.set(name, value);
  }

  get(name) {
    return this.getHeader(name);
  }

  append(name, value) {
    return this.set(name, [this.getHeader(name) ?? [], value].flat());
  }

  type(type) {
    return this.set("Content-Type", TYPES[type] ?? type);
  }

  contentType(type) {
    return this.type(type);
  }

  json(value) {
    this.hasHeader("Content-Type") || this.type("json");
    this.end(JSON.stringify(value));
    return this;
  }

  send(body) {
    if (Buffer.isBuffer(body) || body instanceof Uint8Array) {
      this.hasHeader("Content-Type") || this.type("application/octet-stream");
    } else if (typeof body !== "string" && body !== undefined && body !== null) {
      return this.json(body);
    } else if (typeof body === "string") {
      this.hasHeader("Content-Type") || this.type("html");
    }
    this.end(body ?? "");
    return this;
  }

  redirect(first, second) {
    const [code, url] = typeof first === "number" ? [first, second] : [second ?? 302, first];
    this.status(code).set("Location", url).end();
    return this;
  }

  location(url) {
    return this.set("Location", url);
  }

  cookie(name, value, options = {}) {
    const text = typeof value === "string" ? value : `j:${JSON.stringify(value)}`;
    return this.append("Set-Cookie", [`${name}=${encodeURIComponent(text)}`, ...attributes(options)].join("; "));
  }

  clearCookie(name, options = {}) {
    return this.cookie(name, "", { ...options, expires: new Date(1) });
  }
}

function* attributes({ maxAge, domain, path = "/", expires, httpOnly, secure, sameSite }) {
  if (maxAge !== undefined) yield `Max-Age=${Math.floor(maxAge / 1000)}`;
  if (domain) yield `Domain=${domain}`;
  yield `Path=${path}`;
  if (expires) yield `Expires=${expires.toUTCString()}`;
  if (httpOnly) yield "HttpOnly";
  if (secure) yield "Secure";
  if (sameSite) yield `SameSite=${sameSite === true ? "Strict" : sameSite}`;
}
