// From places to elements. Texts go in as text only, never as markup.
let placed = null;
const shapes = new Map();
let lineShapes = [];

function paint() {
  placed = place();
  shapes.clear();
  const frames = [], boxes = [];
  for (const [row, frame] of placed.frames) {
    if (frame.folded) boxes.push(remembered(`lane ${row}`, card(row)));
    else {
      frames.push(remembered(`title ${row}`, laneFrame(row, frame)));
      for (const number of lanes[row].nodes) boxes.push(remembered(`node ${number}`, task(number)));
    }
  }
  lineShapes = placed.lines.map((line) => ({ line, shape: lineShape(line) }));
  world.replaceChildren(...frames, ...lineShapes.map((one) => one.shape), ...boxes);
  byId("none").hidden = placed.frames.size > 0;
  byId("none").textContent =
    lanes.length ? "No task is shown: switch a filter on." : "The plan has no tasks.";
  paintLevels();
  mark();
}

function remembered(key, shape) {
  shape.dataset.key = key;
  shapes.set(key, shape);
  return shape;
}

function sign(action, x, y) {
  return svg("path", { class: "sign", transform: `translate(${x},${y})`, d: plan.signs[action] });
}

function task(number) {
  const node = nodes[number], box = placed.boxes.get(`node ${number}`);
  const off = state.shown.has(node.action) ? "" : " off";
  const baseline = size.boxHeight / 2 + 4;
  return svg("g", {
    class: `node ${node.action}${off}`, transform: `translate(${box.x},${box.y})`, tabindex: -1,
    role: "button", "aria-label": `${node.id}, ${verdict(node)}`,
  },
    svg("rect", { class: "box", width: size.boxWidth, height: size.boxHeight, rx: 7 }),
    sign(node.action, 15, size.boxHeight / 2),
    svg("text", { x: 28, y: baseline }, node.label),
    svg("text", { class: "kind", x: size.boxWidth - 10, y: baseline, "text-anchor": "end" },
      node.kindLabel));
}

function strongest(tally) {
  return ["run", "wait", "skip"].find((action) => tally[action]) || "skip";
}

function card(row) {
  const lane = lanes[row], box = placed.boxes.get(`lane ${row}`);
  const words = `${plural(lane.nodes.length, "task")}: ${tallyWords(lane.tally)}`;
  const group = svg("g", {
    class: `card ${strongest(lane.tally)}`, transform: `translate(${box.x},${box.y})`,
    tabindex: -1, role: "button", "aria-expanded": "false",
    "aria-label": `service ${lane.service}, ${words}`,
  },
    svg("rect", { class: "box", width: size.boxWidth, height: CARD_HEIGHT, rx: 9 }),
    svg("path", { class: "chevron", d: "M13,11l4.5,4.5l-4.5,4.5" }),
    svg("text", { x: 26, y: 20 }, lane.label),
    svg("text", { class: "quiet", x: 12, y: 36 }, shortTally(lane.tally)));
  group.append(...bar(lane, size.boxWidth - 72, 29, 60));
  return group;
}

const shortTally = (tally) =>
  ["run", "wait"].filter((action) => tally[action])
    .map((action) => `${tally[action]} ${action}`).join(" · ") || "up to date";

// The shares of the three actions; each that is there gets at least a visible sliver.
function bar(lane, x, y, width) {
  const parts = [];
  const present = ["run", "wait", "skip"].filter((action) => lane.tally[action]);
  const room = width - 3 * present.length;
  for (const action of present) {
    const share = 3 + room * lane.tally[action] / lane.nodes.length;
    parts.push(svg("rect", { class: `part ${action}`, x, y, width: share, height: 7 }));
    x += share;
  }
  return parts;
}

function laneFrame(row, frame) {
  const lane = lanes[row];
  const x = placed.x.get(lane.first) - size.lanePad;
  const right = placed.x.get(lane.last) + size.boxWidth + size.lanePad;
  const title = svg("g", {
    class: "title", transform: `translate(${x},${frame.y})`, tabindex: -1, role: "button",
    "aria-expanded": "true", "aria-label": `service ${lane.service}, ${tallyWords(lane.tally)}`,
  },
    svg("rect", { class: "frame", width: right - x, height: frame.height, rx: 10 }),
    svg("rect", { class: "grip", x: 4, y: 3, width: right - x - 8, height: 21, rx: 6 }),
    svg("path", { class: "chevron", d: "M11,11l4.5,4.5l4.5,-4.5" }),
    svg("text", { class: "service", x: 26, y: 18 }, lane.label,
      svg("tspan", { class: "quiet", dx: 10, "font-weight": 400 }, lane.counts)));
  return title;
}

function lineShape(line) {
  const inside = nodes[line.first.from].lane === nodes[line.first.to].lane;
  const off = [line.from, line.to].every((key) => key.startsWith("lane") ||
    state.shown.has(nodes[Number(key.split(" ")[1])].action)) ? "" : " off";
  return svg("path", {
    class: `edge${inside ? "" : " far"}${off}`, d: routeOf(line, placed), // An attribute, so that the style of a highlight can take its place.
    "marker-end": "url(#head)",
  });
}

// Highlights, as classes: no shape moves, so that a thousand tasks follow the pointer.
function mark(hovered) {
  const key = hovered || state.picked;
  const starts = key ? membersOf(key) : [];
  const up = closure(starts, needs), down = closure(starts, users);
  stage.classList.toggle("focus", starts.length > 0);
  const hits = new Set(matches());
  stage.classList.toggle("seeking", state.query !== "");
  for (const [name, shape] of shapes) {
    const members = membersOf(name);
    shape.classList.toggle("lit", members.some((one) => up.has(one) || down.has(one)));
    shape.classList.toggle("hit", members.some((one) => hits.has(one)));
    shape.classList.toggle("picked", name === state.picked);
  }
  for (const { line, shape } of lineShapes) {
    shape.classList.toggle("lit", line.edges.some((at) => {
      const { from, to } = edges[at];
      return (up.has(from) && up.has(to)) || (down.has(from) && down.has(to));
    }));
  }
}

function membersOf(key) {
  const [what, number] = key.split(" ");
  return what === "node" ? [Number(number)] : lanes[Number(number)].nodes;
}

function matches() {
  const query = state.query.toLowerCase();
  if (!query) return [];
  return [...nodes.keys()].filter((number) => {
    const node = nodes[number];
    return state.shown.has(node.action)
      && `${node.id}\n${node.reason}\n${node.provider}`.toLowerCase().includes(query);
  });
}
