// The first thing that is read: how the stage stands, in one sentence and what to do next.
import { plural } from "./words.js";

const DOING = { deploy: ["Deploying", "to"], remove: ["Removing", "from"] };

export function standing(status, run, last) {
  if (run) return underWay(status, run);
  const todo = changesOf(status);
  if (status.problems.length) {
    return { mood: "bad", state: "Config errors", headline: "The config has errors",
      subline: status.live.length ? "Deployed functions are not affected." : "Fix the problems below; this page updates automatically." };
  }
  if (last && ["failed", "partial"].includes(last.status)) {
    return { mood: "bad", state: last.status === "failed" ? "Failed" : "Partial",
      headline: `The last ${last.command} ${last.status === "failed" ? "failed" : "was only partly successful"}`,
      subline: todo ? `Pending: ${todo}. Fix the problems below first.` : "" };
  }
  if (!status.live.length) {
    return { mood: "idle", state: "Not deployed", headline: `No deployments in ${status.stage} yet`,
      subline: todo ? `Pending: ${todo}.` : "The config has no functions." };
  }
  const broken = status.live.find((one) => one.lifecycle !== "deployed");
  if (broken) {
    return { mood: "bad", state: "Incomplete", headline: `${status.service} is only partially deployed`,
      subline: "Deploy again to finish." };
  }
  return { mood: "good", state: "Deployed", headline: `${status.service} is deployed in ${status.stage}`,
    subline: todo ? `Pending: ${todo}.` : "Everything is up to date." };
}

function underWay(status, run) {
  const [doing, way] = DOING[run.command] || [run.command, "in"];
  return { mood: "busy", state: doing, headline: `${doing} ${status.service} ${way} ${status.stage}`, subline: "" };
}

export function changesOf(status) {
  const found = status.plan ? status.plan.summary : {};
  const parts = [["create", "new"], ["update", "changed"], ["delete", "removed"]]
    .filter(([name]) => found[name])
    .map(([name, word]) => `${found[name]} ${word}`);
  const count = (found.create || 0) + (found.update || 0) + (found.delete || 0);
  if (parts.length === 1) return `${parts[0]} function${count === 1 ? "" : "s"}`;
  return count ? `${plural(count, "function")} (${parts.join(", ")})` : "";
}

// What is there, or would be, is more than a simulation.
export function isReal(status) {
  const modes = status.live.map((one) => one.mode);
  return modes.some((mode) => mode !== "simulated");
}

export function modeOf(status) {
  return status.plan ? status.plan.mode : status.live.length ? status.live[0].mode : "";
}
