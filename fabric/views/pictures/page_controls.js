// What people do: fold, search, filter, walk, look closer.
let hit = -1;

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
  const words = { run: "Run", wait: "Pending", skip: "Up to date" };
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
