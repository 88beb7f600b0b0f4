// What is kept of calls: lines and ends, asked for by queries. Members and types are those of the
// official description; whatever it does not name is refused.
import { hex } from "./accounts.mjs";
import { no } from "./refusals.mjs";

const MEMBERS = new Set(["queryId", "timeframe", "parameters", "view", "limit", "offset", "offsetDirection", "dry", "granularity", "chartType", "ignoreSeries"]);
const PARAMETERS = new Set(["datasets", "filters", "filterCombination", "calculations", "groupBys", "limit"]);
const MOST = 2000;
const BUCKETS = 30;
const COMPARED = {
  eq: (value, given) => value === given,
  neq: (value, given) => value !== given,
  gte: (value, given) => value >= given,
  in: (value, given) => String(given).split(",").includes(String(value)),
  includes: (value, given) => String(value ?? "").includes(given),
  exists: (value) => value !== undefined,
};
const COUNTED = {
  count: (values) => values.length,
  median: (values) => nearest(values, 50),
  p95: (values) => nearest(values, 95),
};

// One call of a Worker has ended: `call` is `{outcome, logs, exceptions, wallTime, event}`.
export function noted(account, worker, version, call) {
  const ended = { scriptName: worker, scriptVersion: { id: version.id }, eventTimestamp: Date.now(), diagnosticsChannelEvents: [], truncated: false, id: hex(), ...call };
  const isKept = account.scripts.get(worker)?.observability?.enabled;
  if (isKept) account.events.push(...eventsOf(ended));
  return ended;
}

function eventsOf(call) {
  const { scriptName, scriptVersion, outcome, event, id: requestId, wallTime } = call;
  const workers = { scriptName, scriptVersion, outcome, requestId, eventType: event.request ? "fetch" : "cron", event };
  const base = { dataset: "cloudflare-workers" };
  const lines = call.logs.map((line, place) => {
    const message = line.message.map(String).join(" ");
    return { ...base, timestamp: line.timestamp, source: { level: line.level, message }, $workers: workers, $metadata: { id: `${requestId}${place}`, requestId, service: scriptName, level: line.level, message, type: "cf-worker" } };
  });
  const [failure] = call.exceptions;
  const title = event.request ? `${event.request.method} ${event.request.url}` : event.cron;
  const metadata = { id: requestId, requestId, service: scriptName, level: failure ? "error" : "info", message: failure?.message ?? title, trigger: title, type: "cf-worker-event", statusCode: event.response?.status, ...(failure ? { error: failure.message } : {}) };
  return [...lines, { ...base, timestamp: call.eventTimestamp, source: { ...failure }, $workers: { ...workers, wallTimeMs: wallTime, cpuTimeMs: wallTime }, $metadata: metadata }];
}

function query(call) {
  const asked = call.json();
  checkMembers(asked, MEMBERS, "the query");
  const { timeframe, parameters = {}, view = "events" } = asked;
  checkMembers(parameters, PARAMETERS, "parameters");
  if (typeof asked.queryId !== "string" || !asked.queryId) no(400, 10021, "queryId is missing");
  if (!Number.isInteger(timeframe?.from) || !Number.isInteger(timeframe?.to) || timeframe.from >= timeframe.to) no(400, 10021, "timeframe: from must be earlier than to, in whole milliseconds");
  if (asked.limit !== undefined && !(asked.limit >= 1 && asked.limit <= MOST)) no(400, 10021, `limit is between 1 and ${MOST}`);
  const rows = call.account.events.filter((row) => row.timestamp >= timeframe.from && row.timestamp < timeframe.to && holds(row, parameters)).sort((a, b) => b.timestamp - a.timestamp);
  const found = { run: { id: hex(), accountId: call.account.id, status: "COMPLETED", dry: Boolean(asked.dry), timeframe }, statistics: { elapsed: 0.01, rows_read: rows.length, bytes_read: 0 } };
  const views = { events: pageOf, calculations: countedOf, traces: tracesOf };
  if (!views[view]) no(501, 0, `the view ${view} is not written in this server`);
  return { ...found, ...views[view](rows, asked, parameters, call.account) };
}

function checkMembers(given, known, whose) {
  for (const name of Object.keys(given)) if (!known.has(name)) no(400, 10021, `${whose}: ${name} is not known`);
}

function holds(row, { filters = [], filterCombination = "and" }) {
  const test = (one) => (one.kind === "group" ? holds(row, one) : compared(row, one));
  return filterCombination.toLowerCase() === "or" ? filters.some(test) : filters.every(test);
}

function compared(row, { key, operation, type, value }) {
  const compare = COMPARED[operation] ?? no(400, 10021, `the operation ${operation} is not known`);
  if (value !== undefined && typeof value !== type) no(400, 10021, `${key}: the value is no ${type}`);
  return compare(valueAt(row, key), value);
}

function valueAt(row, key) {
  return key.split(".").reduce((found, name) => found?.[name], row);
}

function pageOf(rows, { limit = 50, offset }) {
  const from = offset ? rows.findIndex((row) => row.$metadata.id === offset) + 1 : 0;
  return { events: { count: rows.length, events: rows.slice(from, from + limit), fields: [], series: [] } };
}

function countedOf(rows, { timeframe, granularity = BUCKETS, limit = 10 }, { calculations = [], groupBys = [] }) {
  const grouped = (some) => groups(some, (row) => JSON.stringify(groupBys.map((one) => valueAt(row, one.value))));
  const result = (one, [key, some]) => ({ count: some.length, interval: 1, sampleInterval: 1, value: calculated(one, some), groups: groupBys.map((by, place) => ({ key: by.value, value: JSON.parse(key)[place] })) });
  const width = (timeframe.to - timeframe.from) / granularity;
  const series = (one) =>
    groups(rows, (row) => Math.floor((row.timestamp - timeframe.from) / width)).map(([place, some]) => ({
      time: new Date(timeframe.from + place * width).toISOString(),
      data: grouped(some).map((group) => result(one, group)),
    }));
  return { calculations: calculations.map((one) => ({ calculation: one.operator, ...(one.alias ? { alias: one.alias } : {}), aggregates: grouped(rows).slice(0, limit).map((group) => result(one, group)), series: series(one) })) };
}

function groups(rows, keyOf) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    found.set(key, [...(found.get(key) ?? []), row]);
  }
  return [...found];
}

function calculated({ operator, key }, rows) {
  const act = COUNTED[operator.toLowerCase()] ?? no(400, 10021, `the operator ${operator} is not known`);
  if (operator.toLowerCase() !== "count" && !key) no(400, 10021, `${operator} needs a key`);
  const values = key ? rows.map((row) => valueAt(row, key)).filter((one) => one !== undefined) : rows;
  return act(values.sort((a, b) => a - b));
}

function nearest(values, share) {
  return values[Math.max(Math.ceil((values.length * share) / 100), 1) - 1] ?? 0;
}

function tracesOf(rows, { limit = 50 }, _parameters, account) {
  const ids = new Set(rows.map((row) => row.$metadata.traceId).filter(Boolean));
  const traces = [...ids].slice(0, limit).map((traceId) => {
    const spans = account.events.filter((row) => row.$metadata.traceId === traceId);
    const root = spans.find((row) => !row.$metadata.parentSpanId) ?? spans[0];
    const begin = Math.min(...spans.map((row) => row.$metadata.startTime));
    const end = Math.max(...spans.map((row) => row.$metadata.endTime));
    const errors = spans.map((row) => row.$metadata.error).filter(Boolean);
    return { traceId, rootSpanName: root.$metadata.spanName, rootTransactionName: root.$metadata.transactionName ?? "", service: [...new Set(spans.map((row) => row.$metadata.service))], spans: spans.length, traceStartMs: begin, traceEndMs: end, traceDurationMs: end - begin, ...(errors.length ? { errors } : {}) };
  });
  return { traces };
}

export const telemetryCalls = [["POST", "/accounts/:account/workers/observability/telemetry/query", query]];
