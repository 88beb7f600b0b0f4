// (context, req): the answer is `context.res`, what is given to `context.done`, or what is returned.
import { contextOf } from "./events.mjs";
import { HelpedRequest, prepare } from "./helpers.mjs";
import { answerOfValue, isHttp, requestOf } from "./http_events.mjs";

export async function byContextFirst(found, event, said) {
  const isWeb = isHttp(event) || !(said.kinds ?? []).length || said.kinds.includes("http");
  const input = isWeb ? asRequest(requestOf(event, said)) : event;
  const outcome = deferred();
  const context = make(input, said, outcome, isWeb);
  const handler = typeof found === "function" ? found : (found.run ?? found.index).bind(found);
  const result = handler(context, input);
  if (typeof result?.then === "function") result.then(outcome.resolve, outcome.reject);
  else if (result !== undefined) outcome.resolve(result);
  const value = await outcome.promise;
  return isWeb ? answerOfValue(value ?? answerIn(context)) : (value ?? context.bindings.$return ?? null);
}

function answerIn({ res }) {
  // `status` is a call where nobody put a number in its place.
  const statusCode = res.statusCode ?? (typeof res.status === "function" ? undefined : res.status);
  return { statusCode, headers: res.headers, body: res.body, cookies: res.cookies };
}

function deferred() {
  const found = {};
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
  return found;
}

function make(input, said, outcome, isWeb) {
  const { functionName, awsRequestId: invocationId } = contextOf(said);
  const log = Object.assign((...words) => console.log(...words), { error: console.error, warn: console.warn, info: console.info, verbose: console.log });
  return {
    invocationId,
    executionContext: { functionName, invocationId, functionDirectory: process.cwd() },
    bindingData: { ...(isWeb ? input.params : {}), invocationId },
    bindings: { [isWeb ? "req" : "item"]: input },
    log,
    done: (error, value) => (error ? outcome.reject(error) : outcome.resolve(value)),
    req: isWeb ? input : undefined,
    res: responseFor(outcome),
  };
}

function responseFor(outcome) {
  const res = { headers: {}, cookies: [] };
  const set = (name, value) => ((res.headers[name.toLowerCase()] = value), res);
  const send = (body) => ((res.body = body ?? res.body), outcome.resolve(undefined), res);
  const status = (code) => ((res.statusCode = code), res);
  const own = { set, header: set, setHeader: set, type: (type) => set("content-type", type), send, end: send };
  const json = (body) => set("content-type", "application/json").send(body);
  // Not seen by those who look through the answer: `status` is both a call and a plain value.
  for (const [name, value] of Object.entries({ ...own, json, status })) {
    Object.defineProperty(res, name, { value, enumerable: false, writable: true });
  }
  return res;
}

function asRequest(request) {
  const req = { method: request.method, url: `https://${request.host}${request.target}`, originalUrl: request.target, headers: request.headers };
  prepare(req, request);
  return Object.assign(req, { get: HelpedRequest.prototype.get, header: HelpedRequest.prototype.header });
}
