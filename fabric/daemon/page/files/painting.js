// What is known of the page, and how it is put on the screen: at most once for each frame.
import { byId, fill, make, row, show } from "./elements.js";
import { Graph, legend } from "./graph.js";
import * as sections from "./sections.js";
import { standing } from "./standing.js";
import { Tasks } from "./tasks.js";
import { STATES, elapsed, plural, took } from "./words.js";

export const graph = new Graph(byId("graph"));
// `run` is the one that is followed, `last` the newest of the stage that has ended; `found` are
// problems beside those of the plan. `wish` counts how often the state was asked for; it `hasSettled`
// when that was done once since the last run.
export const page = {
  stage: "", status: null, runs: [], run: null, live: null, last: null, tasks: new Tasks([]),
  found: [], lines: [], wish: 0, hasSettled: false, showRun: () => {},
};
let isAsked = false, trouble = "[]";

export function paint() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => { isAsked = false; paintTasks(); paintProgress(); });
}

export function paintAll() {
  const { status } = page;
  byId("main").setAttribute("aria-busy", "false");
  if (status) {
    document.title = `${status.service} (${status.stage}) · fabric`;
    byId("service").textContent = status.service;
    byId("provider").textContent = status.provider;
    show(byId("provider"), true);
    show(byId("protected"), status.protected);
    show(byId("sign-out"), status.signedIn);
    byId("version").textContent = `fabric ${status.version}`;
    paintStages();
    fill(byId("live"), ...sections.live(status));
    fill(byId("changes"), ...sections.changes(status));
    fill(byId("releases"), ...sections.releases(status));
    fill(byId("warnings"), ...status.warnings.map(sections.problemItem));
  }
  show(byId("hints"), Boolean(status && status.warnings.length));
  paintRuns();
  paintStanding();
  paintTrouble();
  paint();
}

function paintStages() {
  const picker = byId("stage"), { stages, stage } = page.status;
  const options = stages.map((one) => {
    const option = make("option", { value: one }, one);
    option.selected = one === stage;
    return option;
  });
  fill(picker, ...options);
  picker.disabled = false;
}

function paintRuns() {
  const focused = document.activeElement?.dataset?.run;
  fill(byId("runs"), ...sections.runs(page.runs, page.showRun));
  if (focused) byId("runs").querySelector(`[data-run="${CSS.escape(focused)}"]`)?.focus();
}

function paintStanding() {
  const { status, run } = page;
  const told = status ? standing(status, run, page.last) : page.found.length
    ? { mood: "bad", state: "Config errors", headline: "The project cannot be loaded", subline: "Fix the problems below; this page updates automatically." }
    : { mood: "idle", state: "", headline: "Loading…", subline: "" };
  byId("standing").className = told.mood;
  byId("state").textContent = told.state;
  byId("headline").textContent = told.headline;
  byId("subline").textContent = told.subline;
  const may = Boolean(status && status.mayChange);
  show(byId("may-not"), Boolean(status && !status.mayChange));
  const focused = document.activeElement;
  show(byId("stop"), Boolean(run && may));
  show(byId("deploy"), !run && (may || !status));
  show(byId("remove"), !run && (may || !status));
  if (focused?.hidden) byId("headline").focus();
  byId("deploy").disabled = !may || !status.plan;
  byId("remove").disabled = !may || !status.live.length;
}

export function paintTrouble() {
  const { status, found } = page;
  const problems = [...found, ...(status ? status.problems : [])];
  const seen = new Set();
  const single = problems.filter((one) => {
    const key = JSON.stringify([one.code, one.message]);
    return !seen.has(key) && seen.add(key);
  });
  const told = JSON.stringify(single);
  if (told === trouble) return; // what is read aloud once is not read again
  trouble = told;
  show(byId("trouble"), single.length > 0);
  fill(byId("problems"), ...single.map(sections.problemItem));
}

export function paintTasks() {
  const { tasks } = page;
  graph.paint(tasks);
  const loose = graph.loose(tasks);
  show(byId("graph"), graph.boxes.size > 0);
  show(byId("loose"), loose.length > 0);
  fill(byId("loose"), ...loose.map(([id, one]) =>
    make("li", { class: `key ${one.state}`, "data-id": id }, id, make("span", { class: "quiet" }, ` ${STATES[one.state]}${one.ms === null ? "" : `, ${took(one.ms)}`}`))));
  fill(byId("legend"), ...legend(tasks));
  byId("graph-words").textContent = tasksWords(tasks);
  if (byId("list").open) paintList();
}

function tasksWords(tasks) {
  const count = plural(tasks.known.size, "task");
  if (graph.boxes.size) return `${count}, left to right. A task starts when all its dependencies are done.`;
  if (page.run) return tasks.known.size ? `${count} so far.` : "Tasks appear here when they start.";
  return "No tasks.";
}

function paintList() {
  fill(byId("rows"), ...[...page.tasks.known].map(([id, one]) => row([
    make("code", {}, id), make("span", { class: `key ${one.state}` }, STATES[one.state]),
    one.ms === null ? "–" : took(one.ms), one.reason === STATES[one.state] ? "" : one.reason,
  ], { "data-task": id })));
}

function paintProgress() {
  const { run, tasks } = page;
  show(byId("progress"), Boolean(run));
  if (!run) return;
  const bar = byId("bar");
  bar.max = Math.max(1, tasks.total);
  bar.value = tasks.ended;
  const waiting = tasks.isRun ? `${tasks.ended} of ${plural(tasks.total, "task")} done` : "Queued or starting";
  byId("progress-words").textContent = `${waiting} · ${elapsed(Date.parse(run.startedAt))}`;
  show(byId("output"), page.lines.length > 0);
  if (byId("output").open) byId("lines").textContent = page.lines.join("\n");
}
