// What comes back, in the shape of the event's version.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { handler } from "fabric-handler";

import { bytesOf, versionOne, versionTwo } from "./support.mjs";

const HERE = fileURLToPath(import.meta.url);

function several(_req, res) {
  res.writeHead(201, { "Content-Type": "text/plain", Vary: ["a", "b"], "Set-Cookie": ["s=1; Path=/", "t=2"] });
  res.end("hi");
}

test("version 2.0 has text for each header, and a list of cookies", async () => {
  assert.deepEqual(await handler(several)(versionTwo()), {
    statusCode: 201,
    headers: { "content-type": "text/plain", vary: "a, b" },
    cookies: ["s=1; Path=/", "t=2"],
    body: "hi",
    isBase64Encoded: false,
  });
});

test("the older version has headers of one value, and lists for more and for cookies", async () => {
  assert.deepEqual(await handler(several)(versionOne()), {
    statusCode: 201,
    headers: { "content-type": "text/plain" },
    multiValueHeaders: { vary: ["a", "b"], "set-cookie": ["s=1; Path=/", "t=2"] },
    body: "hi",
    isBase64Encoded: false,
  });
});

test("one cookie is a list, too, and none is no key", async () => {
  const one = handler((_req, res) => res.setHeader("set-cookie", "a=1").end());
  assert.deepEqual((await one(versionTwo())).cookies, ["a=1"]);
  assert.deepEqual((await one(versionOne())).multiValueHeaders, { "set-cookie": ["a=1"] });
  const none = handler((_req, res) => res.end());
  assert.equal("cookies" in (await none(versionTwo())), false);
  assert.equal("multiValueHeaders" in (await none(versionOne())), false);
});

const TEXT = ["text/html; charset=utf-8", "application/json", "application/problem+json", "image/svg+xml", 'text/x; charset="UTF-8"', ""];
const BINARY = ["image/png", "application/octet-stream", "application/pdf", "multipart/form-data; boundary=x", "text/plain; charset=latin1"];

function typed(type, body = "abc") {
  return (_req, res) => (type ? res.setHeader("content-type", type) : res).end(body);
}

for (const type of TEXT) {
  test(`an answer of type ${type || "(none)"} is text`, async () => {
    const answer = await handler(typed(type))(versionTwo());
    assert.deepEqual([answer.body, answer.isBase64Encoded], ["abc", false]);
  });
}

for (const type of BINARY) {
  test(`an answer of type ${type} is base64`, async () => {
    const answer = await handler(typed(type))(versionTwo());
    assert.deepEqual([answer.body, answer.isBase64Encoded], ["YWJj", true]);
  });
}

test("text that is no UTF-8 is base64, so that no byte is lost", async () => {
  for (const type of ["text/plain", ""]) {
    const answer = await handler(typed(type, Buffer.from([0x61, 0xff])))(versionTwo());
    assert.deepEqual([...bytesOf(answer)], [0x61, 0xff]);
  }
});

test("what is compressed is base64, and identity is not compressed", async () => {
  const zipped = gzipSync("abc");
  const encoded = (name, body) => (_req, res) => res.writeHead(200, { "content-type": "text/plain", "content-encoding": name }).end(body);
  assert.deepEqual(bytesOf(await handler(encoded("gzip", zipped))(versionTwo())), zipped);
  assert.equal((await handler(encoded("gzip", "abc"))(versionTwo())).isBase64Encoded, true);
  assert.equal((await handler(encoded("identity", "abc"))(versionTwo())).isBase64Encoded, false);
});

test("more types may be told to be base64", async () => {
  const binaryTypes = ["text/csv", "Font/*"];
  const isBinary = async (type, types = binaryTypes) => (await handler(typed(type), { binaryTypes: types })(versionTwo())).isBase64Encoded;
  assert.equal(await isBinary("text/csv; charset=utf-8"), true);
  assert.equal(await isBinary("text/plain"), false);
  assert.equal(await isBinary("font/ttf"), true);
  assert.equal(await isBinary("text/plain", ["*/*"]), true);
});

test("an empty answer is empty text, and HEAD has the headers alone", async () => {
  const image = handler(typed("image/png"));
  const { body, isBase64Encoded, headers } = await image(versionTwo({ method: "HEAD" }));
  assert.deepEqual([body, isBase64Encoded, headers["content-type"]], ["", false, "image/png"]);
  const empty = await handler((_req, res) => res.writeHead(204).end())(versionTwo());
  assert.deepEqual([empty.statusCode, empty.body, empty.isBase64Encoded], [204, "", false]);
});

test("an answer in parts, and one from a file, come whole", async () => {
  const parts = handler(async (_req, res) => {
    for (const part of ["a", "b", "c"]) {
      res.write(part);
      await new Promise(setImmediate);
    }
    res.end("d");
  });
  assert.equal((await parts(versionTwo())).body, "abcd");
  const file = handler((_req, res) => void createReadStream(HERE).pipe(res));
  assert.deepEqual(bytesOf(await file(versionTwo())), await readFile(HERE));
});

test("bodies of megabytes go both ways", async () => {
  const body = Buffer.alloc(6_000_000, "0123456789");
  const back = handler((req, res) => void req.pipe(res.setHeader("content-type", "image/png")));
  const answer = await back(versionTwo({ method: "POST", body: body.toString("base64"), isBase64Encoded: true }));
  assert.ok(bytesOf(answer).equals(body));
});

test("an application that does not read a large body may answer all the same", async () => {
  const full = handler((_req, res) => res.writeHead(413).end("too large"));
  const event = versionTwo({ method: "POST", body: "x".repeat(6_000_000) });
  assert.deepEqual([(await full(event)).statusCode, (await full(event)).body], [413, "too large"]);
});

test("early hints and a continue are no answers", async () => {
  const hints = handler((_req, res) => {
    res.writeProcessing();
    res.writeContinue();
    res.end("done");
  });
  assert.deepEqual((await hints(versionTwo())).body, "done");
});

test("headers of the connection are not passed on; the application's own date is", async () => {
  const dated = handler((_req, res) => res.setHeader("date", "today").setHeader("keep-alive", "timeout=5").end());
  assert.deepEqual((await dated(versionTwo())).headers, { date: "today", "content-length": "0" });
});
