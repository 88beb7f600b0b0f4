// Only what is near the view is in the page, so that thousands of tasks move like a few.
const BEYOND = 0.5; // parts of a view, drawn on each side of it
const layers = Object.fromEntries(
  ["frames", "lines", "path-lines", "boxes"].map((name) => [name, byId(name)]));
let placed = null;
let pieces = new Map();
const shapes = new Map();
const drawn = new Map();
let near = null;
let current = null;

const numberOf = (key) => Number(key.split(" ")[1]);
const rowOf = (key) => key.startsWith("node") ? nodes[numberOf(key)].lane : numberOf(key);

function setPieces(all) {
  pieces = new Map(all.map((piece) => [piece.key, piece]));
  for (const layer of Object.values(layers)) layer.replaceChildren();
  shapes.clear();
  drawn.clear();
  near = null;
}

function sight() {
  const { x, y, scale } = state;
  return {
    left: -x / scale, top: -y / scale,
    right: (view.width - x) / scale, bottom: (view.height - y) / scale,
  };
}

function widened({ left, top, right, bottom }) {
  const x = (right - left) * BEYOND, y = (bottom - top) * BEYOND;
  return { left: left - x, top: top - y, right: right + x, bottom: bottom + y };
}

const touches = (one, other) => one.left <= other.right && one.right >= other.left
  && one.top <= other.bottom && one.bottom >= other.top;

const holds = (outer, inner) => outer.left <= inner.left && outer.right >= inner.right
  && outer.top <= inner.top && outer.bottom >= inner.bottom;

function refresh() {
  const seen = sight();
  const roomy = near && near.right - near.left > 3 * (seen.right - seen.left);
  if (near && !roomy && holds(near, seen)) return;
  near = widened(seen);
  for (const piece of pieces.values()) {
    // What has the focus stays: with it the keyboard would lose its place.
    const wanted = touches(piece, near) || piece.key === current;
    if (wanted && !drawn.has(piece.key)) draw(piece);
    else if (!wanted && drawn.has(piece.key)) erase(piece);
  }
  light();
}

function draw(piece) {
  if (!shapes.has(piece.key)) shapes.set(piece.key, shapeOf(piece));
  const shape = shapes.get(piece.key);
  drawn.set(piece.key, shape);
  layers[piece.layer].append(shape);
}

function erase(piece) {
  drawn.get(piece.key).remove();
  drawn.delete(piece.key);
}

function shapeOf(piece) {
  const shape = piece.make();
  if (!piece.line) {
    shape.dataset.key = piece.key;
    shape.setAttribute("tabindex", piece.key === current ? 0 : -1);
  }
  return shape;
}
