// Where everything stands for a set of folded services. Nothing here touches the page.
const CARD_HEIGHT = 46;
const CARD_GAP = 12;

function laneShown(lane) {
  return lane.nodes.some((number) => state.shown.has(nodes[number].action));
}

// A folded service stands in the column of its last task: what it needs is always further left.
function columnOf(number) {
  const node = nodes[number];
  return state.folded.has(node.lane) ? lanes[node.lane].last : node.level;
}

const keyOf = (number) =>
  state.folded.has(nodes[number].lane) ? `lane ${nodes[number].lane}` : `node ${number}`;

// Lines as they are seen: those between the same two boxes are one line.
function shownLines(visible) {
  const lines = new Map();
  edges.forEach((edge, position) => {
    const from = keyOf(edge.from), to = keyOf(edge.to);
    if (from === to || !visible.has(nodes[edge.from].lane) || !visible.has(nodes[edge.to].lane)) return;
    const key = `${from} > ${to}`;
    if (!lines.has(key)) lines.set(key, { from, to, first: edge, edges: [] });
    lines.get(key).edges.push(position);
  });
  return [...lines.values()];
}

function place() {
  const visible = new Set([...lanes.keys()].filter((row) => laneShown(lanes[row])));
  const lines = shownLines(visible);
  const columns = usedColumns(visible);
  // Many lines need room to part. With a service open, all is as wide as in the picture.
  const crowd = state.folded.size < lanes.length ? 0 : lines.length / columns.length;
  const gutter = size.gutter + Math.min(170, crowd * 2);
  const x = new Map(columns.map((level, at) => [level, at * (size.boxWidth + gutter)]));
  if (!lines.length && state.folded.size === lanes.length) return grid(visible);
  const frames = stacked(visible, lines, columns);
  return { x, columns, gutter, frames, boxes: boxesOf(frames, x), lines };
}

// Folded services that do not need each other: rows that are about as wide as they are high.
function grid(visible) {
  const frames = new Map(), boxes = new Map();
  const across = Math.max(1, Math.ceil(Math.sqrt(visible.size / 3)));
  [...visible].forEach((row, at) => {
    const y = Math.floor(at / across) * (CARD_HEIGHT + CARD_GAP);
    const x = (at % across) * (size.boxWidth + 2 * CARD_GAP);
    frames.set(row, { y, height: CARD_HEIGHT, folded: true });
    boxes.set(`lane ${row}`, { x, y, height: CARD_HEIGHT });
  });
  return { x: new Map(), columns: [], gutter: size.gutter, frames, boxes, lines: [] };
}

function usedColumns(visible) {
  const used = new Set();
  for (const row of visible) {
    const lane = lanes[row];
    if (state.folded.has(row)) used.add(lane.last);
    else for (const number of lane.nodes) used.add(nodes[number].level);
  }
  return [...used].sort((one, other) => one - other);
}

// Each service below everything that stands, or has a line, in one of its columns.
function stacked(visible, lines, columns) {
  const reach = new Map();
  for (const line of lines) {
    const row = nodes[line.first.from].lane;
    reach.set(row, Math.max(reach.get(row) ?? 0, columnOf(line.first.to) - 1));
  }
  const before = needsOfRows(lines);
  const skyline = new Map(columns.map((level) => [level, 0]));
  const frames = new Map();
  for (const row of needsFirst(visible, before)) {
    const lane = lanes[row];
    const folded = state.folded.has(row);
    const first = folded ? lane.last : lane.first;
    const passed = columns.filter((level) =>
      level >= first && level <= Math.max(lane.last, reach.get(row) ?? 0));
    // A folded service stands beside what it needs, so that lines stay short.
    const beside = folded ? (before.get(row) ?? []).map((need) => frames.get(need)?.y ?? 0) : [];
    const floor = beside.length ? Math.min(...beside) : 0;
    const y = Math.max(floor, ...passed.map((level) => skyline.get(level)));
    const height = folded ? CARD_HEIGHT : size.laneHead + lane.height + size.lanePad;
    for (const level of passed) {
      skyline.set(level, y + height + (folded ? CARD_GAP : size.laneGap));
    }
    frames.set(row, { y, height, folded, first, last: lane.last });
  }
  return frames;
}

function needsOfRows(lines) {
  const rows = new Map();
  for (const { first } of lines) {
    const from = nodes[first.from].lane, to = nodes[first.to].lane;
    if (from === to) continue;
    if (!rows.has(to)) rows.set(to, new Set());
    rows.get(to).add(from);
  }
  return new Map([...rows].map(([row, found]) => [row, [...found].sort((one, other) => one - other)]));
}

// Each row after those that it needs, and else as they come; two that need each other end somewhere.
function needsFirst(visible, before) {
  const ordered = new Set(), begun = new Set();
  for (const start of visible) {
    const way = [start];
    while (way.length) {
      const row = way.at(-1);
      const ahead = (before.get(row) ?? []).filter((need) => !begun.has(need));
      begun.add(row);
      if (ahead.length) way.push(ahead[0]);
      else ordered.add(way.pop());
    }
  }
  return ordered;
}

function boxesOf(frames, x) {
  const boxes = new Map();
  for (const [row, frame] of frames) {
    if (frame.folded) {
      boxes.set(`lane ${row}`, { x: x.get(frame.last), y: frame.y, height: CARD_HEIGHT });
      continue;
    }
    for (const number of lanes[row].nodes) {
      const y = frame.y + size.laneHead + nodes[number].middle - size.boxHeight / 2;
      boxes.set(`node ${number}`, { x: x.get(nodes[number].level), y, height: size.boxHeight });
    }
  }
  return boxes;
}

// How high a line runs in each column that it passes, its two ends included.
function heightsOf(line, placed) {
  const start = placed.boxes.get(line.from), end = placed.boxes.get(line.to);
  const own = nodes[line.first.from].level;
  const frame = placed.frames.get(nodes[line.first.from].lane);
  const from = columnOf(line.first.from), to = columnOf(line.first.to);
  const heights = [start.y + start.height / 2];
  for (const level of placed.columns.filter((one) => one > from && one < to)) {
    const bend = frame.folded ? undefined : line.first.bends[level - own - 1];
    heights.push(bend === undefined ? heights.at(-1) : frame.y + size.laneHead + bend);
  }
  return [...heights, end.y + end.height / 2];
}

// Level through the columns between, bent in the gutters only.
function routeOf(line, placed) {
  const [first, ...heights] = heightsOf(line, placed);
  const last = heights.pop();
  let x = placed.boxes.get(line.from).x + size.boxWidth, y = first;
  let path = `M${x},${y}`;
  for (const height of heights) {
    path += curve(x, y, x + placed.gutter, height) + `h${size.boxWidth}`;
    x += size.boxWidth + placed.gutter;
    y = height;
  }
  return path + curve(x, y, placed.boxes.get(line.to).x, last);
}

function curve(x, y, right, height) {
  if (y === height && right > x) return `H${right}`;
  // A line that has to go back (two services that need each other) leaves in a wide bow.
  const pull = right > x ? (right - x) / 2 : 2 * size.gutter;
  return `C${x + pull},${y} ${right - pull},${height} ${right},${height}`;
}
