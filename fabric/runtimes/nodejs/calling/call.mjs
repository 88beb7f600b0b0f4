// One call of a handler that was loaded: what it is given, and its answer as a value of JSON.
import { byArguments, byHttpArguments } from "./arguments.mjs";
import { conventionOf, load } from "./choose.mjs";
import { byCloudEvent } from "./cloud_events.mjs";
import { byContextFirst } from "./context_first.mjs";
import { byEvent, byRawEvent, byReadableEvent, offerStreaming } from "./events.mjs";
import { byRequestResponse } from "./listener.mjs";
import { byMethod, byWeb } from "./web.mjs";
import { byWorker } from "./worker.mjs";

const CALLS = {
  arguments: byArguments,
  "cloud-event": byCloudEvent,
  "context-first": byContextFirst,
  event: byEvent,
  "http-arguments": byHttpArguments,
  "raw-event": byRawEvent,
  "readable-event": byReadableEvent,
  "request-response": byRequestResponse,
  web: byWeb,
  worker: byWorker,
};

// `said` is what fabric says of the function: see `runtimes/invoke.py`.
export async function prepare(said) {
  if (said.workers) {
    const { connect } = await import("./remote.mjs");
    return { ...(await connect(said)), convention: "worker", said };
  }
  if (said.streams) offerStreaming();
  const handler = await load(said);
  return { ...handler, convention: conventionOf(handler, said.convention ?? "event"), said };
}

export async function call({ found, exports, convention, said }, event) {
  const answer = convention === "methods" ? byMethod(exports, event, said) : CALLS[convention](found, event, said);
  return checked((await answer) ?? null);
}

function checked(answer) {
  if (["function", "symbol"].includes(typeof answer)) throw new TypeError(`the return value is a ${typeof answer}, which is not JSON`);
  return answer;
}
