// What is lit stands once more above a veil over all else: one change, however much fades.
const NOTHING = { boxes: new Set(), joins: () => false };
let glow = NOTHING;
let lead = null;
const texts = nodes.map((node) =>
  `${node.id}\n${node.reason}\n${node.provider}`.toLowerCase());

function mark(hovered) {
  lead = hovered || state.picked;
  glow = lead ? around(lead) : { ...NOTHING, boxes: new Set(state.hits.map(keyOf)) };
  stage.classList.toggle("seeking", !lead && state.query !== "");
  stage.classList.toggle("faded", Boolean(lead) || state.query !== "");
  light();
}

function around(key) {
  if (key === "path") return { boxes: new Set(plan.path.map(keyOf)), joins: followed };
  const starts = membersOf(key);
  const up = closure(starts, needs), down = closure(starts, users);
  return {
    boxes: new Set([...up, ...down].map(keyOf)),
    joins: (from, to) => (up.has(from) && up.has(to)) || (down.has(from) && down.has(to)),
  };
}

function light() {
  const lines = [], boxes = [], names = [];
  const rows = new Set([...glow.boxes].map(rowOf));
  for (const [key, shape] of drawn) {
    const { line } = pieces.get(key);
    if (line && line.edges.some((at) => glow.joins(edges[at].from, edges[at].to))) {
      lines.push(copyOf(shape));
    } else if (glow.boxes.has(key)) boxes.push(copyOf(shape, key));
    else if (key.startsWith("title") && rows.has(rowOf(key))) names.push(nameOf(shape));
  }
  byId("lit").replaceChildren(...names, ...lines, ...boxes);
}

function copyOf(shape, key) {
  const copy = shape.cloneNode(true);
  for (const name of ["data-key", "tabindex", "role", "aria-label", "aria-expanded"]) {
    copy.removeAttribute(name);
  }
  if (key) copy.dataset.lit = key;
  copy.classList.toggle("lead", key === lead);
  return copy;
}

// Of an open service the heading alone: its frame would hide what is inside.
function nameOf(shape) {
  const copy = copyOf(shape);
  for (const part of copy.querySelectorAll("rect")) part.remove();
  return copy;
}

function membersOf(key) {
  const [what, number] = key.split(" ");
  return what === "node" ? [Number(number)] : lanes[Number(number)].nodes;
}

function matches() {
  const query = state.query.toLowerCase();
  if (!query) return [];
  return [...nodes.keys()].filter((number) =>
    state.shown.has(nodes[number].action) && texts[number].includes(query));
}
