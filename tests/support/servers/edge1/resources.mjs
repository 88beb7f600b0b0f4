// What bindings name: KV namespaces, R2 buckets, D1 databases, and queues with their consumers.
// They stay when a Worker is deleted, as on the real account.
import crypto from "node:crypto";

import { hex, now } from "./accounts.mjs";
import { no } from "./refusals.mjs";
import { checkBody } from "./request_types.mjs";

function paged(call, rows, size) {
  const page = Number(call.query.get("page") ?? 1);
  const count = Math.min(Number(call.query.get("per_page") ?? size), size);
  return rows.slice((page - 1) * count, page * count);
}

function addNamespace(call) {
  const asked = call.json();
  checkBody("namespace_create.NamespaceCreateParams", asked);
  if ([...call.account.namespaces.values()].some((one) => one.title === asked.title)) no(400, 10014, "a namespace with this account ID and title already exists");
  const made = { id: hex(), title: asked.title, supports_url_encoding: true };
  call.account.namespaces.set(made.id, made);
  return made;
}

function addDatabase(call) {
  const asked = call.json();
  checkBody("database_create.DatabaseCreateParams", asked);
  if ([...call.account.databases.values()].some((one) => one.name === asked.name)) no(400, 7502, "A database with that name already exists");
  const made = { uuid: crypto.randomUUID(), name: asked.name, version: "production", created_at: now() };
  call.account.databases.set(made.uuid, made);
  return made;
}

function listDatabases(call) {
  const name = call.query.get("name");
  const rows = [...call.account.databases.values()].filter((one) => !name || one.name.includes(name));
  return paged(call, rows, 1000);
}

const place = (call, name) => `${call.headers["cf-r2-jurisdiction"] ?? "default"}/${name}`;

function addBucket(call) {
  const asked = call.json();
  checkBody("bucket_create.BucketCreateParams", asked);
  if (!/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(asked.name)) no(400, 10005, "The specified bucket name is not valid.");
  if (call.account.buckets.has(place(call, asked.name))) no(409, 10004, "The bucket you tried to create already exists, and you own it.");
  const made = { name: asked.name, creation_date: now(), jurisdiction: call.headers["cf-r2-jurisdiction"] ?? "default" };
  call.account.buckets.set(place(call, asked.name), made);
  return made;
}

function removeBucket(call) {
  const key = place(call, call.names.bucket);
  const found = call.account.buckets.get(key) ?? noBucket();
  if (found.isFull) no(409, 10008, "The bucket you tried to delete is not empty.");
  call.account.buckets.delete(key);
  return {};
}

const noBucket = () => no(404, 10006, "The specified bucket does not exist."); // (docs)

function addQueue(call) {
  const asked = call.json();
  checkBody("queue_create.QueueCreateParams", asked);
  if (queueNamed(call.account, asked.queue_name)) no(409, 11009, `Queue name '${asked.queue_name}' is already taken.`);
  const made = { queue_id: hex(), queue_name: asked.queue_name, created_on: now(), consumers: [] };
  call.account.queues.set(made.queue_id, made);
  return made;
}

export function queueNamed(account, name) {
  return [...account.queues.values()].find((one) => one.queue_name === name);
}

const queueOf = (call) => call.account.queues.get(call.names.queue) ?? no(404, 11000, "Queue not found.");

function checkConsumer(call, asked) {
  if (!call.account.scripts.has(asked.script_name)) no(400, 11001, `the Worker ${asked.script_name} does not exist`);
  const dead = asked.dead_letter_queue;
  if (dead && !queueNamed(call.account, dead)) no(400, 11002, `the queue ${dead} does not exist`);
}

function addConsumer(call) {
  const asked = call.json();
  checkBody("consumer_create.MqWorkerConsumerRequest", asked);
  const queue = queueOf(call);
  if (queue.consumers.length) no(409, 11004, "Queue already has a consumer.");
  checkConsumer(call, asked);
  const made = { consumer_id: hex(), created_on: now(), ...asked };
  queue.consumers.push(made);
  call.account.world?.change();
  return shown(made);
}

function setConsumer(call) {
  const asked = call.json();
  checkBody("consumer_update.MqWorkerConsumerRequest", asked);
  const found = consumerOf(call);
  checkConsumer(call, asked);
  Object.assign(found, { settings: {}, dead_letter_queue: undefined }, asked);
  call.account.world?.change();
  return shown(found);
}

// Answers name the Worker `script`, and requests name it `script_name`.
function shown({ script_name: script, ...rest }) {
  return { ...rest, script };
}

const consumerOf = (call) => queueOf(call).consumers.find((one) => one.consumer_id === call.names.consumer) ?? no(404, 11005, "Consumer not found.");

function removeConsumer(call) {
  const found = consumerOf(call);
  const queue = queueOf(call);
  queue.consumers = queue.consumers.filter((one) => one !== found);
  call.account.world?.change();
  return null;
}

function removed(table, name, refuse) {
  return (call) => {
    if (!call.account[table].delete(call.names[name])) refuse();
    return null;
  };
}

const ACCOUNT = "/accounts/:account";
const KV = `${ACCOUNT}/storage/kv/namespaces`;
const QUEUE = `${ACCOUNT}/queues/:queue`;

export const resourceCalls = [
  ["GET", KV, (call) => paged(call, [...call.account.namespaces.values()].sort((one, other) => (one.title < other.title ? -1 : 1)), 100)],
  ["POST", KV, addNamespace],
  ["DELETE", `${KV}/:namespace`, removed("namespaces", "namespace", () => no(404, 10013, "namespace not found"))],
  ["GET", `${ACCOUNT}/d1/database`, listDatabases],
  ["POST", `${ACCOUNT}/d1/database`, addDatabase],
  ["DELETE", `${ACCOUNT}/d1/database/:database`, removed("databases", "database", () => no(404, 7404, "The database could not be found"))],
  ["GET", `${ACCOUNT}/r2/buckets`, (call) => ({ buckets: [...call.account.buckets.values()] })],
  ["GET", `${ACCOUNT}/r2/buckets/:bucket`, (call) => call.account.buckets.get(place(call, call.names.bucket)) ?? noBucket()],
  ["POST", `${ACCOUNT}/r2/buckets`, addBucket],
  ["DELETE", `${ACCOUNT}/r2/buckets/:bucket`, removeBucket],
  ["GET", `${ACCOUNT}/queues`, (call) => paged(call, [...call.account.queues.values()].filter((one) => !call.query.get("name") || one.queue_name === call.query.get("name")), 100)],
  ["POST", `${ACCOUNT}/queues`, addQueue],
  ["DELETE", QUEUE, removed("queues", "queue", () => no(404, 11000, "Queue not found."))],
  ["GET", `${QUEUE}/consumers`, (call) => queueOf(call).consumers.map(shown)],
  ["POST", `${QUEUE}/consumers`, addConsumer],
  ["PUT", `${QUEUE}/consumers/:consumer`, setConsumer],
  ["DELETE", `${QUEUE}/consumers/:consumer`, removeConsumer],
];
