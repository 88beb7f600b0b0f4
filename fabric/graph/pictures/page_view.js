// What part of the picture is seen: pan, zoom, and the headings that stay in sight.
const LEAST = 0.02, MOST = 3, READABLE = 0.7, TOP = 44, EDGE = 28;

function look() {
  world.setAttribute("transform", `translate(${state.x},${state.y}) scale(${state.scale})`);
  const strip = svg("rect", { class: "strip", width: "100%", height: 26 });
  byId("levels").replaceChildren(strip, ...levelTexts);
  for (const text of levelTexts) {
    text.setAttribute("x", state.x + Number(text.dataset.x) * state.scale);
    const roomy = state.scale * (size.boxWidth + placed.gutter) > 60;
    text.textContent = roomy ? `level ${text.dataset.level}` : text.dataset.level;
  }
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

function extent() {
  let width = 0, height = 0;
  for (const box of placed.boxes.values()) {
    width = Math.max(width, box.x + size.boxWidth + size.lanePad);
    height = Math.max(height, box.y + box.height + size.lanePad);
  }
  return { width, height };
}

// All of it if that can be read; `least` is how small it may get.
function fit(least) {
  const { width, height } = extent();
  const view = stage.getBoundingClientRect();
  const across = (view.width - 2 * EDGE) / Math.max(width, 1);
  const down = (view.height - TOP - EDGE) / Math.max(height, 1);
  state.scale = Math.min(MOST, Math.max(least, Math.min(1, across, down)));
  state.x = EDGE + Math.max(0, (view.width - 2 * EDGE - width * state.scale) / 2);
  state.y = TOP;
  look();
}

function zoom(factor, x, y) {
  const view = stage.getBoundingClientRect();
  const atX = x ?? view.width / 2, atY = y ?? view.height / 2;
  const scale = Math.min(MOST, Math.max(LEAST, state.scale * factor));
  state.x = atX - (atX - state.x) * scale / state.scale;
  state.y = atY - (atY - state.y) * scale / state.scale;
  state.scale = scale;
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
  const view = stage.getBoundingClientRect();
  const aside = byId("details").hidden ? 0 : 350;
  if (state.scale < READABLE) state.scale = 1; // from far away: come near
  state.x = (view.width - aside) / 2 - (box.x + size.boxWidth / 2) * state.scale;
  state.y = view.height / 2 - (box.y + box.height / 2) * state.scale;
  look();
}

// Only as far as it must: walking by keyboard should not make the picture jump.
function keepInSight(key) {
  const box = placed.boxes.get(key);
  if (!box) return;
  const view = stage.getBoundingClientRect();
  const left = state.x + box.x * state.scale, top = state.y + box.y * state.scale;
  const right = left + size.boxWidth * state.scale, bottom = top + box.height * state.scale;
  const aside = byId("details").hidden ? 0 : 350;
  const x = left < EDGE ? EDGE - left : Math.min(0, view.width - aside - EDGE - right);
  const y = top < TOP ? TOP - top : Math.min(0, view.height - EDGE - bottom);
  if (x || y) pan(x, y);
}
