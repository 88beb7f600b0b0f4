// Where nothing stands before a function that would answer pages of other origins.
import { answerHeaders, preflightHeaders } from "./serving_cors.mjs";

export function preflight({ rows }, req) {
  const open = preflightHeaders(rows, req.method, (name) => req.headers[name]);
  return open && { status: 204, headers: Object.entries(open), body: Buffer.alloc(0) };
}

// What the handler says of its own is told once; what its answer depends on adds up.
export function shared(answer, { cors }, origin) {
  if (!cors) return answer;
  const open = answerHeaders(cors, origin);
  const rest = answer.headers.filter(([name]) => name === "vary" || !(name in open));
  return { ...answer, headers: [...rest, ...Object.entries(open)] };
}
