// What part of the picture is seen: pan, zoom, and the headings that stay in sight.
const LEAST = 0.05, MOST = 3, READABLE = 0.85, DISTANT = 0.3, TOP = 44, EDGE = 28;

let view = stage.getBoundingClientRect();

function look() {
  world.setAttribute("transform", `translate(${state.x},${state.y}) scale(${state.scale})`);
  const strip = svg("rect", { class: "strip", width: "100%", height: 26 });
  byId("levels").replaceChildren(strip, ...levelTexts);
  for (const text of levelTexts) {
    text.setAttribute("x", state.x + Number(text.dataset.x) * state.scale);
    const roomy = state.scale * (size.boxWidth + placed.gutter) > 60;
    text.textContent = roomy ? `level ${text.dataset.level}` : text.dataset.level;
  }
  stage.classList.toggle("distant", state.scale < DISTANT);
  refresh();
}

let levelTexts = [];

function paintLevels() {
  levelTexts = placed.columns.map((level) => {
    const text = svg("text", { class: "quiet", y: 17 });
    text.dataset.level = level;
    text.dataset.x = placed.x.get(level);
    return text;
  });
  look();
}

// What these boxes take up, with the frames around them.
function extent(keys) {
  const boxes = [...keys].map((key) => placed.boxes.get(key)).filter(Boolean);
  const least = (values) => Math.min(...values, Infinity), most = (values) => Math.max(...values, 0);
  const left = boxes.length ? least(boxes.map((box) => box.x)) : 0;
  const top = boxes.length ? least(boxes.map((box) => box.y)) : 0;
  return {
    left, top,
    width: most(boxes.map((box) => box.x)) + size.boxWidth + size.lanePad - left,
    height: most(boxes.map((box) => box.y + box.height)) + size.lanePad - top,
  };
}

// All of it if that can be read; if not, as wide as the view. `least` is how small it may get.
function fit(least, keys) {
  const { left, top, width, height } = extent(keys ?? placed.boxes.keys());
  const across = Math.min(1, (view.width - 2 * EDGE) / Math.max(width, 1));
  const down = (view.height - TOP - EDGE) / Math.max(height, 1);
  state.scale = down < least ? Math.max(least, across) : Math.max(least, Math.min(across, down));
  const spare = view.width - 2 * EDGE - width * state.scale;
  state.x = EDGE + Math.max(0, spare / 2) - left * state.scale;
  state.y = TOP - (keys ? Math.max(0, top - size.laneHead) : 0) * state.scale;
  look();
}

function zoom(factor, x, y) {
  const atX = x ?? view.width / 2, atY = y ?? view.height / 2;
  const scale = Math.min(MOST, Math.max(LEAST, state.scale * factor));
  state.x = atX - (atX - state.x) * scale / state.scale;
  state.y = atY - (atY - state.y) * scale / state.scale;
  state.scale = scale;
  // By button or key: nothing stands above the picture, so no room opens there.
  if (y === undefined) state.y = Math.min(TOP, state.y);
  look();
}

function pan(x, y) {
  state.x += x;
  state.y += y;
  look();
}

function centre(key) {
  const box = placed.boxes.get(key);
  if (!box) return;
  const aside = byId("details").hidden ? 0 : 350;
  if (state.scale < READABLE) state.scale = 1; // from far away: come near
  // No further than the picture goes: its left and upper edges have nothing before them.
  state.x = Math.min(EDGE, (view.width - aside) / 2 - (box.x + size.boxWidth / 2) * state.scale);
  state.y = Math.min(TOP, view.height / 2 - (box.y + box.height / 2) * state.scale);
  look();
}

// Only as far as it must: walking by keyboard should not make the picture jump.
function keepInSight(key) {
  const box = placed.boxes.get(key);
  if (!box) return;
  const left = state.x + box.x * state.scale, top = state.y + box.y * state.scale;
  const right = left + size.boxWidth * state.scale, bottom = top + box.height * state.scale;
  const aside = byId("details").hidden ? 0 : 350;
  const x = left < EDGE ? EDGE - left : Math.min(0, view.width - aside - EDGE - right);
  const y = top < TOP ? TOP - top : Math.min(0, view.height - EDGE - bottom);
  if (x || y) pan(x, y);
}
