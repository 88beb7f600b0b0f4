// Calls that fail, calls that take too long, and many of them.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { handler } from "fabric-handler";

import { BOTH, echo, LITTLE_TIME, versionTwo } from "./support.mjs";

const WITH_A_MARK = new Error("mark");
const FAILING = {
  throws: () => {
    throw WITH_A_MARK;
  },
  rejects: async () => {
    throw WITH_A_MARK;
  },
  "throws within an answer": (_req, res) => {
    res.write("begun");
    throw WITH_A_MARK;
  },
};

for (const [name, listener] of Object.entries(FAILING)) {
  test(`a listener that ${name} fails the call with its own error, and only that one`, async () => {
    let fails = true;
    const wrapped = handler((req, res) => (fails ? listener : echo)(req, res));
    await assert.rejects(wrapped(versionTwo()), WITH_A_MARK);
    fails = false;
    assert.equal((await wrapped(versionTwo())).statusCode, 200);
  });
}

const CLOSING = {
  "before its answer": (_req, res) => void res.destroy(),
  "by the request": (req) => void req.destroy(),
  "by the connection": (req) => void req.socket.destroy(),
  "within its answer": (_req, res) => void res.write("begun", () => res.destroy()),
};

for (const [name, listener] of Object.entries(CLOSING)) {
  test(`a connection that is closed ${name} is an error by name`, async () => {
    await assert.rejects(handler(listener)(versionTwo()), { message: /closed the connection before the response was complete/ });
  });
}

for (const [version, event] of Object.entries(BOTH)) {
  test(`${version}: an application that never answers gives a 504, and the next call works`, async () => {
    const [seen, wait] = [new EventEmitter(), { path: "/never" }];
    const closed = once(seen, "closed");
    const wrapped = handler((req, res) => {
      if (req.url !== wait.path) return echo(req, res);
      res.on("close", () => seen.emit("closed", res.writableFinished));
    });
    assert.deepEqual(await wrapped(event(wait), LITTLE_TIME), {
      statusCode: 504,
      headers: { "content-type": "application/json" },
      body: '{"error":"the application did not answer within 45 ms"}',
      isBase64Encoded: false,
    });
    assert.deepEqual(await closed, [false], "the application is told that nobody waits");
    assert.equal((await wrapped(event())).statusCode, 200);
  });
}

test("an answer that begins and never ends is a 504 by the limit that is given", async () => {
  const wrapped = handler((_req, res) => void res.write("begun"), { timeout: 30 });
  const { statusCode, body } = await wrapped(versionTwo());
  assert.deepEqual([statusCode, body], [504, '{"error":"the application did not answer within 30 ms"}']);
});

test("the context's remaining time less a margin is the limit, also of a longer one", async () => {
  for (const options of [{}, { timeout: 60_000 }]) {
    const { statusCode, body } = await handler(() => {}, options)(versionTwo(), LITTLE_TIME);
    assert.deepEqual([statusCode, JSON.parse(body).error], [504, "the application did not answer within 45 ms"]);
  }
});

test("without a limit an answer is waited for, and a limit beyond timers is none", async () => {
  const soon = (_req, res) => void setImmediate(() => res.end("done"));
  for (const [options, context] of [[{}, undefined], [{ timeout: 2 ** 40 }, undefined], [{}, { getRemainingTimeInMillis: () => 2 ** 40 }]]) {
    assert.equal((await handler(soon, options)(versionTwo(), context)).body, "done");
  }
});

test("calls side by side have answers of their own", async () => {
  const wrapped = handler(echo);
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => wrapped(versionTwo({ path: `/${at}` }))));
  assert.deepEqual(answers.map(({ body }) => JSON.parse(body).url), Array.from({ length: 50 }, (_, at) => `/${at}`));
});

test("hundreds of calls leave no listener, timer or warning behind", async () => {
  const warnings = [];
  const warned = (warning) => warnings.push(warning);
  process.on("warning", warned);
  const wrapped = handler(echo, { timeout: 60_000 });
  await wrapped(versionTwo());
  const before = standing();
  for (let at = 0; at < 500; at += 1) await wrapped(versionTwo({ method: "POST", body: "x" }));
  await new Promise(setImmediate);
  assert.deepEqual(standing(), before);
  assert.deepEqual(warnings, []);
  process.off("warning", warned);
});

test("nothing is kept of calls that are over, answered or not", async () => {
  const calls = [];
  const seen = (req) => calls.push(new WeakRef(req.socket));
  const wrapped = handler((req, res) => void (seen(req), req.url === "/never" || echo(req, res)));
  const few = { getRemainingTimeInMillis: () => 1 };
  for (let at = 0; at < 100; at += 1) {
    await wrapped(versionTwo({ method: "POST", body: "x" }));
    await wrapped(versionTwo({ path: "/never" }), few);
  }
  await new Promise((resolve) => setTimeout(resolve));
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const left = calls.filter((call) => call.deref()).length;
  assert.ok(left <= 2, `${left} of ${calls.length} connections are still there`);
});

// Of the process: what holds it open, and who listens to it.
function standing() {
  const timers = process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  return { timers, listeners };
}
