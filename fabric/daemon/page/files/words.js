// Amounts, times and states in words.
import { make } from "./elements.js";

export function took(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${ms} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
}

// Since a moment, in whole seconds: it is read while it grows.
export function elapsed(then) {
  const seconds = Math.max(0, Math.floor((Date.now() - then) / 1000));
  return seconds < 60 ? `${seconds} s` : took(seconds * 1000);
}

export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

const STEPS = [[60, 1, "s"], [3600, 60, "min"], [86400, 3600, "h"], [Infinity, 86400, "d"]];

export function since(then, now = Date.now()) {
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 10) return "just now";
  const [, size, unit] = STEPS.find(([most]) => seconds < most);
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

// A time that goes on being right: see `refreshTimes`.
export function moment(text) {
  const at = Date.parse(text);
  if (Number.isNaN(at)) return make("span", {}, text || "–");
  const values = { datetime: text, title: new Date(at).toLocaleString() };
  return make("time", values, since(at));
}

export function refreshTimes() {
  for (const one of document.querySelectorAll("time[datetime]")) {
    one.textContent = since(Date.parse(one.dateTime));
  }
}

export const STATES = {
  run: "will run", wait: "pending", skip: "up to date", todo: "queued", running: "running",
  ran: "done", skipped: "up to date", failed: "failed", blocked: "blocked", cancelled: "cancelled",
};

export const STATUSES = {
  running: "running", succeeded: "succeeded", failed: "failed", partial: "partial", cancelled: "cancelled",
};
