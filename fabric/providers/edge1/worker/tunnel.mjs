// In the place of the Workers behind a gate: one address elsewhere, that answers for all of them.

const NOBODY = { message: "Service Unavailable" };

// What a gate takes for its bindings: whichever it asks for, the request goes to `url`.
export function tunnelled(url) {
  const end = { fetch: (request) => sent(request, url) };
  return new Proxy({}, { get: () => end });
}

async function sent(request, url) {
  const { pathname, search } = new URL(request.url);
  try {
    // A redirect is the function's own answer.
    return await fetch(new Request(url + pathname + search, new Request(request, { redirect: "manual" })));
  } catch {
    return Response.json(NOBODY, { status: 503 });
  }
}
