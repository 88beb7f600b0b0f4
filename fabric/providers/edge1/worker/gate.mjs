// The one address of a service: sends each request to the Worker of its function.
import { routeTable } from "./routes.mjs";
import { answerHeaders, preflightHeaders } from "./serving_cors.mjs";

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
  const headers = preflightHeaders(routes, request.method, (name) => request.headers.get(name));
  return headers && new Response(null, { status: 204, headers });
}

function shared(answer, cors, request) {
  const open = new Response(answer.body, answer);
  for (const [name, value] of Object.entries(answerHeaders(cors, request.headers.get("origin")))) {
    if (name === "vary") open.headers.append(name, value);
    else open.headers.set(name, value);
  }
  return open;
}
