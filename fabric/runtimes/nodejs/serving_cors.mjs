// What pages of other origins are told, as headers. `cors` has `origins`, `methods`, `headers`,
// `exposed`, `credentials` and `maxAge`; rows are routes that may have one.

// Of an answer to a page of that origin.
export function answerHeaders(cors, origin) {
  if (!origin || !cors.origins.some((one) => one === "*" || one === origin)) return {};
  const isOpen = cors.origins.includes("*") && !cors.credentials;
  return {
    "access-control-allow-origin": isOpen ? "*" : origin,
    ...(isOpen ? {} : { vary: "origin" }),
    ...(cors.exposed.length ? { "access-control-expose-headers": cors.exposed.join(", ") } : {}),
    ...(cors.credentials ? { "access-control-allow-credentials": "true" } : {}),
  };
}

// What a browser wants to know before it asks for one of the rows of a path; null where it asks for
// nothing, or none of them is open. `header` gives one of the request's by its name.
export function preflightHeaders(rows, method, header) {
  const asked = header("access-control-request-method");
  if (method !== "OPTIONS" || !asked) return null;
  const open = rows.filter((one) => one.cors);
  const { cors } = open.find((one) => [asked, "ANY"].includes(one.method)) ?? open[0] ?? {};
  if (!cors) return null;
  const wanted = header("access-control-request-headers");
  const headers = cors.headers.length ? cors.headers : wanted ? [wanted] : [];
  return {
    ...answerHeaders(cors, header("origin")),
    "access-control-allow-methods": cors.methods.join(", "),
    ...(headers.length ? { "access-control-allow-headers": headers.join(", ") } : {}),
    ...(cors.maxAge ? { "access-control-max-age": cors.maxAge } : {}),
  };
}
