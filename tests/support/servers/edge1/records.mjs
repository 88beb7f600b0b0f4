// Plain records of a zone: one by one, or as a batch that is whole or not at all.
import { Buffer } from "node:buffer";

import { hex } from "./accounts.mjs";
import { no } from "./refusals.mjs";
import { ZONE_NAME } from "./zones.mjs";

const TYPES = ["A", "AAAA", "CNAME", "TXT"];
const AUTOMATIC = 1;
const LONGEST_COMMENT = 100;
const FILTERS = ["name", "type", "content", "comment"];

function checked(records, asked, own) {
  const { name, type, content, ttl = AUTOMATIC, proxied = false, comment = null } = asked;
  if (!TYPES.includes(type)) no(400, 9004, "type is not written here");
  if (typeof name !== "string" || !(name === ZONE_NAME || name.endsWith(`.${ZONE_NAME}`))) no(400, 9000, "DNS name is invalid.");
  if (type === "A" && !/^(\d{1,3}\.){3}\d{1,3}$/.test(content ?? "")) no(400, 9005, "Content for A record must be a valid IPv4 address."); // (docs)
  if (type === "CNAME" && !/^[a-z0-9_.-]+$/i.test(content ?? "")) no(400, 9007, "Content for CNAME record is invalid.");
  if (!content) no(400, 9000, "the content is missing");
  if (ttl !== AUTOMATIC && !(ttl >= 60 && ttl <= 86400)) no(400, 9021, "Invalid TTL. Must be between 60 and 86400 seconds, or 1 for Automatic.");
  if (Buffer.byteLength(comment ?? "") > LONGEST_COMMENT) no(400, 9313, "comment is longer than 100 characters");
  for (const one of records.values()) {
    if (one.id === own || one.name !== name) continue;
    if (one.type === type && one.content === content) no(400, 81058, "An identical record already exists."); // (docs)
    if ([one.type, type].includes("CNAME")) no(400, 81053, "An A, AAAA, or CNAME record with that host already exists."); // (docs)
  }
  // Behind the proxy the time to live is edge1's own.
  return { name, type, content, ttl: proxied ? AUTOMATIC : ttl, proxied, comment };
}

const thereIn = (records, id) => records.get(id) ?? no(404, 81044, "Record does not exist."); // (docs)

function put(records, asked, id) {
  records.set(id, { ...checked(records, asked, id), id });
  return records.get(id);
}

function remove(records, id) {
  records.delete(thereIn(records, id).id);
  return { id };
}

// Of each filter the plain form and `.exact` mean the same; `match=any` takes what one of them fits.
function listed({ account, query }) {
  const asked = FILTERS.map((key) => [key, query.get(key) ?? query.get(`${key}.exact`)]).filter(([, value]) => value !== null);
  const fits = (one) => ([key, value]) => one[key] === value;
  const isOne = (one) => (query.get("match") === "any" ? asked.some(fits(one)) : asked.every(fits(one)));
  return [...account.records.values()].filter(isOne);
}

// In this order; what is refused in the middle leaves everything as it was.
function batch({ account, json }) {
  const given = json();
  const records = new Map(account.records);
  const done = {
    deletes: (given.deletes ?? []).map((one) => remove(records, one.id)),
    patches: (given.patches ?? []).map((one) => put(records, { ...thereIn(records, one.id), ...one }, one.id)),
    puts: (given.puts ?? []).map((one) => put(records, one, thereIn(records, one.id).id)),
    posts: (given.posts ?? []).map((one) => put(records, one, hex())),
  };
  account.records = records;
  return done;
}

const PATH = "/zones/:zone/dns_records";

export const recordCalls = [
  ["GET", PATH, listed],
  ["POST", PATH, ({ account, json }) => put(account.records, json(), hex())],
  ["POST", `${PATH}/batch`, batch],
  ["GET", `${PATH}/:id`, ({ account, names }) => thereIn(account.records, names.id)],
  ["PUT", `${PATH}/:id`, ({ account, names, json }) => put(account.records, json(), thereIn(account.records, names.id).id)],
  ["PATCH", `${PATH}/:id`, ({ account, names, json }) => put(account.records, { ...thereIn(account.records, names.id), ...json() }, names.id)],
  ["DELETE", `${PATH}/:id`, ({ account, names }) => remove(account.records, names.id)],
];
