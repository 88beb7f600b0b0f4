// Which route a request has. Literal segments win over templates, those over `{name+}`; a method
// over ANY.

const ANY = "ANY";

// `routes` are objects with `method` and `path`, and whatever else their owner keeps there.
export function routeTable(routes) {
  const known = routes
    .map((route) => ({ route, segments: segmentsOf(route.path) }))
    .sort((one, other) => compared(rank(one.segments), rank(other.segments)));
  return {
    find(method, path) {
      const wanted = method === "HEAD" ? ["HEAD", "GET", ANY] : [method, ANY];
      const there = onPath(known, path);
      const shapes = [...new Set(there.map((one) => one.shape))];
      for (const shape of shapes)
        for (const name of wanted) {
          const hit = there.find((one) => one.shape === shape && one.route.method === name);
          if (hit) return { route: hit.route, parameters: hit.parameters };
        }
      return null;
    },
    onPath: (path) => onPath(known, path).map((one) => one.route),
  };
}

function onPath(known, path) {
  const segments = segmentsOf(path).map(decoded);
  return known.flatMap(({ route, segments: template }) => {
    const parameters = matched(template, segments);
    return parameters ? [{ route, parameters, shape: rank(template).join() }] : [];
  });
}

function segmentsOf(path) {
  return path.replace(/^\/+|\/+$/g, "").split("/");
}

// What is no UTF-8 is no error.
function decoded(segment) {
  return segment.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = run.slice(1).split("%").map((two) => Number.parseInt(two, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  });
}

function order(segment) {
  if (!segment.startsWith("{")) return 0;
  return segment.endsWith("+}") ? 2 : 1;
}

function rank(segments) {
  return segments.map(order);
}

function compared(one, other) {
  const at = one.findIndex((number, place) => number !== other[place]);
  return at < 0 ? one.length - other.length : one[at] - (other[at] ?? -1);
}

function matched(template, segments) {
  const found = {};
  for (const [place, one] of template.entries()) {
    const kind = order(one);
    if (kind === 2) {
      const rest = segments.slice(place).join("/");
      return rest ? { ...found, [one.slice(1, -2)]: rest } : null;
    }
    if (place >= segments.length || (kind && !segments[place])) return null;
    if (kind) found[one.slice(1, -1)] = segments[place];
    else if (one !== segments[place]) return null;
  }
  return template.length === segments.length ? found : null;
}
