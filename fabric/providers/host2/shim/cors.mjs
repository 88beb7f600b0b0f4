// What pages of other origins may do, as the triggers of a function say it.

export function preflight(rows, request) {
  const asked = request.headers["access-control-request-method"];
  if (request.method !== "OPTIONS" || !asked) return null;
  const open = rows.filter((one) => one.cors);
  const { cors } = open.find((one) => [asked, "ANY"].includes(one.method)) ?? open[0] ?? {};
  if (!cors) return null;
  const wanted = request.headers["access-control-request-headers"];
  const names = cors.headers.length ? cors.headers : wanted ? [wanted] : [];
  const headers = [
    ...headersOf(cors, request),
    ["access-control-allow-methods", cors.methods.join(", ")],
    ...(names.length ? [["access-control-allow-headers", names.join(", ")]] : []),
    ...(cors.maxAge ? [["access-control-max-age", cors.maxAge]] : []),
  ];
  return { status: 204, headers, body: Buffer.alloc(0) };
}

// What the trigger says goes before what the handler says.
export function forBrowsers(answer, cors, request) {
  if (!cors) return answer;
  const said = headersOf(cors, request);
  const names = new Set(said.map(([name]) => name).filter((name) => name !== "vary"));
  return { ...answer, headers: [...answer.headers.filter(([name]) => !names.has(name)), ...said] };
}

function headersOf(cors, request) {
  const { origin } = request.headers;
  if (!origin || !cors.origins.some((one) => one === "*" || one === origin)) return [];
  const isOpen = cors.origins.includes("*") && !cors.credentials;
  return [
    ["access-control-allow-origin", isOpen ? "*" : origin],
    ...(isOpen ? [] : [["vary", "origin"]]),
    ...(cors.exposed.length ? [["access-control-expose-headers", cors.exposed.join(", ")]] : []),
    ...(cors.credentials ? [["access-control-allow-credentials", "true"]] : []),
  ];
}
