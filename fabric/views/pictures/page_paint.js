// From places to elements. Texts go in as text only, never as markup.
const HALO = 3;

function paint() {
  placed = place();
  setPieces(piecesOf());
  byId("none").hidden = placed.frames.size > 0;
  byId("none").textContent =
    lanes.length ? "No tasks shown: turn on a filter." : "The plan has no tasks.";
  paintLevels();
  mark();
}

// All that there is to draw: where it stands, and how it is made once it comes into sight.
function piecesOf() {
  const found = [];
  for (const [row, frame] of placed.frames) {
    if (frame.folded) { found.push(boxPiece(`lane ${row}`, () => card(row))); continue; }
    found.push(framePiece(row, frame));
    for (const number of lanes[row].nodes) found.push(boxPiece(`node ${number}`, () => task(number)));
  }
  return [...found, ...placed.lines.map(linePiece)];
}

function boxPiece(key, make) {
  const { x, y, height } = placed.boxes.get(key);
  return { key, layer: "boxes", left: x, top: y, right: x + size.boxWidth, bottom: y + height, make };
}

function framePiece(row, frame) {
  const left = placed.x.get(lanes[row].first) - size.lanePad;
  const right = placed.x.get(lanes[row].last) + size.boxWidth + size.lanePad;
  const spot = { left, top: frame.y, right, bottom: frame.y + frame.height };
  return { key: `title ${row}`, layer: "frames", ...spot, make: () => laneFrame(row, spot) };
}

function linePiece(line, at) {
  const heights = heightsOf(line, placed);
  const ends = [placed.boxes.get(line.from).x + size.boxWidth, placed.boxes.get(line.to).x];
  // Lines that go back swing out as far as `curve` pulls them.
  const swing = ends[1] > ends[0] ? 0 : 2 * size.gutter;
  const critical = line.edges.some((one) => followed(edges[one].from, edges[one].to));
  return {
    key: `line ${at}`, layer: critical ? "path-lines" : "lines", line,
    left: Math.min(...ends) - swing, right: Math.max(...ends) + swing,
    top: Math.min(...heights), bottom: Math.max(...heights),
    make: () => lineShape(line, critical),
  };
}

function sign(action, x, y) {
  return svg("path", { class: "sign", transform: `translate(${x},${y})`, d: plan.signs[action] });
}

function task(number) {
  const node = nodes[number], box = placed.boxes.get(`node ${number}`);
  const off = state.shown.has(node.action) ? "" : " off";
  const baseline = size.boxHeight / 2 + 4;
  return svg("g", {
    class: `node ${node.action}${off}${onPath.has(number) ? " critical" : ""}`,
    transform: `translate(${box.x},${box.y})`, tabindex: -1,
    role: "button", "aria-label": `${node.id}, ${verdict(node)}`,
  },
    ...(onPath.has(number) ? [halo(size.boxHeight)] : []),
    svg("rect", { class: "box", width: size.boxWidth, height: size.boxHeight, rx: 7 }),
    sign(node.action, 15, size.boxHeight / 2),
    svg("text", { x: 28, y: baseline }, node.label),
    svg("text", { class: "kind", x: size.boxWidth - 10, y: baseline, "text-anchor": "end" },
      node.kindLabel));
}

// Around a box, so that its own colour and dashes stay.
const halo = (height) => svg("rect", {
  class: "halo", x: -HALO, y: -HALO, width: size.boxWidth + 2 * HALO, height: height + 2 * HALO, rx: 11,
});

function strongest(tally) {
  return ["run", "wait", "skip"].find((action) => tally[action]) || "skip";
}

function card(row) {
  const lane = lanes[row], box = placed.boxes.get(`lane ${row}`);
  const words = `${plural(lane.nodes.length, "task")}: ${tallyWords(lane.tally)}`;
  const critical = lane.nodes.some((number) => onPath.has(number));
  const group = svg("g", {
    class: `card ${strongest(lane.tally)}${critical ? " critical" : ""}`,
    transform: `translate(${box.x},${box.y})`,
    tabindex: -1, role: "button", "aria-expanded": "false",
    "aria-label": `service ${lane.service}, ${words}`,
  },
    ...(critical ? [halo(CARD_HEIGHT)] : []),
    svg("rect", { class: "box", width: size.boxWidth, height: CARD_HEIGHT, rx: 9 }),
    svg("path", { class: "chevron", d: "M13,11l4.5,4.5l-4.5,4.5" }),
    svg("text", { x: 26, y: 20 }, lane.label),
    svg("text", { class: "quiet", x: 12, y: 36 }, shortTally(lane.tally)));
  group.append(...bar(lane, size.boxWidth - 72, 29, 60));
  return group;
}

const shortTally = (tally) =>
  ["run", "wait"].filter((action) => tally[action])
    .map((action) => `${tally[action]} ${action === "wait" ? "pending" : action}`).join(" · ") || "up to date";

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

function laneFrame(row, spot) {
  const lane = lanes[row];
  const width = spot.right - spot.left;
  const title = svg("g", {
    class: "title", transform: `translate(${spot.left},${spot.top})`, tabindex: -1, role: "button",
    "aria-expanded": "true", "aria-label": `service ${lane.service}, ${tallyWords(lane.tally)}`,
  },
    svg("rect", { class: "frame", width, height: spot.bottom - spot.top, rx: 10 }),
    svg("rect", { class: "grip", x: 4, y: 3, width: width - 8, height: 21, rx: 6 }),
    svg("path", { class: "chevron", d: "M11,11l4.5,4.5l4.5,-4.5" }),
    svg("text", { class: "service", x: 26, y: 18 }, lane.label,
      svg("tspan", { class: "quiet", dx: 10, "font-weight": 400 }, lane.counts)));
  return title;
}

function lineShape(line, critical) {
  const inside = nodes[line.first.from].lane === nodes[line.first.to].lane;
  const off = [line.from, line.to].every((key) => key.startsWith("lane") ||
    state.shown.has(nodes[Number(key.split(" ")[1])].action)) ? "" : " off";
  return svg("path", {
    class: `edge${inside ? "" : " far"}${critical ? " critical" : ""}${off}`,
    d: routeOf(line, placed),
    // An attribute, so that the style of a highlight can take its place.
    "marker-end": "url(#head)",
  });
}
