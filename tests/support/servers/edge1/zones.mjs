// Routes of a zone: which Worker is met at which host name.
import { hex } from "./accounts.mjs";
import { no } from "./refusals.mjs";

export const ZONE_NAME = "example.test";

function checked(account, asked, own) {
  if (!/^(https?:\/\/)?[^/]+\/.*$/.test(asked.pattern ?? "")) no(400, 10022, "invalid route pattern");
  if (!hostIn(asked.pattern).endsWith(ZONE_NAME)) no(400, 10023, "the pattern is not in this zone");
  for (const one of account.routes.values()) if (one.id !== own && one.pattern === asked.pattern) no(409, 10020, "workers.api.error.duplicate_route");
  if (asked.script && !account.scripts.has(asked.script)) no(404, 10019, "workers.api.error.script_not_found");
  return { pattern: asked.pattern, script: asked.script };
}

function hostIn(pattern) {
  return pattern.replace(/^https?:\/\//, "").split("/")[0];
}

function add({ account, json }) {
  const made = { id: hex(), ...checked(account, json()) };
  account.routes.set(made.id, made);
  return made;
}

function remove({ account, names }) {
  return account.routes.delete(names.route) ? { id: names.route } : no(404, 10018, "route not found");
}

export function scriptAt(account, host, path) {
  const found = [...account.routes.values()].filter(({ pattern }) => {
    const text = pattern.replace(/^https?:\/\//, "").replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*");
    return new RegExp(`^${text}$`).test(host + path);
  });
  const best = found.sort((one, other) => other.pattern.length - one.pattern.length)[0];
  return best?.script ? account.scripts.get(best.script) : null;
}

const ROUTES = "/zones/:zone/workers/routes";

export const zoneCalls = [
  ["GET", ROUTES, ({ account }) => [...account.routes.values()]],
  ["POST", ROUTES, add],
  ["DELETE", `${ROUTES}/:route`, remove],
];
