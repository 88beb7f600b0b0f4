// Calls functions at the minutes of their schedules, in UTC, each in a process of its own. fabric has
// written each field as a list of numbers.
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SERVER = fileURLToPath(new URL("server.mjs", import.meta.url));
const MINUTE = 60_000;
const { FABRIC_CLOCK, FABRIC_CODE: code, FABRIC_WORK: work, ...environment } = process.env;
const rows = JSON.parse(FABRIC_CLOCK);
const running = new Map();
let isEnding = false;

process.on("SIGTERM", () => {
  isEnding = true;
  endIfIdle();
});
wait();

function endIfIdle() {
  if (isEnding && !running.size) process.exit(0);
}

// A minute that passed unnoticed, such as during a pause of the machine, is left out.
function wait() {
  const next = new Date((Math.floor(Date.now() / MINUTE) + 1) * MINUTE);
  const look = () => (Date.now() < next ? setTimeout(look, next - Date.now()) : tick(next));
  look();
}

function tick(time) {
  if (isEnding) return;
  for (const row of rows) if (isDue(row, time) && !running.has(row)) run(row);
  wait();
}

function isDue({ minutes, hours, days, months, weekdays, either }, time) {
  const isDay = days.includes(time.getUTCDate());
  const isWeekday = weekdays.includes(time.getUTCDay());
  const isDate = either ? isDay || isWeekday : isDay && isWeekday;
  return isDate && minutes.includes(time.getUTCMinutes()) && hours.includes(time.getUTCHours()) && months.includes(time.getUTCMonth() + 1);
}

function run(row) {
  mkdirSync(work, { recursive: true });
  const folder = mkdtempSync(join(work, "run-"));
  const own = { FABRIC_SAID: JSON.stringify(row.said), FABRIC_CODE: join(code, row.folder), FABRIC_WORK: folder, FABRIC_EVENT: JSON.stringify(row.event) };
  const child = spawn(process.execPath, [SERVER], { env: { ...environment, ...own }, stdio: ["ignore", "inherit", "inherit"] });
  running.set(row, child);
  const name = row.said.functionName;
  const late = () => {
    console.error(`${name}: the run was ended after ${row.seconds} s`);
    child.kill("SIGKILL");
  };
  const timer = setTimeout(late, row.seconds * 1000);
  const over = (words) => {
    if (!running.delete(row)) return;
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
    if (words) console.error(`${name}: ${words}`);
    endIfIdle();
  };
  child.on("error", (error) => over(`the run did not start: ${error.message}`));
  child.on("close", (status) => over(status ? `the run failed with exit code ${status}` : ""));
}
