// The one address of a service: sends each request to the Worker of its function.
import { routeTable } from "./routes.mjs";

// `routes` are `{method, path, binding, cors}`.
export function gate(routes) {
  const table = routeTable(routes);
  return {
    async fetch(request, env) {
      const { pathname } = new URL(request.url);
      const found = table.find(request.method, pathname);
      if (!found) return preflight(table.onPath(pathname), request) ?? unrouted(table.onPath(pathname));
      const answer = await env[found.route.binding].fetch(request);
      return found.route.cors ? shared(answer, found.route.cors, request) : answer;
    },
  };
}

function unrouted(routes) {
  if (!routes.length) return Response.json({ message: "Not Found" }, { status: 404 });
  const allow = [...new Set(routes.map((one) => one.method))].sort().join(", ");
  return Response.json({ message: "Method Not Allowed" }, { status: 405, headers: { allow } });
}

function preflight(routes, request) {
  const asked = request.headers.get("access-control-request-method");
  if (request.method !== "OPTIONS" || !asked) return null;
  const open = routes.filter((one) => one.cors);
  const { cors } = open.find((one) => [asked, "ANY"].includes(one.method)) ?? open[0] ?? {};
  if (!cors) return null;
  const wanted = request.headers.get("access-control-request-headers");
  const headers = cors.headers.length ? cors.headers : wanted ? [wanted] : [];
  const said = {
    ...answerHeaders(cors, request),
    "access-control-allow-methods": cors.methods.join(", "),
    ...(headers.length ? { "access-control-allow-headers": headers.join(", ") } : {}),
    ...(cors.maxAge ? { "access-control-max-age": cors.maxAge } : {}),
  };
  return new Response(null, { status: 204, headers: said });
}

function shared(answer, cors, request) {
  const open = new Response(answer.body, answer);
  for (const [name, value] of Object.entries(answerHeaders(cors, request))) {
    if (name === "vary") open.headers.append(name, value);
    else open.headers.set(name, value);
  }
  return open;
}

function answerHeaders(cors, request) {
  const origin = request.headers.get("origin");
  if (!origin || !cors.origins.some((one) => one === "*" || one === origin)) return {};
  const isOpen = cors.origins.includes("*") && !cors.credentials;
  return {
    "access-control-allow-origin": isOpen ? "*" : origin,
    ...(isOpen ? {} : { vary: "origin" }),
    ...(cors.exposed.length ? { "access-control-expose-headers": cors.exposed.join(", ") } : {}),
    ...(cors.credentials ? { "access-control-allow-credentials": "true" } : {}),
  };
}
