// One object of parameters, with what is known of the request in it.
import { contextOf } from "./events.mjs";
import { answerOfValue, isHttp, queryOf, requestOf } from "./http_events.mjs";

export async function byArguments(found, event, said) {
  if (!isHttp(event)) return found(checked(event));
  const request = requestOf(event, said);
  const { parameters, body } = parametersOf(request);
  const known = { __ow_method: request.method.toLowerCase(), __ow_headers: request.headers, __ow_path: request.path };
  const unread = body === undefined ? {} : { __ow_body: body };
  return answerOfValue((await found({ ...parameters, ...unread, ...known })) ?? NOTHING);
}

export async function byHttpArguments(found, event, said) {
  const context = { ...contextOf(said), activationId: "", namespace: "", apiHost: "", apiKey: "" };
  context.activationId = context.requestId;
  context.deadline = Date.now() + context.getRemainingTimeInMillis();
  if (!isHttp(event)) return found(checked(event), context);
  const { method, path, headers, target } = requestOf(event, said);
  const { parameters, body } = parametersOf(requestOf(event, said));
  const [, queryString = ""] = target.split("?");
  const http = { method, path, headers, queryString, ...(body === undefined ? {} : { body, isBase64Encoded: false }) };
  return answerOfValue((await found({ ...parameters, http }, context)) ?? NOTHING);
}

const NOTHING = { statusCode: 204, body: "" };

// The query and an object of JSON or of a form are parameters; any other body stays as it is.
function parametersOf(request) {
  const query = queryOf(request);
  const type = (request.headers["content-type"] ?? "").split(";")[0];
  const text = request.body.toString();
  if (type === "application/x-www-form-urlencoded") return { parameters: { ...query, ...queryOf({ target: `/?${text}` }) } };
  const document = type === "application/json" && text ? JSON.parse(text) : undefined;
  const isObject = typeof document === "object" && document !== null && !Array.isArray(document);
  if (isObject) return { parameters: { ...query, ...document } };
  return { parameters: query, body: text || undefined };
}

function checked(event) {
  if (event === null || event === undefined) return {};
  if (typeof event !== "object" || Array.isArray(event)) throw new TypeError("parameters must be an object: invalid payload");
  return event;
}
