// Between a Request and the event of version 2.0, and between a handler's answer and a Response.
import { Buffer } from "node:buffer";

const TEXTS = ["text/", "application/json", "application/xml", "application/javascript", "application/x-www-form-urlencoded"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const OF_THE_WIRE = new Set(["content-length", "transfer-encoding", "connection", "keep-alive"]);
const BODILESS = new Set([101, 204, 205, 304]);

// An answer that no host would pass on.
export class BadAnswer extends Error {}

// `found` is the route with the parameters of its path, or null.
export async function eventOf(request, found) {
  const url = new URL(request.url);
  const method = request.method;
  const routeKey = found ? `${found.route.method} ${found.route.path}` : "$default";
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((one) => one.trim()).filter(Boolean);
  const query = joined(url.searchParams);
  const rest = [...request.headers].filter(([name]) => name !== "cookie");
  return {
    version: "2.0",
    routeKey,
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    ...ifAny("cookies", cookies),
    headers: Object.fromEntries(rest),
    ...ifAny("queryStringParameters", query),
    ...ifAny("pathParameters", found?.parameters ?? {}),
    requestContext: contextOf(request, url, routeKey),
    ...bodyOf(Buffer.from(await request.arrayBuffer()), request.headers.get("content-type") ?? ""),
    httpMethod: method,
    path: url.pathname,
  };
}

function ifAny(name, value) {
  return Object.keys(value).length ? { [name]: value } : {};
}

function joined(pairs) {
  const found = {};
  for (const [name, value] of pairs) found[name] = name in found ? `${found[name]},${value}` : value;
  return found;
}

function contextOf(request, url, routeKey) {
  const at = new Date();
  return {
    accountId: "",
    apiId: "",
    domainName: url.host,
    domainPrefix: url.hostname.split(".")[0],
    http: {
      method: request.method,
      path: url.pathname,
      protocol: request.cf?.httpProtocol ?? "HTTP/1.1",
      sourceIp: request.headers.get("cf-connecting-ip") ?? "",
      userAgent: request.headers.get("user-agent") ?? "",
    },
    requestId: request.headers.get("cf-ray") ?? crypto.randomUUID(),
    routeKey,
    stage: "$default",
    time: spoken(at),
    timeEpoch: at.getTime(),
  };
}

function spoken(at) {
  const day = `${String(at.getUTCDate()).padStart(2, "0")}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}`;
  return `${day}:${at.toISOString().slice(11, 19)} +0000`;
}

// Text where its type says so and it is; all else as base64.
function bodyOf(bytes, type) {
  if (!bytes.length) return { isBase64Encoded: false };
  const kind = type.toLowerCase();
  if (!kind || TEXTS.some((one) => kind.startsWith(one)) || kind.includes("+json") || kind.includes("+xml")) {
    try {
      return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes), isBase64Encoded: false };
    } catch {
      // no text after all
    }
  }
  return { body: bytes.toString("base64"), isBase64Encoded: true };
}

// `{statusCode, headers, body, …}`, or any other value, which is the JSON of a 200.
export function responseOf(value) {
  if (value instanceof Response) return value;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const status = isObject ? (value.statusCode ?? (Number.isInteger(value.status) ? value.status : undefined)) : undefined;
  if (status === undefined) return Response.json(value ?? null);
  const headers = headersOf(value);
  const body = contentOf(value);
  if (!headers.has("content-type") && !BODILESS.has(Number(status))) headers.set("content-type", "text/plain; charset=utf-8");
  return new Response(BODILESS.has(Number(status)) ? null : body, { status: statusOf(status), headers });
}

function statusOf(said) {
  const number = typeof said === "string" && /^\d+$/.test(said) ? Number(said) : said;
  if (!Number.isInteger(number)) throw new BadAnswer(`its statusCode is ${JSON.stringify(said)}, which is not a number`);
  if (number < 200 || number > 599) throw new BadAnswer(`its statusCode is ${number}: answers have 200 to 599`);
  return number;
}

function headersOf(value) {
  const headers = new Headers();
  for (const part of [value.headers, value.multiValueHeaders])
    for (const [name, said] of Object.entries(part ?? {}))
      for (const one of [said].flat())
        if (one !== null && one !== undefined && !OF_THE_WIRE.has(name.toLowerCase())) headers.append(name, String(one));
  for (const one of value.cookies ?? []) headers.append("set-cookie", String(one));
  return headers;
}

function contentOf({ body, isBase64Encoded }) {
  if (body === undefined || body === null) return "";
  if (typeof body !== "string") throw new BadAnswer("its body is not text: convert it to JSON");
  return isBase64Encoded ? Buffer.from(body, "base64") : body;
}
