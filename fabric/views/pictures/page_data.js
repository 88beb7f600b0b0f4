"use strict";
// The plan as it is embedded, what leads from it to what, and small helpers.
const plan = JSON.parse(document.getElementById("plan").textContent);
const { nodes, edges, lanes, geometry: size } = plan;
const byId = (id) => document.getElementById(id);
const stage = byId("stage");
const world = byId("world");

const needs = nodes.map(() => []);
const users = nodes.map(() => []);
for (const edge of edges) {
  needs[edge.to].push(edge.from);
  users[edge.from].push(edge.to);
}

const onPath = new Map(plan.path.map((number, at) => [number, at]));
const followed = (from, to) => onPath.has(from) && onPath.get(to) === onPath.get(from) + 1;

// All that can change on this page.
const state = {
  folded: new Set(plan.folded ? lanes.keys() : []),
  shown: new Set(["run", "wait", "skip"]),
  query: "",
  hits: [],
  picked: null,
  x: 0, y: 0, scale: 1,
};

function closure(starts, next) {
  const found = new Set(starts);
  const waiting = [...starts];
  while (waiting.length) {
    for (const number of next[waiting.pop()]) {
      if (!found.has(number)) { found.add(number); waiting.push(number); }
    }
  }
  return found;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function html(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// What happens to a task and why; "up to date" is a reason of its own.
const verdict = (node) => {
  const meaning = plan.meanings[node.action];
  return meaning.endsWith(node.reason) ? meaning : `${meaning}: ${node.reason}`;
};

const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

function tallyWords(tally) {
  const words = { run: "run", wait: "pending", skip: "up to date" };
  return Object.keys(words).filter((action) => tally[action])
    .map((action) => `${tally[action]} ${words[action]}`).join(", ");
}
