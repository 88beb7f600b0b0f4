// The graph of tasks: shapes at the places that the daemon laid out, coloured by state.
import { fill, make, shape } from "./elements.js";
import { STATES, plural, took } from "./words.js";

const PAD = 16;
const SIGNS = {
  todo: "M-3.5,0h7", running: "M-3.5,-4.5L4,0L-3.5,4.5Z", failed: "M-3.5,-3.5L3.5,3.5M3.5,-3.5L-3.5,3.5",
  ran: "M-4,0.5L-1.2,3.5L4.5,-3.5", skipped: "M-4,0.5L-1.2,3.5L4.5,-3.5",
  blocked: "M-3.5,-3.5v7M3.5,-3.5v7", cancelled: "M-3.5,-3.5v7M3.5,-3.5v7",
};

export class Graph {
  constructor(place) {
    this.place = place;
    this.boxes = new Map();
    this.signs = SIGNS;
  }

  draw(graph) {
    this.boxes.clear();
    if (!graph || !graph.nodes.length) { fill(this.place); return; }
    this.signs = { ...SIGNS, ...graph.signs };
    const width = graph.width + 2 * PAD, height = graph.height + 2 * PAD;
    const all = shape("g", { transform: `translate(${PAD + 12},${PAD})` },
      ...graph.lanes.map(lane), ...graph.edges.map(edge), ...graph.nodes.map((one) => this.node(one)));
    const values = { class: "fabric", role: "img", width: width + 12, height, viewBox: `0 0 ${width + 12} ${height}` };
    fill(this.place, shape("svg", values, shape("title", {}, graph.title), heads(), all));
  }

  node(one) {
    const sign = shape("path", { class: "sign", transform: `translate(15,${one.height / 2})` });
    const title = shape("title");
    const group = shape("g", { transform: `translate(${one.x},${one.y})`, "data-id": one.id }, title,
      shape("rect", { class: "box", width: one.width, height: one.height, rx: 7 }), sign,
      shape("text", { x: 28, y: one.height / 2 + 4 }, one.label),
      shape("text", { class: "kind", x: one.width - 10, y: one.height / 2 + 4, "text-anchor": "end" }, one.kind));
    this.boxes.set(one.id, { group, sign, title, state: "" });
    return group;
  }

  paint(tasks) {
    for (const [id, box] of this.boxes) {
      const task = tasks.of(id);
      const words = `${id}\n${STATES[task.state]}${task.ms === null ? "" : `, ${took(task.ms)}`}: ${task.reason}`;
      if (box.title.textContent !== words) box.title.textContent = words;
      if (box.state === task.state) continue;
      box.state = task.state;
      box.group.setAttribute("class", `node ${task.state}`);
      box.sign.setAttribute("d", this.signs[task.state]);
    }
  }

  // Tasks that the graph does not have: those of a removal.
  loose(tasks) {
    return [...tasks.known].filter(([id]) => !this.boxes.has(id));
  }
}

function heads() {
  const marker = (id) => shape("marker",
    { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    shape("path", { class: "head", d: "M0,0.5L7.5,4L0,7.5Z" }));
  return shape("defs", {}, marker("head"));
}

function lane(one) {
  return shape("g", { class: "lane" },
    shape("rect", { class: "frame", x: one.x, y: one.y, width: one.width, height: one.height, rx: 10 }),
    shape("text", { class: "service", x: one.x + 12, y: one.y + 18 }, one.label));
}

function edge(one) {
  return shape("path", { class: `edge${one.far ? " far" : ""}`, d: one.line, "marker-end": "url(#head)" });
}

const ORDER = ["run", "wait", "skip", "todo", "running", "ran", "skipped", "failed", "blocked", "cancelled"];

export function legend(tasks) {
  const tally = tasks.tally();
  return ORDER.filter((state) => tally.has(state)).map((state) =>
    make("li", { class: `key ${state}` }, `${tally.get(state)} ${STATES[state]}`));
}

export const graphWords = (graph) => (graph ? plural(graph.nodes.length, "task") : "");
