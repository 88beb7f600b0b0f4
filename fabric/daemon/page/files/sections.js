// The parts of the page that tell how a stage stands.
import { address, copyButton, empty, make, prose, row, table } from "./elements.js";
import { STATUSES, moment, plural, took } from "./words.js";

export function problemItem(problem) {
  const { where } = problem;
  const place = where ? `${where.file}${where.line ? `:${where.line}` : ""}${where.column ? `:${where.column}` : ""}` : "";
  return make("li", {},
    make("p", { class: "message" }, ...prose(problem.message)),
    problem.hint ? make("p", { class: "hint" }, ...prose(problem.hint)) : null,
    make("p", { class: "quiet small" }, place ? make("code", {}, place) : "", place ? " · " : "", make("code", {}, problem.code)));
}

export function live(status) {
  if (!status.live.length) {
    return [empty(`No deployments in ${status.stage} yet. After a deploy, the URLs appear here.`)];
  }
  return status.live.flatMap((one) => [
    make("p", { class: "chips" }, make("span", { class: "chip" }, one.provider),
      make("span", { class: `chip ${one.mode}` }, one.mode),
      one.lifecycle === "deployed" ? null : make("span", { class: "chip bad" }, one.lifecycle)),
    make("dl", {}, ...facts(one)),
    functions(one),
  ]);
}

function facts(one) {
  const outputs = Object.entries(one.outputs).filter(([, value]) => value !== one.endpoint);
  const pairs = [
    one.endpoint ? ["endpoint", one.endpoint, true] : null,
    ...outputs.map(([name, value]) => [name, value, true]),
    ["deployment", one.deploymentId, false],
  ].filter(Boolean);
  return [
    ...pairs.flatMap(([name, value, copied]) => [
      make("dt", {}, name),
      make("dd", {}, address(value), copied ? copyButton(value, name) : ""),
    ]),
    make("dt", {}, "deployed"), make("dd", {}, moment(one.updatedAt)),
  ];
}

function functions(one) {
  const items = one.functions.map((each) =>
    make("li", {}, make("strong", {}, each.name), " ",
      each.endpoint && each.endpoint !== one.endpoint ? address(each.endpoint) : ""));
  return make("details", {}, make("summary", {}, plural(items.length, "function")), make("ul", { class: "bare" }, ...items));
}

export function changes(status) {
  if (!status.plan) return [empty("No plan available: see the problems above.")];
  const changed = status.plan.services.flatMap((service) =>
    service.functions.filter((one) => one.change !== "none").map((one) => ({ ...one, service })));
  if (!changed.length) {
    return [empty(status.live.length ? "No changes: everything is up to date." : "No changes: the config has no functions.")];
  }
  return [make("ul", { class: "changes" }, ...changed.map(change))];
}

function change(one) {
  const triggers = one.triggers.map(triggerWords).filter(Boolean).join(", ");
  return make("li", {},
    make("span", { class: `verb ${one.change}` }, one.change), " ",
    make("strong", {}, one.name), triggers ? make("span", { class: "quiet" }, ` ${triggers}`) : "",
    fields(one.fields));
}

function triggerWords(trigger) {
  const rest = trigger.path || trigger.schedule || trigger.queue || trigger.bucket || trigger.topic || "";
  return [trigger.method || trigger.type, rest].filter(Boolean).join(" ");
}

function fields(found) {
  const pairs = Object.entries(found);
  if (!pairs.length) return null;
  return make("dl", { class: "fields" }, ...pairs.flatMap(([name, [old, now]]) => [
    make("dt", {}, name),
    make("dd", {}, make("del", {}, said(old)), " → ", make("ins", {}, said(now))),
  ]));
}

const said = (value) =>
  (value === null || value === "" ? "(none)" : typeof value === "string" ? value : JSON.stringify(value));

export function releases(status) {
  if (!status.releases.length) return [empty("No releases yet. A deploy with changes creates a release.")];
  const rows = status.releases.map((one) => row([
    make("code", {}, one.deploymentId),
    one.current ? make("span", { class: "chip good" }, "current") : "",
    took(one.ms), moment(one.updatedAt),
  ]));
  return [table("Releases", ["Deployment", "", "Duration", "When"], rows)];
}

export function runs(found, open) {
  if (!found.length) return [empty("No runs yet. Deploys and removals from this page or the API appear here.")];
  const rows = found.map((one) => {
    const button = make("button", { type: "button", class: "link", "data-run": one.id,
      "aria-label": `Show ${one.command} of ${one.stage}, ${STATUSES[one.status]}` }, `${one.command} ${one.stage}`);
    button.addEventListener("click", () => open(one));
    const ms = one.endedAt ? Date.parse(one.endedAt) - Date.parse(one.startedAt) : null;
    return row([button, make("span", { class: `status ${one.status}` }, STATUSES[one.status]),
      took(ms), moment(one.startedAt)]);
  });
  return [table("Recent runs", ["Run", "Status", "Duration", "When"], rows)];
}
