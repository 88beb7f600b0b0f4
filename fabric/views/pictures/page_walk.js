// Where the keyboard is, and where it goes from there.
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
