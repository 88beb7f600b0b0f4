"""Handlers as people write them in Python for each provider."""

from tests.support.handler_cases import GET, POST, PUBLISHED, TIMED, Case, answer

_FLASK_LIKE = """def shop(request):
    seen = [request.method, request.path, request.args.get("a"), request.args.getlist("b")]
    return {"seen": seen, "accept": request.headers.get("ACCEPT")}, 201, {"X-Seen": "1"}
"""
_WSGI = """def app(environ, start_response):
    start_response("202 Accepted", [("Content-Type", "text/plain")])
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    return [environ["REQUEST_METHOD"].encode(), environ["PATH_INFO"].encode("latin-1"), body]
"""
_ASGI = """state = {}
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        state["ready"] = True
        await send({"type": "lifespan.startup.complete"})
        await receive()
        return await send({"type": "lifespan.shutdown.complete"})
    body = (await receive())["body"]
    await send({"type": "http.response.start", "status": 203, "headers": [(b"x-a", b"1")]})
    await send({"type": "http.response.body", "body": scope["path"].encode(), "more_body": True})
    await send({"type": "http.response.body", "body": body + str(state["ready"]).encode()})
"""
_CLASS = """from http.server import BaseHTTPRequestHandler
class handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(self.path.encode() + body)
"""
_SIZE = '    return {"n": event["n"], "id": len(context.aws_request_id),\n'
CASES = (
    Case(
        "lambda",
        "cloud1-lambda",
        "import os\ndef handler(event, context):\n"
        + _SIZE
        + '        "name": context.function_name, "arn": context.invoked_function_arn,\n'
        '        "memory": context.memory_limit_in_mb, "group": context.log_group_name,\n'
        '        "left": context.get_remaining_time_in_millis() > 1000,\n'
        '        "region": os.environ["AWS_REGION"]}\n',
        {
            "n": 1,
            "id": 36,
            "name": "shop",
            "arn": "arn:aws:lambda:eu-west-1:000000000000:function:shop",
            "memory": "256",
            "group": "/aws/lambda/shop",
            "left": True,
            "region": "eu-west-1",
        },
        {"n": 1},
    ),
    Case(
        "cloud2-http",
        "cloud2-functions",
        _FLASK_LIKE,
        answer(
            '{"seen": ["GET", "/items/7", "1", ["x y", "z"]], "accept": "text/plain"}',
            201,
            x_seen="1",
            content_type="application/json",
        ),
        GET,
        "main.shop",
    ),
    Case(
        "cloud2-text",
        "cloud2-functions",
        "def handler(request):\n    return request.get_json()['name']\n",
        answer("ä", content_type="text/html; charset=utf-8"),
        POST,
    ),
    Case(
        "cloud2-json-becomes-a-post",
        "cloud2-functions",
        "def shop(request):\n    return [request.method, request.path, request.json, "
        "request.data.decode()]\n",
        {"body": '["POST", "/x", {"n": 1}, "{\\"n\\": 1}"]'},
        {"n": 1},
        "main.shop",
        path="/x",
    ),
    Case(
        "cloud2-handler-of-events",
        "cloud2-functions",
        "def handler(event, context):\n    return event\n",
        {"n": 1},
        {"n": 1},
    ),
    Case(
        "cloud2-pubsub",
        "cloud2-functions",
        "def seen(cloud_event):\n"
        "    return [cloud_event['type'], cloud_event.data['message']['data']]\n",
        ["google.cloud.pubsub.topic.v1.messagePublished", "aGk="],
        PUBLISHED,
        "main.seen",
        kinds=("pubsub",),
    ),
    Case(
        "cloud2-timed-request",
        "cloud2-functions",
        "def tick(request):\n    return request.get_json()['detail-type']\n",
        answer("Scheduled Event", content_type="text/html; charset=utf-8"),
        TIMED,
        "main.tick",
        kinds=("cron",),
    ),
    Case(
        "cloud3-http",
        "cloud3-functions",
        "class Answer:\n    status_code, headers = 201, {'X-A': '1'}\n"
        "    def get_body(self):\n        return b'made'\n"
        "def main(req):\n    return Answer() if req.params.get('a') == '1' and "
        "req.route_params['id'] == '7' else 'none'\n",
        answer("made", 201, x_a="1"),
        GET,
        "main.main",
    ),
    Case(
        "cloud3-queue",
        "cloud3-functions",
        "def main(msg):\n    return msg.get_body().decode() + str(msg.get_json()['n'])\n",
        '{"n": 1}1',
        {"n": 1},
        "main.main",
        kinds=("queue",),
    ),
    Case(
        "cloud4-reads-bytes",
        "cloud4-fc",
        "import json\ndef handler(event, context):\n    return json.loads(event)['n']\n",
        1,
        {"n": 1},
    ),
    Case(
        "cloud4-handler-of-events",
        "cloud4-fc",
        "def handler(event, context):\n    return event['n']\n",
        1,
        {"n": 1},
    ),
    Case(
        "cloud5-main",
        "cloud5-functions",
        "def main(event, context):\n"
        "    return {'body': {'a': event['a'], 'path': event['http']['path'], "
        "'who': context.function_name}}\n",
        answer(
            '{"a": "1", "path": "/items/7", "who": "shop"}',
            content_type="application/json",
        ),
        GET,
        "main.main",
    ),
    Case(
        "cloud6-main",
        "cloud6-functions",
        "def main(args):\n    return {'n': args['n']}\n",
        {"n": 1},
        {"n": 1},
        "main.main",
    ),
    Case(
        "cloud6-web",
        "cloud6-functions",
        "def main(args):\n    return {'statusCode': 201, 'body': args['__ow_method']}\n",
        answer("post", 201),
        POST,
        "main.main",
    ),
    Case(
        "host1-wsgi",
        "host1",
        _WSGI,
        answer('POST/items{"name": "ä"}', 202, content_type="text/plain"),
        POST,
        "main.app",
    ),
    Case(
        "cluster-asgi",
        "cluster-orchestrator",
        _ASGI,
        {"statusCode": 203, "headers": {"x-a": "1"}},
        POST,
        "main.app",
    ),
    Case(
        "host3-asgi", "host3-machines", _ASGI, {"body": '/items{"name": "ä"}True'}, POST, "main.app"
    ),
    Case("host1-class", "host1", _CLASS, {"statusCode": 201, "body": '/items{"name": "ä"}'}, POST),
    Case(
        "host2-handler-of-events",
        "host2",
        "def handler(event, context):\n    return event\n",
        {"n": 1},
        {"n": 1},
    ),
)
