// One function as a Worker: its handler is called with the events that every provider gives, or as
// the Worker that it is itself.
import { BadAnswer, eventOf, responseOf } from "./http.mjs";
import { routeTable } from "./routes.mjs";

const METHODS = ["fetch", "scheduled", "queue", "email", "tail", "trace"];
// Without a timeout of its own a function goes on for as long as somebody waits.
const FAR = 15 * 60 * 1000;

class LateError extends Error {}

// `said` is `{function, name, routes, timeout}`.
export function worker(module, said) {
  const found = handlerOf(module, said.name);
  if (isWorker(found)) return ownMethods(found);
  if (typeof found !== "function") throw new TypeError(`the module of ${said.function} does not export the function ${said.name}`);
  const table = routeTable(said.routes);
  return {
    fetch: (request, env) => answered(found, { ...said, env }, table, request),
    scheduled: (controller, env) => timed(found, { ...said, env }, controller),
    queue: (batch, env) => delivered(found, { ...said, env }, batch),
  };
}

// A class of Durable Objects, by its name.
export function classOf(module, name) {
  const found = handlerOf(module, name);
  if (typeof found !== "function") throw new TypeError(`the module does not export the class ${name}`);
  return found;
}

// A CommonJS module comes as its default export: its own names count as well.
function handlerOf(module, name) {
  const whole = module.default;
  const isModule = whole !== null && ["object", "function"].includes(typeof whole);
  const all = { ...(isModule ? whole : {}), ...module, ...(isModule && whole.__esModule ? { default: whole.default } : {}) };
  return all[name] ?? (name === "handler" ? all.default : undefined);
}

function isWorker(found) {
  return typeof found === "object" && found !== null && METHODS.some((name) => typeof found[name] === "function");
}

function ownMethods(found) {
  const there = METHODS.filter((name) => typeof found[name] === "function");
  return Object.fromEntries(there.map((name) => [name, found[name].bind(found)]));
}

async function answered(found, said, table, request) {
  try {
    const { pathname } = new URL(request.url);
    const event = await eventOf(request, table.find(request.method, pathname));
    return responseOf(await called(found, said, event));
  } catch (error) {
    console.error(error?.stack ?? String(error));
    const [status, message] = refusal(error);
    return Response.json({ message }, { status });
  }
}

function refusal(error) {
  if (error instanceof LateError) return [504, "Gateway Timeout"];
  return error instanceof BadAnswer ? [502, "Bad Gateway"] : [500, "Internal Server Error"];
}

async function timed(found, said, controller) {
  const event = {
    version: "0",
    id: crypto.randomUUID(),
    "detail-type": "Scheduled Event",
    source: "aws.events",
    account: "",
    time: new Date(controller.scheduledTime).toISOString().replace(/\.\d+Z$/, "Z"),
    region: "",
    resources: [controller.cron],
    detail: {},
  };
  try {
    await called(found, said, event);
  } catch (error) {
    console.error(error?.stack ?? String(error));
    throw error;
  }
}

// A batch of a queue is one event of records. Messages that the handler reports are retried alone.
async function delivered(found, said, batch) {
  const records = batch.messages.map((one) => recordOf(batch.queue, one));
  let answer;
  try {
    answer = await called(found, said, { Records: records });
  } catch (error) {
    console.error(error?.stack ?? String(error));
    throw error;
  }
  if (!said.reporting?.includes(batch.queue)) return;
  const failed = new Set((answer?.batchItemFailures ?? []).map((one) => one.itemIdentifier));
  for (const one of batch.messages) if (failed.has(one.id)) one.retry();
}

function recordOf(queue, message) {
  const { id, body, attempts, timestamp } = message;
  const attributes = { ApproximateReceiveCount: String(attempts), SentTimestamp: String(timestamp.getTime()) };
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { messageId: id, receiptHandle: id, body: text, attributes, messageAttributes: {}, eventSource: "aws:sqs", eventSourceARN: queue, awsRegion: "" };
}

// The answer is what is returned, what a promise of it gives, or what the callback is given.
function called(found, said, event) {
  return new Promise((resolve, reject) => {
    const end = (settle) => (value) => (clearTimeout(late), settle(value));
    const late = said.timeout && setTimeout(() => reject(new LateError(`timeout: no response within ${said.timeout} s`)), said.timeout * 1000);
    const [good, bad] = [end(resolve), end(reject)];
    const callback = (error, value) => (error ? bad(error) : good(value));
    const context = contextOf(said, callback, bad, good);
    // A function that is no promise and throws at once rejects this one.
    new Promise((begun) => begun(waitless(found, event, context, callback))).then(
      (result) => (result === WAITS ? undefined : good(result)),
      bad,
    );
  });
}

const WAITS = Symbol("the callback is waited for");

function waitless(found, event, context, callback) {
  const result = found(event, context, callback);
  return typeof result?.then !== "function" && found.length >= 3 && result === undefined ? WAITS : result;
}

function contextOf(said, done, fail, succeed) {
  const until = Date.now() + (said.timeout ? said.timeout * 1000 : FAR);
  const id = crypto.randomUUID();
  return {
    functionName: said.function,
    functionVersion: "$LATEST",
    invokedFunctionArn: "",
    memoryLimitInMB: "128",
    env: said.env,
    awsRequestId: id,
    requestId: id,
    logGroupName: "",
    logStreamName: "",
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, until - Date.now()),
    done,
    fail,
    succeed,
  };
}
