"use strict";
// Which event and context a request was made of, for what a request has no place for.
const invocations = new WeakMap();

function remember(request, { event, context }) {
  invocations.set(request, { event, context });
}

// Fastify's requests have Node's inside.
function invocationOf(request) {
  return invocations.get(request) ?? invocations.get(request?.raw);
}

module.exports = { invocationOf, remember };
