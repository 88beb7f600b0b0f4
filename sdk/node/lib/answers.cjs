"use strict";
// What an application answered, in the shape that the event's version has for it.

// The gateway has a connection of its own.
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"]);

function answerOf(answer, { isOfVersionTwo, isBinary }) {
  const isBase64Encoded = answer.body.length > 0 && isBinary(answer);
  return {
    statusCode: answer.status,
    ...(isOfVersionTwo ? joined : separate)(gathered(answer.headers)),
    body: answer.body.toString(isBase64Encoded ? "base64" : "utf8"),
    isBase64Encoded,
  };
}

function gathered(headers) {
  const found = new Map();
  for (const [name, value] of headers) {
    if (!OF_THE_CONNECTION.has(name)) found.set(name, [...(found.get(name) ?? []), value]);
  }
  return found;
}

// Version 2.0: text for each header, and cookies in a list of their own.
function joined(found) {
  const cookies = found.get("set-cookie");
  const others = [...found].filter(([name]) => name !== "set-cookie");
  return {
    headers: Object.fromEntries(others.map(([name, values]) => [name, values.join(", ")])),
    ...(cookies ? { cookies } : {}),
  };
}

// The older version: each name in one of the two places, as gateways put both together.
function separate(found) {
  const isList = ([name, values]) => values.length > 1 || name === "set-cookie";
  const lists = [...found].filter(isList);
  const single = [...found].filter((one) => !isList(one));
  return {
    headers: Object.fromEntries(single.map(([name, [value]]) => [name, value])),
    ...(lists.length ? { multiValueHeaders: Object.fromEntries(lists) } : {}),
  };
}

module.exports = { answerOf };
