// What is answered whoever serves a handler: in time, or with the words for what went wrong.
import { answerOf, BadAnswer } from "./serving_http.mjs";

const JSON_TYPE = [["content-type", "application/json"]];

export function message(status, text, headers = []) {
  return { status, headers: [...JSON_TYPE, ...headers], body: Buffer.from(JSON.stringify({ message: text })) };
}

export function unrouted({ allowed }) {
  return allowed.length ? message(405, "Method Not Allowed", [["allow", allowed.join(", ")]]) : message(404, "Not Found");
}

export async function timed(calling, seconds) {
  if (!seconds) return answerOf(await calling);
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000, message(504, "Gateway Timeout"))));
  const answer = calling.then(answerOf);
  answer.catch(() => {});
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

// Whoever looks after the function is told, users are not.
export function failed(error) {
  console.error(error?.stack ?? error);
  return error instanceof BadAnswer ? message(502, "Bad Gateway") : message(500, "Internal Server Error");
}

export function sent(req, res, { status, headers, body }, more = {}) {
  const grouped = {};
  for (const [name, value] of headers) grouped[name] = name in grouped ? [grouped[name], value].flat() : value;
  const hasBody = status !== 204 && status !== 304;
  try {
    res.writeHead(status, { ...grouped, ...(hasBody ? { "content-length": body.length } : {}), ...more });
  } catch (error) {
    console.error(error?.stack ?? error);
    return res.writeHead(502).end();
  }
  res.end(hasBody && req.method !== "HEAD" ? body : undefined);
}
