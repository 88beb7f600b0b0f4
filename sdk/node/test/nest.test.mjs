// The real Nest, on Express and on Fastify; its decorators are called as compilers do it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { handler, invocationOf } from "fabric-handler";

import { BOTH, bytesOf, LITTLE_TIME, needsNode, versionTwo } from "./support.mjs";

const skip = needsNode(20);
const JSON_TYPE = { "content-type": "application/json", host: "shop.test", "x-forwarded-proto": "https" };
const PLATFORMS = skip ? {} : await platforms();

async function platforms() {
  await import("reflect-metadata");
  const nest = await import("@nestjs/common");
  const { NestFactory } = await import("@nestjs/core");
  const { FastifyAdapter } = await import("@nestjs/platform-fastify");
  const { ShopModule, ShopFilter } = shopOf(nest);
  const made = async (...adapter) => {
    const app = await NestFactory.create(ShopModule, ...adapter, { logger: false });
    return app.useGlobalFilters(new ShopFilter());
  };
  return { Express: () => made(), Fastify: () => made(new FastifyAdapter()) };
}

function decorated(target, method, decorators, parameters = []) {
  const descriptor = Object.getOwnPropertyDescriptor(target.prototype, method);
  for (const one of decorators) one(target.prototype, method, descriptor);
  parameters.forEach((one, at) => one(target.prototype, method, at));
}

function shopOf({ Body, Catch, Controller, Get, Header, HttpException, Module, NotFoundException, Param, Post, Req, StreamableFile }) {
  class ShopController {
    find(id) {
      if (id === "9") throw new NotFoundException("no user 9");
      return { id };
    }

    make(body) {
      return body;
    }

    who(req) {
      return { ip: req.ip, protocol: req.protocol, path: invocationOf(req).event.path ?? invocationOf(req).event.rawPath };
    }

    image() {
      return new StreamableFile(Buffer.from([0x89, 255]), { type: "image/png" });
    }

    login() {
      return "hi";
    }

    fails() {
      throw new Error("mark");
    }

    never() {
      return new Promise(() => {});
    }
  }
  decorated(ShopController, "find", [Get("users/:id")], [Param("id")]);
  decorated(ShopController, "make", [Post("users")], [Body()]);
  decorated(ShopController, "who", [Get("who")], [Req()]);
  decorated(ShopController, "image", [Get("image")]);
  decorated(ShopController, "login", [Get("login"), Header("set-cookie", "a=1")]);
  decorated(ShopController, "fails", [Get("fails")]);
  decorated(ShopController, "never", [Get("never")]);
  Controller()(ShopController);

  class ShopModule {}
  Module({ controllers: [ShopController] })(ShopModule);

  class ShopFilter {
    catch(error, host) {
      const status = error instanceof HttpException ? error.getStatus() : 418;
      const response = host.switchToHttp().getResponse();
      response.status(status);
      response.send({ error: error.message, by: "ShopFilter" });
    }
  }
  Catch()(ShopFilter);
  return { ShopModule, ShopFilter };
}

test("Nest", { skip }, () => assert.equal(Object.keys(PLATFORMS).length, 2));

for (const [platform, shop] of Object.entries(PLATFORMS)) {
  for (const [version, event] of Object.entries(BOTH)) {
    test(`Nest on ${platform}, ${version}: an application that nobody started gets ready and answers`, async () => {
      const wrapped = handler(shop(), { basePath: "/api" });
      const found = await wrapped(event({ path: "/api/users/7" }));
      assert.deepEqual([found.statusCode, JSON.parse(found.body)], [200, { id: "7" }]);
      const posted = { method: "POST", path: "/api/users", headers: JSON_TYPE, multiValueHeaders: undefined, body: '{"a":"ü"}' };
      const made = await wrapped(event(posted));
      assert.deepEqual([made.statusCode, JSON.parse(made.body)], [201, { a: "ü" }]);
    });

    test(`Nest on ${platform}, ${version}: errors are answered by its filters`, async () => {
      const wrapped = handler(shop());
      const missing = await wrapped(event({ path: "/users/9" }));
      assert.deepEqual([missing.statusCode, JSON.parse(missing.body)], [404, { error: "no user 9", by: "ShopFilter" }]);
      const failed = await wrapped(event({ path: "/fails" }));
      assert.deepEqual([failed.statusCode, JSON.parse(failed.body)], [418, { error: "mark", by: "ShopFilter" }]);
      assert.equal((await wrapped(event({ path: "/nothing" }))).statusCode, 404);
    });

    test(`Nest on ${platform}, ${version}: the client's address, https, bytes and cookies`, async () => {
      const wrapped = handler(shop());
      const { body } = await wrapped(event({ path: "/who" }));
      assert.deepEqual(JSON.parse(body), { ip: "192.0.2.7", protocol: "https", path: "/who" });
      const image = await wrapped(event({ path: "/image" }));
      assert.deepEqual([image.isBase64Encoded, [...bytesOf(image)]], [true, [0x89, 255]]);
      const login = await wrapped(event({ path: "/login" }));
      assert.deepEqual(login.cookies ?? login.multiValueHeaders["set-cookie"], ["a=1"]);
    });
  }

  test(`Nest on ${platform}: an application that was started already is not started again`, async () => {
    const app = await shop();
    await app.init();
    assert.equal((await handler(app)(versionTwo({ path: "/users/1" }))).statusCode, 200);
  });

  test(`Nest on ${platform}: a route that never answers is a 504, and the next call works`, async () => {
    const app = await shop();
    await app.init();
    const wrapped = handler(app);
    assert.equal((await wrapped(versionTwo({ path: "/users/1" }))).statusCode, 200);
    assert.equal((await wrapped(versionTwo({ path: "/never" }), LITTLE_TIME)).statusCode, 504);
    assert.equal((await wrapped(versionTwo({ path: "/users/1" }))).statusCode, 200);
  });
}
