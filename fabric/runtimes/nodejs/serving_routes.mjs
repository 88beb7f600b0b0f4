// Which route of a function a request takes: literal segments before templates, those before {name+}.
const ANY = "ANY";
const DEFAULT = { key: "$default", pathParameters: {} };

export function routesOf(rows) {
  return rows.map((row) => ({ ...row, key: `${row.method} ${row.path}`, ...patternOf(row.path) })).sort((a, b) => order(a.rank, b.rank));
}

// The route, or the methods that its path has; without routes everything is taken.
export function routed(routes, method, path) {
  if (!routes.length) return DEFAULT;
  const asked = path.split("/").map((one) => encodeURIComponent(decoded(one))).join("/");
  const fitting = routes.map((route) => [route, route.pattern.exec(asked)]).filter(([, found]) => found);
  for (const wanted of method === "HEAD" ? [method, "GET", ANY] : [method, ANY]) {
    const [route, found] = fitting.find(([one]) => one.method === wanted) ?? [];
    if (route) return { key: route.key, pathParameters: parameters(route, found) };
  }
  return { allowed: [...new Set(fitting.map(([route]) => route.method))].sort() };
}

function patternOf(path) {
  const names = [];
  const parts = path.split("/").filter(Boolean).map((segment) => {
    const name = /^\{([^{}+]+)(\+?)\}$/.exec(segment);
    if (!name) return encodeURIComponent(segment).replace(/[.*+?^$()|[\]\\{}]/g, "\\$&");
    names.push(name[1]);
    return name[2] ? "(.+)" : "([^/]+)";
  });
  const rank = path.split("/").filter(Boolean).map((segment) => (segment.endsWith("+}") ? "2" : segment.startsWith("{") ? "1" : "0")).join("");
  return { names, rank, pattern: new RegExp(`^/${parts.join("/")}/?$`) };
}

// A longer rank is the closer one where both begin alike.
function order(one, other) {
  if (one === other) return 0;
  return one < other || one.startsWith(other) ? -1 : 1;
}

function parameters({ names }, found) {
  return Object.fromEntries(names.map((name, at) => [name, decoded(found[at + 1])]));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
