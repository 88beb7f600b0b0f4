"""Handlers as people write them in JavaScript for each provider."""

from tests.support.handler_cases import GET, POST, PUBLISHED, QUEUED, STORED, TIMED, Case, answer

_CONTEXT = """exports.handler = async (event, context) => ({
  name: context.functionName, version: context.functionVersion, arn: context.invokedFunctionArn,
  memory: context.memoryLimitInMB, group: context.logGroupName, id: context.awsRequestId.length,
  stream: context.logStreamName.includes("[$LATEST]"),
  waits: context.callbackWaitsForEmptyEventLoop,
  left: context.getRemainingTimeInMillis() > 1000, region: process.env.AWS_REGION,
  own: process.env.AWS_LAMBDA_FUNCTION_NAME, size: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
  handler: process.env._HANDLER, root: process.env.LAMBDA_TASK_ROOT === __dirname,
});"""
_CONTEXT_HAS: dict[str, object] = {
    "name": "shop",
    "version": "$LATEST",
    "arn": "arn:aws:lambda:eu-west-1:000000000000:function:shop",
    "memory": "256",
    "group": "/aws/lambda/shop",
    "id": 36,
    "stream": True,
    "waits": True,
    "left": True,
    "region": "eu-west-1",
    "own": "shop",
    "size": "256",
    "handler": "main.handler",
    "root": True,
}
_EXPRESS_LIKE = """exports.shop = (req, res) => {
  res.status(201).set("X-Seen", req.get("Accept")).json({
    method: req.method, path: req.path, query: req.query, params: req.params,
    ip: req.ip, url: req.originalUrl, host: req.hostname });
};"""
_SAW = (
    '{"method":"GET","path":"/items/7","query":{"a":"1","b":["x y","z"]},"params":{"id":"7"},'
    '"ip":"192.0.2.1","url":"/items/7?a=1&b=x%20y&b=z","host":"shop.test"}'
)
CASES = (
    Case("lambda-context", "cloud1-lambda", _CONTEXT, _CONTEXT_HAS),
    Case(
        "lambda-callback",
        "cloud1-lambda",
        "exports.handler = (event, context, callback) => { context.done(null, event.n + 1); };",
        2,
        {"n": 1},
    ),
    Case(
        "lambda-streams-http",
        "cloud1-lambda",
        """exports.handler = awslambda.streamifyResponse(async (event, stream, context) => {
          const out = awslambda.HttpResponseStream.from(stream, {
            statusCode: 206, headers: { "Content-Type": "text/plain" }, cookies: ["a=b"] });
          out.write("one ");
          setTimeout(() => out.end(context.functionName), 5);
        });""",
        {**answer("one shop", 206, content_type="text/plain"), "cookies": ["a=b"]},
        GET,
    ),
    Case(
        "lambda-streams-text",
        "cloud1-lambda",
        "exports.handler = awslambda.streamifyResponse(async (event, stream) => "
        "{ stream.write('a'); stream.end('b'); });",
        "ab",
    ),
    Case(
        "cloud2-http",
        "cloud2-functions",
        _EXPRESS_LIKE,
        {"statusCode": 201, "body": _SAW},
        GET,
        "main.shop",
    ),
    Case(
        "cloud2-body",
        "cloud2-functions",
        "exports.shop = (req, res) => res.send(`${req.body.name} ${req.rawBody.length}`);",
        {"statusCode": 200, "body": "ä 14"},
        POST,
        "main.shop",
    ),
    Case(
        "cloud2-handler-by-parameters",
        "cloud2-functions",
        "exports.handler = async (req, res) => { res.end(req.cookies.session); };",
        {"statusCode": 200, "body": "abc"},
        POST,
    ),
    Case(
        "cloud2-handler-of-events",
        "cloud2-functions",
        "exports.handler = async (event, context) => [event.n, context.functionName];",
        [1, "shop"],
        {"n": 1},
    ),
    Case(
        "cloud2-json-becomes-a-post",
        "cloud2-functions",
        "exports.shop = (req, res) => "
        "res.json([req.method, req.path, req.body.id, req.get('content-type')]);",
        {"body": '["POST","/items/7","7","application/json"]'},
        {"id": "7"},
        "main.shop",
        path="/items/{id}",
    ),
    Case(
        "cloud2-pubsub",
        "cloud2-functions",
        "exports.seen = (cloudEvent) => [cloudEvent.id, cloudEvent.type, cloudEvent.source, "
        "Buffer.from(cloudEvent.data.message.data, 'base64').toString()];",
        [
            "m1",
            "google.cloud.pubsub.topic.v1.messagePublished",
            "//pubsub.googleapis.com/projects/p/topics/orders",
            "hi",
        ],
        PUBLISHED,
        "main.seen",
        kinds=("pubsub",),
    ),
    Case(
        "cloud2-storage",
        "cloud2-functions",
        "exports.seen = async ({ type, subject, data }) => ({ type, subject, data });",
        {
            "type": "google.cloud.storage.object.v1.finalized",
            "subject": "objects/a.png",
            "data": {"bucket": "pictures", "name": "a.png", "size": "3", "etag": ""},
        },
        STORED,
        "main.seen",
        kinds=("storage",),
    ),
    Case(
        "cloud2-background",
        "cloud2-functions",
        "exports.seen = (event, context) => event.subscription + context.functionName;",
        "projects/p/subscriptions/ordersshop",
        PUBLISHED,
        "main.seen",
        kinds=("pubsub",),
    ),
    Case(
        "cloud2-timed-request",
        "cloud2-functions",
        "exports.tick = (req, res) => res.send(`${req.method} ${req.body['detail-type']}`);",
        {"statusCode": 200, "body": "POST Scheduled Event"},
        TIMED,
        "main.tick",
        kinds=("cron",),
    ),
    Case(
        "cloud3-http",
        "cloud3-functions",
        "module.exports = async function (context, req) {\n"
        "  context.log('asked');\n"
        "  context.res = { status: 202, body: { q: req.query.a, id: context.bindingData.id } };\n"
        "};",
        answer('{"q":"1","id":"7"}', 202, content_type="application/json"),
        GET,
    ),
    Case(
        "cloud3-done",
        "cloud3-functions",
        "exports.run = (context, req) => { context.res.status(201).set('x-a', 1).send('made'); };",
        answer("made", 201, x_a="1"),
        POST,
        "main.run",
    ),
    Case(
        "cloud3-object",
        "cloud3-functions",
        "module.exports = { times: 2, async index(context, req) "
        "{ context.res.body = `${req.method} ${this.times}`; } };",
        answer("POST 2"),
        POST,
    ),
    Case(
        "cloud3-timer",
        "cloud3-functions",
        "exports.run = async (context, one) => one['detail-type'] + context.bindings.item.time;",
        "Scheduled Event2026-01-02T03:04:05Z",
        TIMED,
        "main.run",
        kinds=("cron",),
    ),
    Case(
        "cloud4-bytes",
        "cloud4-fc",
        "exports.main = async (event, context) => "
        "[Buffer.isBuffer(event), JSON.parse(event).n, context.function.name];",
        [True, 1, "shop"],
        {"n": 1},
        "main.main",
    ),
    Case(
        "cloud4-handler-reads-both",
        "cloud4-fc",
        "exports.handler = (event, context, callback) => "
        "callback(null, [event.n, JSON.parse(event.toString()).n, JSON.stringify(event)]);",
        [1, 1, '{"n":1}'],
        {"n": 1},
    ),
    Case(
        "cloud5-main",
        "cloud5-functions",
        "exports.main = ({ a, http }, context) => "
        "({ body: { a, method: http.method, path: http.path, query: http.queryString, "
        "who: context.functionName } });",
        answer(
            '{"a":"1","method":"GET","path":"/items/7","query":"a=1&b=x%20y&b=z","who":"shop"}',
            content_type="application/json",
        ),
        GET,
        "main.main",
    ),
    Case(
        "cloud6-main",
        "cloud6-functions",
        "function main(args) { return { statusCode: 201, body: args.name + args.__ow_method }; }\n"
        "exports.main = main;",
        answer("äpost", 201),
        POST,
        "main.main",
    ),
    Case("cloud6-plain", "cloud6-functions", "exports.main = (args) => args;", {"n": 1}, {"n": 1}),
    Case(
        "cluster-server",
        "cluster-orchestrator",
        "exports.server = require('node:http').createServer((req, res) => {\n"
        "  res.writeHead(200, { 'content-type': 'text/plain' }); req.pipe(res); });",
        answer('{"name": "ä"}', content_type="text/plain"),
        POST,
        "main.server",
    ),
    Case(
        "edge1-fetch",
        "edge1-workers",
        "export default { async fetch(request, env, ctx) {\n"
        "  ctx.waitUntil(Promise.resolve().then(() => console.log('later')));\n"
        "  const { pathname, searchParams } = new URL(request.url);\n"
        "  return new Response(`${request.method} ${pathname} ${searchParams.get('a')} "
        "${env.DECLARED} ${env.PATH}`, { status: 203, headers: { 'x-one': '1' } });\n} };",
        {"statusCode": 203, "body": "GET /items/7 1 yes undefined"},
        GET,
        "main.default",
        "main.mjs",
    ),
    Case(
        "edge1-scheduled",
        "edge1-workers",
        "export default { async fetch() { throw 1; }, async scheduled(controller, env) {\n"
        "  if (controller.scheduledTime !== Date.parse('2026-01-02T03:04:05Z')) throw 2; } };",
        None,
        TIMED,
        "main.default",
        "main.mjs",
        ("http", "cron"),
    ),
    Case(
        "edge1-queue",
        "edge1-workers",
        "export default { async queue(batch) {\n"
        "  for (const one of batch.messages) one.body.n ? one.ack() : one.retry(); } };",
        {"batchItemFailures": [{"itemIdentifier": "2"}]},
        QUEUED,
        "main.default",
        "main.mjs",
        ("queue",),
    ),
    Case(
        "edge1-handler",
        "edge1-workers",
        "export const handler = (event) => event;",
        {"n": 1},
        {"n": 1},
        file="main.mjs",
    ),
    Case(
        "host1-default",
        "host1",
        "module.exports = (request, response) => { response.status(200).send(request.query); };",
        answer('{"a":"1","b":["x y","z"]}', content_type="application/json; charset=utf-8"),
        GET,
    ),
    Case(
        "host1-methods",
        "host1",
        "export function GET(request) { return new Response(new URL(request.url).search); }",
        {"statusCode": 200, "body": "?a=1&b=x%20y&b=z"},
        GET,
        "main.GET",
        "main.mjs",
    ),
    Case(
        "host1-other-method",
        "host1",
        "export function GET() { return new Response('x'); }",
        {"statusCode": 405},
        POST,
        "main.GET",
        "main.mjs",
    ),
    Case(
        "host1-redirect",
        "host1",
        "export default (req, res) => { res.cookie('a', 'b c', { httpOnly: true })"
        ".redirect(307, '/elsewhere'); };",
        {"statusCode": 307, "cookies": ["a=b%20c; Path=/; HttpOnly"]},
        GET,
        "main.default",
        "main.mjs",
    ),
    Case(
        "host2-web",
        "host2",
        "export default async (request, context) => {\n"
        "  context.cookies.set('seen', '1');\n"
        "  const had = context.cookies.get('session');\n"
        "  return Response.json({ ...(await request.json()), had });\n};",
        {"statusCode": 200, "body": '{"name":"ä","had":"abc"}', "cookies": ["seen=1"]},
        POST,
        "main.default",
        "main.mjs",
    ),
    Case(
        "host2-v1",
        "host2",
        "exports.handler = async (event, context) => ({ statusCode: 200, body: event.rawPath });",
        {"statusCode": 200, "body": "/items/7"},
        GET,
    ),
    Case(
        "host3-bytes",
        "host3-machines",
        "module.exports = (req, res) => res.send(Buffer.from([255, 1]));",
        {"statusCode": 200, "body": "/wE=", "isBase64Encoded": True},
        GET,
    ),
)
