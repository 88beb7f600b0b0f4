// Which route a request takes, here and on the developer's machine: the closest path that has the
// method. Literal segments win over templates, those over {name+}; a method over ANY.
const ANY = "ANY";
const DEFAULT = { key: "$default", pathParameters: {} };

// `rows` have `method` and `path`, and whatever else their owner keeps there.
export function routesOf(rows) {
  return rows.map(routeOf).sort((one, other) => compared(one.rank, other.rank));
}

// The route with its row, or the rows of its path and their methods; without routes everything is taken.
export function routed(routes, method, path) {
  if (!routes.length) return DEFAULT;
  const asked = segmentsOf(path).map(decoded);
  const fitting = routes.flatMap((route) => {
    const found = matched(route.segments, asked);
    return found ? [{ ...route, pathParameters: Object.fromEntries(found) }] : [];
  });
  const wanted = method === "HEAD" ? [method, "GET", ANY] : [method, ANY];
  for (const shape of new Set(fitting.map((one) => one.shape)))
    for (const name of wanted) {
      const hit = fitting.find((one) => one.shape === shape && one.row.method === name);
      if (hit) return hit;
    }
  const rows = fitting.map((one) => one.row);
  return { rows, allowed: [...new Set(rows.map((one) => one.method))].sort() };
}

function routeOf(row) {
  const segments = segmentsOf(row.path);
  const rank = segments.map(order);
  const shape = segments.map((one, place) => ["", "{}", "{+}"][rank[place]] || one).join("/");
  return { row, key: `${row.method} ${row.path}`, segments, rank, shape };
}

function segmentsOf(path) {
  return path.replace(/^\/+|\/+$/g, "").split("/");
}

function order(segment) {
  if (!segment.startsWith("{")) return 0;
  return segment.endsWith("+}") ? 2 : 1;
}

function compared(one, other) {
  const at = one.findIndex((number, place) => number !== other[place]);
  return at < 0 ? one.length - other.length : one[at] - (other[at] ?? -1);
}

function matched(template, segments) {
  const found = [];
  for (const [place, one] of template.entries()) {
    const kind = order(one);
    if (kind === 2) {
      const rest = segments.slice(place).join("/");
      return rest ? [...found, [one.slice(1, -2), rest]] : null;
    }
    if (place >= segments.length || (kind && !segments[place])) return null;
    if (kind) found.push([one.slice(1, -1), segments[place]]);
    else if (one !== segments[place]) return null;
  }
  return template.length === segments.length ? found : null;
}

// Each segment by itself: a `/` in it does not make two of it. What is no UTF-8 is no error.
function decoded(segment) {
  return segment.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(run.replaceAll("%", ""), "hex")),
  );
}
