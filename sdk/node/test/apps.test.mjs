// The kinds of applications, by applications as small as can be.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import whole, { handler, invocationOf, NotHttpEventError } from "fabric-handler";

import { BOTH, echo, LITTLE_TIME, versionTwo } from "./support.mjs";

const hello = (_req, res) => res.end("hello");

function injected(answer = {}) {
  const asked = [];
  const inject = async (request) => {
    asked.push(request);
    return { statusCode: 200, headers: { "X-One": 1, "set-cookie": ["a=1", "b=2"], gone: undefined }, payload: "hello", ...answer };
  };
  return { app: { inject }, asked };
}

const SMALL = {
  "a function (req, res)": () => hello,
  "an instance with inject()": () => injected().app,
  "an application with getHttpAdapter()": () => ({ getHttpAdapter: () => ({ getInstance: () => hello }) }),
  "an application with getHttpAdapter() on an instance with inject()": () => ({
    getHttpAdapter: () => ({ getInstance: () => injected().app }),
  }),
  "a promise": async () => hello,
  "a promise of a promise of an instance": async () => Promise.resolve(injected().app),
};

for (const [name, made] of Object.entries(SMALL)) {
  for (const [version, event] of Object.entries(BOTH)) {
    test(`${name} is a handler for ${version}`, async () => {
      const wrapped = handler(made());
      for (let call = 0; call < 3; call += 1) {
        const { statusCode, body } = await wrapped(event());
        assert.deepEqual([statusCode, body], [200, "hello"]);
      }
    });
  }
}

test("inject() is given the request, and its answer has the event's shape", async () => {
  const { app, asked } = injected();
  const event = versionTwo({ method: "PUT", path: "/api/x", query: "a=1", body: "hi", cookies: ["s=1"] });
  const answer = await handler(app, { basePath: "/api" })(event);
  assert.deepEqual(asked, [
    {
      method: "PUT",
      url: "/x?a=1",
      headers: { host: "shop.test", "x-forwarded-proto": "https", cookie: "s=1" },
      remoteAddress: "192.0.2.7",
      payload: Buffer.from("hi"),
    },
  ]);
  assert.deepEqual([answer.headers, answer.cookies], [{ "x-one": "1" }, ["a=1", "b=2"]]);
});

test("bytes of inject() stay bytes", async () => {
  const { app } = injected({ rawPayload: Buffer.from([255]), headers: { "content-type": "image/png" } });
  const { body, isBase64Encoded } = await handler(app)(versionTwo());
  assert.deepEqual([body, isBase64Encoded], ["/w==", true]);
});

test("an inject() that never answers is a 504, and one that fails is its error", async () => {
  assert.equal((await handler({ inject: () => new Promise(() => {}) }, { timeout: 20 })(versionTwo())).statusCode, 504);
  await assert.rejects(handler({ inject: () => Promise.reject(new Error("mark")) })(versionTwo()), /mark/);
});

test("an application gets ready once, at the first call", async () => {
  const seen = [];
  const nest = {
    init: async () => void seen.push("init"),
    getHttpAdapter: () => ({ getInstance: () => ({ ready: async () => void seen.push("ready"), ...injected().app }) }),
  };
  const wrapped = handler(nest);
  assert.deepEqual(seen, []);
  await Promise.all([wrapped(versionTwo()), wrapped(versionTwo())]);
  await wrapped(versionTwo());
  assert.deepEqual(seen, ["init", "ready"]);
});

test("getting ready counts as the call's time, and goes on behind it", async () => {
  let ready;
  const app = { ...injected().app, ready: () => new Promise((resolve) => (ready = resolve)) };
  const wrapped = handler(app);
  assert.equal((await wrapped(versionTwo(), LITTLE_TIME)).statusCode, 504);
  ready();
  assert.equal((await wrapped(versionTwo())).statusCode, 200);
});

test("an application that fails to get ready fails each call, and nothing before it", async () => {
  const failing = async () => Promise.reject(new Error("no database"));
  for (const made of [() => ({ ...injected().app, ready: failing }), failing]) {
    const wrapped = handler(made());
    await new Promise(setImmediate);
    await assert.rejects(wrapped(versionTwo()), /no database/);
    await assert.rejects(wrapped(versionTwo()), /no database/);
  }
});

for (const [name, app] of Object.entries({ nothing: undefined, null: null, text: "app", "an object": {}, "a list": [] })) {
  test(`${name} is refused when the module is loaded, or when the promise of it is kept`, async () => {
    assert.throws(() => handler(app), { name: "TypeError", message: /^handler\(\) takes an Express application/ });
    await assert.rejects(handler(Promise.resolve(app))(versionTwo()), TypeError);
  });
}

const BAD_OPTIONS = {
  "unknown option basepath: there are basePath, timeout, binaryTypes, onEvent": { basepath: "/" },
  "basePath must be text, such as /api": { basePath: 1 },
  "timeout must be a positive number of milliseconds": { timeout: 0 },
  "binaryTypes must be a list of types, such as application/pdf or font/*": { binaryTypes: ["pdf"] },
  "onEvent must be a function (event, context)": { onEvent: {} },
  "the options must be an object": null,
};

for (const [message, options] of Object.entries(BAD_OPTIONS)) {
  test(`told when the module is loaded: ${message}`, () => {
    assert.throws(() => handler(hello, options), { name: "TypeError", message });
  });
}

test("both kinds of modules have the same code", () => {
  const required = createRequire(import.meta.url)("fabric-handler");
  assert.equal(whole, handler);
  assert.equal(required.handler, handler);
  assert.equal(required.invocationOf, invocationOf);
  assert.equal(required.NotHttpEventError, NotHttpEventError);
});

test("a handler's parameters are called event and context, by which hosts tell handlers", () => {
  assert.match(String(handler(echo)), /^async \(event, context\) =>/);
  assert.equal(handler(echo).length, 2);
});
