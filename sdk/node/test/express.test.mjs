// The real Express, in both of its versions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";

import { handler } from "fabric-handler";

import { BOTH, bytesOf, LITTLE_TIME, versionOne, versionTwo } from "./support.mjs";

const HERE = fileURLToPath(import.meta.url);
const JSON_TYPE = { "content-type": "application/json", host: "shop.test", "x-forwarded-proto": "https" };

for (const name of ["express4", "express"]) {
  const { default: express } = await import(name);

  function shop() {
    const app = express();
    app.use(express.json({ limit: "8mb" }), express.urlencoded({ extended: true }), express.raw({ type: "image/*" }));
    app.get("/users/:id", (req, res) => res.json({ id: req.params.id, query: req.query, path: req.path }));
    app.get("/who", (req, res) => res.json({ ip: req.ip, protocol: req.protocol, secure: req.secure, host: req.hostname }));
    app.post("/users", (req, res) => res.status(201).location("/users/9").json(req.body));
    app.post("/images", (req, res) => res.type("png").send(req.body));
    app.get("/login", (req, res) => {
      res.cookie("session", "a b", { httpOnly: true }).cookie("theme", "dark").vary("Accept").vary("Origin").send(req.headers.cookie);
    });
    app.get("/file", (_req, res) => res.sendFile(HERE));
    app.get("/old", (_req, res) => res.redirect("/users/1"));
    app.get("/fails", () => {
      throw new Error("mark");
    });
    app.get("/never", () => {});
    app.use((error, _req, res, _next) => res.status(error.status ?? 418).json({ error: error.message }));
    return app;
  }

  for (const [version, event] of Object.entries(BOTH)) {
    test(`${name}, ${version}: routes, parameters, bodies and statuses`, async () => {
      const wrapped = handler(shop(), { basePath: "/api" });
      const found = await wrapped(event({ path: "/api/users/7" }));
      assert.deepEqual([found.statusCode, JSON.parse(found.body)], [200, { id: "7", query: {}, path: "/users/7" }]);
      const posted = { method: "POST", path: "/api/users", headers: JSON_TYPE, multiValueHeaders: undefined, body: '{"a":["ü"]}' };
      const made = await wrapped(event(posted));
      assert.deepEqual([made.statusCode, made.headers.location, made.body], [201, "/users/9", '{"a":["ü"]}']);
      assert.equal((await wrapped(event({ path: "/api/nothing" }))).statusCode, 404);
    });

    test(`${name}, ${version}: the client's address and https`, async () => {
      const { body } = await handler(shop())(event({ path: "/who" }));
      assert.deepEqual(JSON.parse(body), { ip: "192.0.2.7", protocol: "https", secure: true, host: "shop.test" });
    });

    test(`${name}, ${version}: errors are answered by the application's own error handler`, async () => {
      const wrapped = handler(shop());
      const failed = await wrapped(event({ path: "/fails" }));
      assert.deepEqual([failed.statusCode, failed.body], [418, '{"error":"mark"}']);
      const broken = { method: "POST", path: "/users", headers: JSON_TYPE, multiValueHeaders: undefined, body: "{" };
      assert.equal((await wrapped(event(broken))).statusCode, 400);
    });

    test(`${name}, ${version}: bytes both ways, and a file`, async () => {
      const image = Buffer.from([0x89, 0x50, 0, 255]);
      const headers = { "content-type": "image/png" };
      const sent = { method: "POST", path: "/images", headers, multiValueHeaders: undefined };
      const wrapped = handler(shop());
      const back = await wrapped(event({ ...sent, body: image.toString("base64"), isBase64Encoded: true }));
      assert.deepEqual([back.isBase64Encoded, bytesOf(back)], [true, image]);
      const file = await wrapped(event({ path: "/file" }));
      assert.deepEqual(bytesOf(file), await readFile(HERE));
    });
  }

  test(`${name}: cookies both ways`, async () => {
    const cookies = ["session=a%20b; Path=/; HttpOnly", "theme=dark; Path=/"];
    const newer = await handler(shop())(versionTwo({ path: "/login", cookies: ["a=1", "b=2"] }));
    assert.deepEqual([newer.cookies, newer.body, newer.headers.vary], [cookies, "a=1; b=2", "Accept, Origin"]);
    const older = await handler(shop())(versionOne({ path: "/login", multiValueHeaders: { Cookie: ["a=1; b=2"] } }));
    assert.deepEqual([older.multiValueHeaders["set-cookie"], older.body], [cookies, "a=1; b=2"]);
  });

  test(`${name}: queries with many values, forms, redirects`, async () => {
    const wrapped = handler(shop());
    const found = await wrapped(versionTwo({ path: "/users/1", query: "a=1&a=2&b=x%20y" }));
    assert.deepEqual(JSON.parse(found.body).query, { a: ["1", "2"], b: "x y" });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const form = await wrapped(versionTwo({ method: "POST", path: "/users", headers, body: "a=1&b%5Bc%5D=2" }));
    assert.equal(form.body, '{"a":"1","b":{"c":"2"}}');
    const { statusCode, headers: answered } = await wrapped(versionTwo({ path: "/old" }));
    assert.deepEqual([statusCode, answered.location], [302, "/users/1"]);
  });

  test(`${name}: behind a proxy that it trusts, the forwarded address counts`, async () => {
    const app = shop();
    app.set("trust proxy", true);
    const headers = { "x-forwarded-for": "198.51.100.3, 192.0.2.7", "x-forwarded-proto": "https", host: "a.test" };
    const { body } = await handler(app)(versionTwo({ path: "/who", headers }));
    assert.equal(JSON.parse(body).ip, "198.51.100.3");
  });

  test(`${name}: a route that never answers is a 504, and the next call works`, async () => {
    const wrapped = handler(shop());
    assert.equal((await wrapped(versionTwo({ path: "/never" }), LITTLE_TIME)).statusCode, 504);
    assert.equal((await wrapped(versionTwo({ path: "/users/1" }))).statusCode, 200);
  });

  test(`${name}: hundreds of calls, one after the other`, async () => {
    const app = shop();
    const wrapped = handler(Promise.resolve(app));
    for (let at = 0; at < 300; at += 1) {
      assert.equal(JSON.parse((await wrapped(versionTwo({ path: `/users/${at}` }))).body).id, String(at));
    }
    assert.ok(app.listenerCount("mount") <= 1);
  });
}
