const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const answers = {
  "/event": (event) => ({ statusCode: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(event) }),
  "/binary": () => ({ statusCode: 200, headers: { "content-type": "image/png" }, body: Buffer.from([0, 255, 137, 80]).toString("base64"), isBase64Encoded: true }),
  "/cookies": () => ({ statusCode: 200, cookies: ["a=1; Path=/", "b=2"], multiValueHeaders: { "x-many": ["1", "2"] }, body: "" }),
  "/none": () => ({ statusCode: 204 }),
  "/empty": () => undefined,
  "/throws": () => { throw new Error("a secret of the handler"); },
  "/bad": () => ({ statusCode: 42, body: "x" }),
  "/plain": () => ({ hello: "wörld" }),
  "/slow": () => wait(300).then(() => ({ statusCode: 200, body: "slow" })),
  "/late": () => wait(60000),
  "/env": () => ({ statusCode: 200, body: JSON.stringify([process.env.MODE, Object.keys(process.env).filter((name) => name.startsWith("FABRIC_"))]) }),
};
export const handler = (event, context, callback) => {
  if (event.rawPath === "/callback") return void setTimeout(callback, 5, null, { statusCode: 201, body: "called back" });
  return Promise.resolve().then(() => (answers[event.rawPath] ?? answers["/event"])(event));
};
