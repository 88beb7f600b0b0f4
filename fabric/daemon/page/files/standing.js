// The first thing that is read: how the stage stands, in one sentence and what to do next.
import { plural } from "./words.js";

const DOING = { deploy: ["Deploying", "to"], remove: ["Removing", "from"] };

export function standing(status, run, last) {
  if (run) return underWay(status, run);
  const todo = changesOf(status);
  if (status.problems.length) {
    return { mood: "bad", state: "Needs a hand", headline: "The config cannot be planned",
      subline: status.live.length ? "What is live goes on as it is." : "Mend what is named below, and look again." };
  }
  if (last && ["failed", "partial"].includes(last.status)) {
    return { mood: "bad", state: last.status === "failed" ? "Failed" : "In part",
      headline: `The last ${last.command} did not end well`,
      subline: todo ? `${todo} to deploy. What is named below comes first.` : "" };
  }
  if (!status.live.length) {
    return { mood: "idle", state: "Not live", headline: `Nothing is live in ${status.stage} yet`,
      subline: todo ? `A deploy would bring ${todo}.` : "The config has nothing to deploy." };
  }
  const broken = status.live.find((one) => one.lifecycle !== "deployed");
  if (broken) {
    return { mood: "bad", state: "Unfinished", headline: `${status.service} is not wholly deployed`,
      subline: "Deploy again: what was done is kept." };
  }
  return { mood: "good", state: "Live", headline: `${status.service} is live in ${status.stage}`,
    subline: todo ? `${todo} to deploy.` : "Nothing to deploy: all is as the config says." };
}

function underWay(status, run) {
  const [doing, way] = DOING[run.command] || [run.command, "in"];
  return { mood: "busy", state: doing, headline: `${doing} ${status.service} ${way} ${status.stage}`, subline: "" };
}

export function changesOf(status) {
  const found = status.plan ? status.plan.summary : {};
  const parts = [["create", "new"], ["update", "changed"], ["delete", "gone"]]
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
