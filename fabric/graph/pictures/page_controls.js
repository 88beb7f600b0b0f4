// What people do: fold, search, filter, walk, look closer.
let hit = -1;

function focusOn(key) {
  if (!pieces.has(key)) return;
  setCurrent(key);
  keepInSight(key);
  shapes.get(key).focus({ preventScroll: true });
}

// One shape is a stop for Tab; arrows go from there.
function setCurrent(key) {
  shapes.get(current)?.setAttribute("tabindex", -1);
  current = pieces.has(key) ? key : pieces.keys().next().value ?? null;
  if (current && !drawn.has(current)) draw(pieces.get(current));
  shapes.get(current)?.setAttribute("tabindex", 0);
}

function toggle(row, keepFocus) {
  const before = placed.frames.get(row);
  const folding = !state.folded.has(row);
  folding ? state.folded.add(row) : state.folded.delete(row);
  hideTip();
  paint();
  // What was clicked stays where the eye is.
  state.y += (before.y - placed.frames.get(row).y) * state.scale;
  look();
  setCurrent(folding ? `lane ${row}` : `title ${row}`);
  if (keepFocus) focusOn(current);
}

function foldAll(folded) {
  state.folded = new Set(folded ? lanes.keys() : []);
  pick(null);
  paint();
  setCurrent(null);
  fit(READABLE);
}

function pick(key) {
  state.picked = key;
  const panel = byId("details");
  panel.hidden = !key || !key.startsWith("node");
  if (!panel.hidden) panel.replaceChildren(...details(Number(key.split(" ")[1])));
  mark();
}

function details(number) {
  const node = nodes[number];
  const close = html("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  close.addEventListener("click", () => { pick(null); focusOn(`node ${number}`); });
  const list = html("dl");
  const rows = [
    ["Kind", node.kind], ["Service", node.service], ["Function", node.function],
    ["Provider", node.provider], ["Level", String(node.level)], ["Inputs", String(node.inputs)],
    ["Last run", node.took], ["Critical path", placeOnPath(number)],
  ];
  for (const [name, value] of rows) {
    if (value) list.append(html("dt", {}, name), html("dd", {}, value));
  }
  list.append(html("dt", {}, "Key"), html("dd", {}, html("code", {}, node.key || "not known yet")));
  return [
    close, html("h2", {}, node.id),
    html("p", {}, verdict(node)), list,
    ...links("Needs", needs[number]), ...links("Needed by", users[number]),
  ];
}

const placeOnPath = (number) =>
  onPath.has(number) ? `task ${onPath.get(number) + 1} of ${plan.path.length}` : "";

function links(title, numbers) {
  if (!numbers.length) return [];
  const list = html("ul");
  for (const number of numbers.slice(0, 60)) {
    const button = html("button", { type: "button" }, nodes[number].id);
    button.addEventListener("click", () => show(number));
    list.append(html("li", {}, button));
  }
  if (numbers.length > 60) list.append(html("li", {}, `and ${numbers.length - 60} more`));
  return [html("h3", {}, `${title} (${numbers.length})`), list];
}

// Unfold what hides a task, bring it to the middle, open its details.
function show(number, keepFocus) {
  const node = nodes[number];
  const hidden = !state.shown.has(node.action);
  if (hidden) { state.shown.add(node.action); paintChips(); }
  if (state.folded.delete(node.lane) || hidden) paint();
  pick(`node ${number}`);
  centre(`node ${number}`);
  setCurrent(`node ${number}`);
  if (!keepFocus) shapes.get(current).focus({ preventScroll: true });
}

function search(query) {
  state.query = query.trim();
  state.hits = matches();
  hit = -1;
  if (state.query && state.picked) pick(null); else mark();
  byId("found").textContent = state.query ? plural(state.hits.length, "task") : "";
}

// The services that the critical path leads through open, all others folded, only it lit.
function follow() {
  if (!plan.path.length) return;
  const rows = new Set(plan.path.map((number) => nodes[number].lane));
  state.folded = new Set([...lanes.keys()].filter((row) => !rows.has(row)));
  for (const number of plan.path) state.shown.add(nodes[number].action);
  paintChips();
  paint();
  pick("path");
  setCurrent(keyOf(plan.path[0]));
  fit(0.5, plan.path.map(keyOf));
}

function markPath(wanted) {
  stage.classList.toggle("unmarked", !wanted);
  byId("mark").setAttribute("aria-pressed", wanted);
}

function jump(step) {
  const found = state.hits;
  if (!found.length) return;
  hit = (hit + step + found.length + (hit < 0 && step < 0 ? 1 : 0)) % found.length;
  show(found[hit], true);
  byId("found").textContent = `${hit + 1} of ${found.length}`;
}

function paintChips() {
  const words = { run: "Run", wait: "Wait", skip: "Up to date" };
  byId("chips").replaceChildren(...Object.keys(words).map((action) => {
    const icon = svg("svg", { class: "fabric", viewBox: "0 0 24 18", "aria-hidden": "true" },
      svg("g", { class: action },
        svg("rect", { class: "box", x: 1, y: 1, width: 22, height: 16, rx: 5 }), sign(action, 12, 9)));
    const chip = html("button", { type: "button", "aria-pressed": state.shown.has(action) },
      icon, `${words[action]} ${plan.tally[action]}`);
    chip.disabled = !plan.tally[action];
    chip.addEventListener("click", () => {
      state.shown.has(action) ? state.shown.delete(action) : state.shown.add(action);
      paintChips();
      byId("chips").children[Object.keys(words).indexOf(action)].focus();
      paint();
      setCurrent(current);
      search(byId("search").value);
    });
    return chip;
  }));
}

function tip(key, x, y) {
  const box = byId("tip");
  const [what, number] = key.split(" ");
  const words = what === "node" ? taskTip(nodes[number]) : laneTip(lanes[number]);
  box.replaceChildren(...words);
  box.hidden = false;
  view = stage.getBoundingClientRect();
  const left = Math.min(x - view.left + 14, view.width - box.offsetWidth - 8);
  const under = y - view.top + 18;
  const over = y - view.top - box.offsetHeight - 10;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${under + box.offsetHeight > view.height ? Math.max(8, over) : under}px`;
}

function taskTip(node) {
  const place = placeOnPath(nodes.indexOf(node));
  const more = [
    plural(node.inputs, "input"), `key ${node.key ? node.key.slice(0, 12) : "not known yet"}`,
    ...(node.took ? [`${node.took} last time`] : []), ...(place ? [`critical path: ${place}`] : []),
  ];
  return [
    html("b", {}, node.id), html("span", {}, verdict(node)),
    html("span", { class: "more" }, more.join(" · ")),
  ];
}

const laneTip = (lane) => [
  html("b", {}, lane.service),
  html("span", {}, `${plural(lane.nodes.length, "task")}: ${tallyWords(lane.tally)}`),
];

function hideTip() { byId("tip").hidden = true; }

// The nearest box in a direction: left and right follow lines first.
function neighbour(key, arrow) {
  const along = { ArrowLeft: "to", ArrowRight: "from" }[arrow];
  if (along) {
    const other = along === "to" ? "from" : "to";
    const next = placed.lines.filter((line) => line[along] === key).map((line) => line[other]);
    if (next.length) return next[0];
  }
  const spot = spotOf(key);
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const [dx, dy] = ways[arrow];
  let best = null, least = Infinity;
  for (const name of [...pieces.keys()].filter((one) => !pieces.get(one).line)) {
    const other = spotOf(name);
    const ahead = (other.x - spot.x) * dx + (other.y - spot.y) * dy;
    const aside = Math.abs((other.x - spot.x) * dy) + Math.abs((other.y - spot.y) * dx);
    if (name !== key && ahead > 0 && ahead + 3 * aside < least) { best = name; least = ahead + 3 * aside; }
  }
  return best;
}

// Around what the keyboard is at; above the rest, which may be faded.
function ring(key) {
  const piece = pieces.get(key);
  byId("ring").toggleAttribute("hidden", !piece);
  if (!piece) return;
  const height = key.startsWith("title") ? size.laneHead - 2 : piece.bottom - piece.top + 10;
  const out = key.startsWith("title") ? 0 : 5;
  const spot = { x: piece.left - out, y: piece.top - out, width: piece.right - piece.left + 2 * out, height };
  for (const [name, value] of Object.entries(spot)) byId("ring").setAttribute(name, value);
}

function spotOf(key) {
  const box = placed.boxes.get(key);
  if (box) return { x: box.x, y: box.y + box.height / 2 };
  const row = rowOf(key);
  return { x: placed.x.get(lanes[row].first), y: placed.frames.get(row).y };
}

function act(key) {
  if (key.startsWith("node")) pick(state.picked === key ? null : key);
  else toggle(rowOf(key), true);
}

function clear() {
  byId("search").value = "";
  search("");
  pick(null);
}

const keys = {
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": () => fit(LEAST),
  "/": () => byId("search").focus(), Escape: clear, c: follow,
};
const steps = { ArrowLeft: [90, 0], ArrowRight: [-90, 0], ArrowUp: [0, 90], ArrowDown: [0, -90] };

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input") && event.key !== "Escape") return;
  const key = event.target.closest?.("[data-key]")?.dataset.key;
  if (keys[event.key]) keys[event.key]();
  else if (key && (event.key === "Enter" || event.key === " ")) act(key);
  else if (key && event.key.toLowerCase() === "f") toggle(rowOf(key), true);
  else if (key && steps[event.key]) focusOn(neighbour(key, event.key));
  else if (event.target === stage && steps[event.key]) pan(...steps[event.key]);
  else return;
  event.preventDefault();
}

function listen() {
  const keyAt = (event) => event.target.closest?.("[data-key]")?.dataset.key;
  let drag = null;
  document.addEventListener("keydown", pressed);
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    view = stage.getBoundingClientRect();
    if (event.shiftKey) pan(-(event.deltaX || event.deltaY), 0);
    else zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 300),
      event.clientX - view.left, event.clientY - view.top);
  }, { passive: false });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false, key: keyAt(event) };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const x = event.clientX - drag.x, y = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
    stage.classList.add("panning");
    hideTip();
    pan(x, y);
  });
  window.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) clicked(drag.key, event);
    drag = null;
    stage.classList.remove("panning");
  });
  world.addEventListener("pointerover", (event) => {
    const key = keyAt(event);
    if (drag?.moved || !key || key.startsWith("title")) return;
    mark(key);
    tip(key, event.clientX, event.clientY);
  });
  world.addEventListener("pointerout", (event) => {
    if (keyAt(event)) { hideTip(); mark(); }
  });
  // Not on the world: a group that listens for the focus would be a stop for Tab itself.
  stage.addEventListener("focusin", (event) => {
    const key = keyAt(event);
    if (!key) return;
    setCurrent(key);
    if (!event.target.matches(":focus-visible")) return;
    ring(key);
    if (!key.startsWith("title")) mark(key);
  });
  stage.addEventListener("focusout", () => { ring(null); mark(); });
  byId("search").addEventListener("input", (event) => search(event.target.value));
  byId("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); jump(event.shiftKey ? -1 : 1); }
  });
  byId("fold").addEventListener("click", () => foldAll(true));
  byId("unfold").addEventListener("click", () => foldAll(false));
  byId("in").addEventListener("click", () => zoom(1.25));
  byId("out").addEventListener("click", () => zoom(0.8));
  byId("follow").addEventListener("click", follow);
  byId("mark").addEventListener("click", () => markPath(stage.classList.contains("unmarked")));
  new ResizeObserver(() => { view = stage.getBoundingClientRect(); look(); }).observe(stage);
  byId("fit").addEventListener("click", () => fit(LEAST));
}

// The body of an open service is background; only its heading folds it.
function clicked(key, event) {
  if (!key) { if (stage.contains(event.target)) pick(null); return; }
  if (key.startsWith("title") && !event.target.closest(".grip, .chevron, .service")) { pick(null); return; }
  act(key);
}

byId("mark").append(` ${plan.path.length}`);
byId("route").hidden = !plan.path.length;
paintChips();
paint();
setCurrent(null);
fit(READABLE);
listen();
