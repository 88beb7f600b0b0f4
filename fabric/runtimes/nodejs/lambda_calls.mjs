// Calls with (event, context) as AWS Lambda makes them: its context, and when a call ends.
//
// An async handler ends with its promise. Any other one ends once nothing is left to wait for, with
// the value that the callback got; `callbackWaitsForEmptyEventLoop = false` ends it at the callback.
import { randomBytes } from "node:crypto";

import { contextOf } from "./calling/events.mjs";

const STREAMING = Symbol.for("aws.lambda.runtime.handler.streaming");
const hex = (bytes) => randomBytes(bytes).toString("hex");

function lambdaContext(said) {
  const { requestId: _, ...context } = contextOf(said);
  return { ...context, logStreamName: said.logStream || context.logStreamName, clientContext: undefined, identity: undefined };
}

function setTrace() {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  process.env._X_AMZN_TRACE_ID = `Root=1-${seconds}-${hex(12)};Parent=${hex(8)};Sampled=0`;
}

// Wraps a handler. `ignored` is called if the handler returns a value that AWS Lambda does not read.
export function asLambda(found, said, ignored) {
  if (found[STREAMING]) {
    const streamed = (event, stream) => (setTrace(), found(event, stream, lambdaContext(said)));
    return Object.assign(streamed, { [STREAMING]: found[STREAMING] });
  }
  return (event) => (setTrace(), settled(found, event, lambdaContext(said), ignored));
}

function settled(handler, event, context, ignored) {
  let atTheEnd;
  const answered = new Promise((resolve, reject) => {
    const endWith = (value) => {
      if (atTheEnd) process.off("beforeExit", atTheEnd);
      process.once("beforeExit", (atTheEnd = () => resolve(value)));
    };
    const callback = (error, value) => {
      if (error) reject(error);
      else if (context.callbackWaitsForEmptyEventLoop) endWith(value);
      else resolve(value);
    };
    Object.assign(context, { done: callback, fail: (error) => callback(error ?? new Error("failed")), succeed: (value) => callback(null, value) });
    const result = handler(event, context, callback);
    if (typeof result?.then === "function") result.then(resolve, reject);
    else if (result === undefined) atTheEnd ?? endWith(null);
    else {
      ignored();
      resolve(result);
    }
  });
  // A child answers many calls.
  return answered.finally(() => atTheEnd && process.off("beforeExit", atTheEnd));
}
