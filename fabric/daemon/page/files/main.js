// The dashboard: asks how the stage stands, follows its run, and tells what it hears.
import { ask } from "./ask.js";
import { deployWords, open as openDialog, removeWords } from "./dialogs.js";
import { byId, show } from "./elements.js";
import { graphWords } from "./graph.js";
import { LiveRun } from "./live_run.js";
import { graph, page, paint, paintAll, paintTasks, paintTrouble } from "./painting.js";
import { Tasks } from "./tasks.js";
import { STATUSES, refreshTimes } from "./words.js";

const LOOK_MS = 3000, RUNS_SHOWN = 12, LINES_KEPT = 400;

function say(text) { byId("said").textContent = text; }

// How the stage stands, as of now. A newer wish makes the answer of an older one void.
async function look() {
  const wish = ++page.wish, before = JSON.stringify(page.status?.graph);
  try {
    const [status, { runs }] = await Promise.all([
      ask("GET", "/dashboard/status", page.stage ? { stage: page.stage } : {}),
      ask("GET", "/runs", { limit: RUNS_SHOWN }),
    ]);
    if (wish !== page.wish) return;
    Object.assign(page, { status, runs, stage: status.stage, found: [] });
    connection("");
    await findLast();
    if (wish !== page.wish) return;
    // The colours of a run stay until there is something else to show.
    if (page.hasSettled && JSON.stringify(status.graph) !== before) page.tasks.isRun = false;
    page.hasSettled = true;
    if (!page.run && !page.tasks.isRun) planTasks(page.status.graph);
    followWhatRuns();
  } catch (error) {
    if (wish === page.wish) failed(error);
  }
  if (wish === page.wish) paintAll();
}

function planTasks(drawn) {
  page.tasks = new Tasks(drawn ? drawn.nodes : []);
  graph.draw(drawn);
  byId("graph").setAttribute("aria-label", graphWords(drawn));
}

// What the last run of the stage ran into stands on the page until the next one.
async function findLast() {
  const own = ours(page.runs);
  page.last = own[0] && own[0].status !== "running" ? own[0] : null;
  if (!page.last || !["failed", "partial"].includes(page.last.status)) return;
  const { run } = await ask("GET", `/runs/${encodeURIComponent(page.last.id)}`);
  page.found = run.error ? run.error.problems || [run.error] : [];
}

const ours = (runs) => runs.filter((one) =>
  one.stage === page.stage && (!page.status || one.service === page.status.service));

function failed(error) {
  if (error.status === 401) { location.reload(); return; }
  if (error.status === 0) { connection("The daemon does not respond. Retrying…"); return; }
  if (error.status === 429) { connection("Rate limit exceeded. Retrying later…"); return; }
  if (error.status === 503) { connection(error.message); return; }
  // A stage that there cannot be came from the address: the next look is at the daemon's own.
  if (error.problems?.[0].code === "usage/bad-stage") page.stage = "";
  page.status = null;
  page.found = error.problems || [{ message: String(error), code: "page/failed", hint: "", where: null }];
}

function connection(text) {
  if (byId("connection").textContent !== text) byId("connection").textContent = text;
  show(byId("connection"), Boolean(text));
}

function followWhatRuns() {
  const running = ours(page.runs).find((one) => one.status === "running");
  if (running) follow(running);
}

function follow(run) {
  if (page.run && page.run.id === run.id) return;
  leave();
  page.found = [];
  page.lines = [];
  page.run = run;
  if (!page.runs.some((one) => one.id === run.id)) page.runs = [run, ...page.runs].slice(0, RUNS_SHOWN);
  // What a removal does is no part of the plan.
  planTasks(run.command === "remove" ? null : page.status.graph);
  page.live = new LiveRun(run.id, { heard: receive, connected, isThere });
  say(`${run.command} of ${run.stage} started`);
  paintAll();
}

function connected(is) {
  connection(is ? "" : "Connection to the run lost. The run continues. Reconnecting…");
}

// Whether the run can still be followed: the session may have ended, or its record be gone.
async function isThere(id) {
  try {
    await ask("GET", `/runs/${encodeURIComponent(id)}`);
    return true;
  } catch (error) {
    if (error.status !== 401 && error.status !== 404) return true;
    if (error.status === 404) leave();
    failed(error);
    return false;
  }
}

function leave() {
  page.live?.close();
  Object.assign(page, { live: null, run: null });
}

const HEARD = {
  run_started: (event) => page.tasks.begin(event.tasks),
  task_started: (event) => page.tasks.started(event.task, event.reason),
  task_ended: (event) => page.tasks.over(event.task, event.status, event.reason, event.ms),
  task_output: (event) => {
    page.lines.push(...event.text.replace(/\n$/, "").split("\n").map((line) => `${event.task}: ${line}`));
    page.lines.splice(0, Math.max(0, page.lines.length - LINES_KEPT));
  },
  problem: (event) => { if (event.severity === "error") page.found.push(event.problem || event); paintTrouble(); },
  run_ended: (event) => ended(event),
};

function receive(event) {
  HEARD[event.type]?.(event);
  paint();
}

async function ended(event) {
  const { run } = page;
  page.tasks.close();
  leave();
  paintTasks();
  if (run.command === "remove") page.tasks.isRun = false;
  say(`${run.command} of ${run.stage}: ${STATUSES[event.status]}`);
  page.hasSettled = false;
  await look();
}

async function begin(verb, names) {
  const values = { stage: page.stage, wait: "0", ...(names.length ? { confirm: page.stage } : {}) };
  const { run } = await ask("POST", `/action/${verb}`, values);
  const { status } = page;
  follow({ id: run, command: verb, service: status.service, stage: status.stage, status: "running", startedAt: new Date().toISOString(), endedAt: null });
}

function propose(verb, words) {
  const isProtected = words.names.filter((one) => one.what === "stage");
  openDialog(words, () => begin(verb, isProtected));
}

async function showRun(one) {
  if (one.status === "running" && one.stage !== page.stage) { choose(one.stage); return; }
  try {
    const { run } = await ask("GET", `/runs/${encodeURIComponent(one.id)}`);
    page.found = run.error ? run.error.problems || [run.error] : [];
    say(`${run.command} of ${run.stage}: ${STATUSES[run.status]}`);
    paintTrouble();
    if (page.found.length) byId("trouble").scrollIntoView({ block: "nearest" });
  } catch (error) {
    failed(error);
  }
}

function choose(stage) {
  leave();
  Object.assign(page, { stage, found: [], last: null, tasks: new Tasks([]) });
  history.replaceState(null, "", `?stage=${encodeURIComponent(stage)}`);
  say(`Stage ${stage}`);
  look();
}

// Whether somebody else began or ended a run, or the daemon came back.
async function glance() {
  if (document.hidden || page.live) return;
  if (!page.status) { await look(); return; }
  try {
    const { runs } = await ask("GET", "/runs", { limit: RUNS_SHOWN });
    const key = (found) => JSON.stringify(found.map((one) => [one.id, one.status]));
    const isBack = !byId("connection").hidden;
    connection("");
    if (isBack || key(runs) !== key(page.runs)) { page.tasks.isRun = false; await look(); }
  } catch (error) {
    if (error.status === 401 || [0, 429, 503].includes(error.status)) failed(error);
  }
}

async function watch() {
  await glance();
  setTimeout(watch, LOOK_MS);
}

page.stage = new URLSearchParams(location.search).get("stage") || "";
page.showRun = showRun;
byId("deploy").addEventListener("click", () => propose("deploy", deployWords(page.status)));
byId("remove").addEventListener("click", () => propose("remove", removeWords(page.status)));
byId("stop").addEventListener("click", async () => {
  try {
    await ask("DELETE", `/runs/${encodeURIComponent(page.run.id)}`);
    say("Stop requested: no new tasks start");
  } catch (error) { failed(error); paintAll(); }
});
byId("stage").addEventListener("change", (event) => choose(event.target.value));
byId("sign-out").addEventListener("click", async () => {
  try { await ask("DELETE", "/session"); } finally { location.reload(); }
});
byId("list").addEventListener("toggle", paintTasks);
byId("output").addEventListener("toggle", paint);
document.addEventListener("visibilitychange", glance);
// Whoever comes back from an editor sees what the config says now.
addEventListener("focus", () => { if (page.status && !page.live) look(); });
setInterval(() => { refreshTimes(); if (page.run) paint(); }, 1000);
await look();
setTimeout(watch, LOOK_MS);
