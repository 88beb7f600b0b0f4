// The real Fastify, in both versions that are in use.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { handler, invocationOf } from "fabric-handler";

import { BOTH, bytesOf, LITTLE_TIME, needsNode, versionOne, versionTwo } from "./support.mjs";

const HERE = fileURLToPath(import.meta.url);
const JSON_TYPE = { "content-type": "application/json", host: "shop.test", "x-forwarded-proto": "https" };

for (const [name, least] of Object.entries({ fastify4: 18, fastify: 20 })) {
  const skip = needsNode(least);
  const fastify = skip ? undefined : (await import(name)).default;

  function shop() {
    const app = fastify();
    app.register(async (inner) => {
      inner.get("/users/:id", async (request) => ({ id: request.params.id, query: request.query }));
    });
    app.get("/who", async ({ ip, protocol, hostname }) => ({ ip, protocol, hostname }));
    app.get("/event", async (request) => invocationOf(request).event.rawPath);
    app.post("/users", async (request, reply) => reply.code(201).send(request.body));
    app.addContentTypeParser("image/png", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.post("/images", async (request, reply) => reply.type("image/png").send(request.body));
    app.get("/login", async (request, reply) => {
      reply.header("set-cookie", ["a=1", "b=2"]).header("vary", ["x", "y"]).type("text/plain");
      return request.headers.cookie;
    });
    app.get("/file", (_request, reply) => reply.type("text/javascript").send(createReadStream(HERE)));
    app.get("/fails", async () => {
      throw new Error("mark");
    });
    app.get("/never", () => {});
    app.setErrorHandler((error, _request, reply) => reply.code(error.statusCode ?? 418).send({ error: error.message }));
    return app;
  }

  for (const [version, event] of Object.entries(BOTH)) {
    test(`${name}, ${version}: routes of plug-ins, parameters, bodies and statuses`, { skip }, async () => {
      const wrapped = handler(shop(), { basePath: "/api" });
      const found = await wrapped(event({ path: "/api/users/7" }));
      assert.deepEqual([found.statusCode, JSON.parse(found.body)], [200, { id: "7", query: {} }]);
      const posted = { method: "POST", path: "/api/users", headers: JSON_TYPE, multiValueHeaders: undefined, body: '{"a":["ü"]}' };
      const made = await wrapped(event(posted));
      assert.deepEqual([made.statusCode, made.body], [201, '{"a":["ü"]}']);
      assert.equal((await wrapped(event({ path: "/api/nothing" }))).statusCode, 404);
    });

    test(`${name}, ${version}: the client's address and https`, { skip }, async () => {
      const { body } = await handler(shop())(event({ path: "/who" }));
      assert.deepEqual(JSON.parse(body), { ip: "192.0.2.7", protocol: "https", hostname: "shop.test" });
    });

    test(`${name}, ${version}: errors are answered by the instance's own error handler`, { skip }, async () => {
      const wrapped = handler(shop());
      const failed = await wrapped(event({ path: "/fails" }));
      assert.deepEqual([failed.statusCode, failed.body], [418, '{"error":"mark"}']);
      const broken = { method: "POST", path: "/users", headers: JSON_TYPE, multiValueHeaders: undefined, body: "{" };
      assert.equal((await wrapped(event(broken))).statusCode, 400);
    });

    test(`${name}, ${version}: bytes both ways, and a stream`, { skip }, async () => {
      const image = Buffer.from([0x89, 0x50, 0, 255]);
      const headers = { "content-type": "image/png" };
      const sent = { method: "POST", path: "/images", headers, multiValueHeaders: undefined };
      const wrapped = handler(shop());
      const back = await wrapped(event({ ...sent, body: image.toString("base64"), isBase64Encoded: true }));
      assert.deepEqual([back.isBase64Encoded, bytesOf(back)], [true, image]);
      assert.deepEqual(bytesOf(await wrapped(event({ path: "/file" }))), await readFile(HERE));
    });
  }

  test(`${name}: cookies both ways, headers with several values`, { skip }, async () => {
    const newer = await handler(shop())(versionTwo({ path: "/login", cookies: ["s=1", "t=2"] }));
    assert.deepEqual([newer.cookies, newer.body, newer.headers.vary], [["a=1", "b=2"], "s=1; t=2", "x, y"]);
    const older = await handler(shop())(versionOne({ path: "/login", multiValueHeaders: { Cookie: ["s=1"] } }));
    assert.deepEqual(older.multiValueHeaders, { "set-cookie": ["a=1", "b=2"], vary: ["x", "y"] });
  });

  test(`${name}: a request knows its event`, { skip }, async () => {
    assert.equal((await handler(shop())(versionTwo({ path: "/event" }))).body, "/event");
  });

  test(`${name}: an instance that is promised, and one that is ready already`, { skip }, async () => {
    const ready = shop();
    await ready.ready();
    for (const app of [ready, Promise.resolve(shop()), (async () => shop())()]) {
      assert.equal((await handler(app)(versionTwo({ path: "/users/1" }))).statusCode, 200);
    }
  });

  test(`${name}: a plug-in that fails to start fails each call`, { skip }, async () => {
    const app = shop();
    app.register(async () => {
      throw new Error("no database");
    });
    const wrapped = handler(app);
    await assert.rejects(wrapped(versionTwo()), /no database/);
    await assert.rejects(wrapped(versionTwo()), /no database/);
  });

  test(`${name}: a route that never answers is a 504, and the next call works`, { skip }, async () => {
    const wrapped = handler(shop());
    assert.equal((await wrapped(versionTwo({ path: "/users/1" }))).statusCode, 200);
    assert.equal((await wrapped(versionTwo({ path: "/never" }), LITTLE_TIME)).statusCode, 504);
    assert.equal((await wrapped(versionTwo({ path: "/users/1" }))).statusCode, 200);
  });

  test(`${name}: hundreds of calls, one after the other`, { skip }, async () => {
    const wrapped = handler(shop());
    for (let at = 0; at < 300; at += 1) {
      assert.equal(JSON.parse((await wrapped(versionTwo({ path: `/users/${at}` }))).body).id, String(at));
    }
  });
}
