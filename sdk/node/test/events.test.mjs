// What an application is asked, by events of both versions.
import assert from "node:assert/strict";
import { test } from "node:test";

import { handler, invocationOf } from "fabric-handler";

import { BOTH, echo, versionOne, versionTwo } from "./support.mjs";

async function asked(event, options) {
  const answer = await handler(echo, options)(event);
  return JSON.parse(answer.body);
}

for (const [version, event] of Object.entries(BOTH)) {
  test(`${version}: method, path and body reach the application`, async () => {
    const seen = await asked(event({ method: "POST", path: "/users/1", body: '{"a":"ü"}' }));
    assert.deepEqual([seen.method, seen.url], ["POST", "/users/1"]);
    assert.equal(Buffer.from(seen.body, "latin1").toString(), '{"a":"ü"}');
    assert.equal(seen.headers["content-length"], "10");
  });

  test(`${version}: a base64 body is bytes`, async () => {
    const body = Buffer.from([0, 255, 10, 13]);
    const seen = await asked(event({ method: "PUT", body: body.toString("base64"), isBase64Encoded: true }));
    assert.deepEqual(Buffer.from(seen.body, "latin1"), body);
  });

  test(`${version}: the caller's address and https are those of the client`, async () => {
    const seen = await asked(event({ address: "2001:db8::1" }));
    assert.deepEqual([seen.ip, seen.secure], ["2001:db8::1", true]);
  });

  test(`${version}: a base path is taken off where it stands`, async () => {
    for (const basePath of ["/api/v1", "api/v1/", "/api/v1/"]) {
      assert.equal((await asked(event({ path: "/api/v1/users" }), { basePath })).url, "/users");
      assert.equal((await asked(event({ path: "/api/v1" }), { basePath })).url, "/");
      assert.equal((await asked(event({ path: "/api/v10" }), { basePath })).url, "/api/v10");
    }
    assert.equal((await asked(event({ path: "/users" }), { basePath: "/" })).url, "/users");
  });

  test(`${version}: a path with what no request line may have is encoded, and left as it is else`, async () => {
    assert.equal((await asked(event({ path: "/a b/ü?#\ud800" }))).url, "/a%20b/%C3%BC%3F%23%EF%BF%BD");
    assert.equal((await asked(event({ path: "/a%2fb/../c//d" }))).url, "/a%2fb/../c//d");
    assert.equal((await asked(event({ path: "" }))).url, "/");
  });

  test(`${version}: headers of the client's connection do not reach the application`, async () => {
    const headers = { Connection: "upgrade", Upgrade: "websocket", Expect: "100-continue" };
    const sent = { ...headers, "Content-Length": "99", "Transfer-Encoding": "chunked", Host: "a.test" };
    const seen = await asked(event({ method: "POST", headers: sent, multiValueHeaders: undefined, body: "hi" }));
    assert.deepEqual(seen.headers, { host: "a.test", "content-length": "2", connection: "close" });
  });

  test(`${version}: a listener finds the event and the context of its request`, async () => {
    const [found, context] = [[], { awsRequestId: "1" }];
    const wrapped = handler((req, res) => res.end(void found.push(invocationOf(req))));
    const sent = event();
    await wrapped(sent, context);
    assert.equal(found[0].event, sent);
    assert.equal(found[0].context, context);
    assert.equal(invocationOf({}), undefined);
  });
}

test("version 2.0: the query is passed on, and cookies become one header", async () => {
  const seen = await asked(versionTwo({ query: "a=1&a=2&b=x%20y+z", cookies: ["s=1", "t=2"] }));
  assert.equal(seen.url, "/?a=1&a=2&b=x%20y+z");
  assert.equal(seen.headers.cookie, "s=1; t=2");
});

test("version 2.0: an event written by hand may leave out nearly all", async () => {
  const seen = await asked({ rawPath: "/x", queryStringParameters: { a: "1 2" } });
  assert.deepEqual([seen.method, seen.url], ["GET", "/x?a=1+2"]);
  assert.deepEqual([seen.headers.host, seen.ip, seen.secure], ["localhost", "127.0.0.1", false]);
});

test("version 2.0 is told by its own fields where the older names are there as well", async () => {
  const answer = await handler((req, res) => res.setHeader("set-cookie", "a=1").end(req.url))(
    versionTwo({ path: "/new", httpMethod: "GET" }),
  );
  assert.deepEqual([answer.cookies, answer.multiValueHeaders, answer.body], [["a=1"], undefined, "/new"]);
});

test("the older version: each value of a header and of a query counts", async () => {
  const seen = await asked(
    versionOne({
      headers: { Accept: "b", "X-Only": "1" },
      multiValueHeaders: { Accept: ["a", "b"], Cookie: ["s=1", "t=2"] },
      queryStringParameters: { a: "2", only: "1" },
      multiValueQueryStringParameters: { a: ["1", "2"], "b c": ["&"] },
    }),
  );
  assert.equal(seen.url, "/?a=1&a=2&only=1&b+c=%26");
  assert.equal(seen.headers.accept, "a, b");
  assert.equal(seen.rawHeaders.filter((one) => one === "accept").length, 2);
  assert.deepEqual([seen.headers.cookie, seen.headers["x-only"]], ["s=1; t=2", "1"]);
});

test("the older version: an event with single values only is enough", async () => {
  const seen = await asked({ httpMethod: "get", path: "/x", headers: { Cookie: "a=1" }, queryStringParameters: { q: "1" } });
  assert.deepEqual([seen.method, seen.url, seen.headers.cookie], ["GET", "/x?q=1", "a=1"]);
});

test("text in a header that is beyond its bytes goes as UTF-8", async () => {
  const seen = await asked(versionTwo({ headers: { "x-name": "→", "x-old": "\xfc" } }));
  assert.equal(Buffer.from(seen.headers["x-name"], "latin1").toString(), "→");
  assert.equal(seen.headers["x-old"], "\xfc");
});

test("a header with a line break is an error, and the next call works", async () => {
  const wrapped = handler(echo);
  await assert.rejects(wrapped(versionTwo({ headers: { "x-bad": "a\r\nb: c" } })), { code: "ERR_INVALID_CHAR" });
  assert.equal((await wrapped(versionTwo())).statusCode, 200);
});

test("a method that nobody knows is a bad request", async () => {
  assert.equal((await handler(echo)(versionTwo({ method: "FETCH" }))).statusCode, 400);
});

const NO_HTTP = {
  "an event of aws:sqs": { Records: [{ eventSource: "aws:sqs", body: "" }] },
  "an event of my.app": { version: "0", source: "my.app", "detail-type": "Sample", detail: {} },
  "an event with the keys message, subscription": { message: {}, subscription: "s" },
  "an event with the keys (none)": {},
  "an event that is null": null,
  "an event that is of type string": "text",
  "an event that is of type object": [],
};

for (const [name, event] of Object.entries(NO_HTTP)) {
  test(`${name} is no http event, and said to be none by name`, async () => {
    await assert.rejects(handler(echo)(event), (error) => {
      assert.equal(error.name, "NotHttpEventError");
      assert.equal(error.message, `${name} is not an HTTP event: set onEvent to handle other events`);
      return true;
    });
  });

  test(`${name} goes to onEvent where there is one`, async () => {
    const wrapped = handler(echo, { onEvent: (given, context) => ({ given, context }) });
    assert.deepEqual(await wrapped(event, 7), { given: event, context: 7 });
  });
}

test("onEvent is given no http events", async () => {
  const wrapped = handler(echo, { onEvent: () => assert.fail("called") });
  assert.equal((await wrapped(versionTwo())).statusCode, 200);
});
