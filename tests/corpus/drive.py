"""Runs a handler of an unpacked archive by itself: `python drive.py <handler> <way> <calls>`.

It has nothing of fabric's: plain events, or the real server that the way asks for.
"""

import asyncio
import base64
import http.client
import importlib
import json
import os
import sys
import threading
import types
from http.server import HTTPServer
from wsgiref.simple_server import WSGIRequestHandler, make_server

CONTEXT = types.SimpleNamespace(
    function_name=os.environ["FUNCTION"],
    aws_request_id="1",
    get_remaining_time_in_millis=lambda: 9000,
)


def told(status, headers, body):
    lower = {name.lower(): value for name, value in headers}
    text = base64.b64encode(body).decode()
    return {"statusCode": status, "headers": lower, "body": text, "isBase64Encoded": True}


def asked(server, call):
    """By a real client, over a port of this machine."""
    threading.Thread(target=server.handle_request).start()
    client = http.client.HTTPConnection("127.0.0.1", server.server_port)
    client.request(call["method"], call["target"], call["body"].encode() or None, call["headers"])
    response = client.getresponse()
    answer = told(response.status, response.getheaders(), response.read())
    server.server_close()
    return answer


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


async def by_asgi(app, call):
    path, _, query = call["target"].partition("?")
    headers = [(name.lower().encode(), value.encode()) for name, value in call["headers"].items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": call["method"],
        "scheme": "https", "path": path, "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": "", "headers": headers, "client": ("192.0.2.1", 1), "server": ("host", 443),
    }
    given = [{"type": "http.request", "body": call["body"].encode(), "more_body": False}]
    got = []

    async def receive():
        return given.pop() if given else await asyncio.Event().wait()

    async def send(message):
        got.append(message)

    await app(scope, receive, send)
    pairs = [(name.decode(), value.decode()) for name, value in got[0]["headers"]]
    return told(got[0]["status"], pairs, b"".join(one.get("body", b"") for one in got[1:]))


def by_flask(found, call):
    import flask

    app = flask.Flask("host")
    app.add_url_rule("/<path:_>", "f", lambda _: found(flask.request), methods=[call["method"]],
                     provide_automatic_options=False)
    answer = app.test_client().open(
        call["target"], method=call["method"], headers=call["headers"], data=call["body"].encode())
    return told(answer.status_code, answer.headers, answer.data)


class StoredEvent(dict):
    @property
    def data(self):
        kept = self["record"]["objstore1"]
        return {"bucket": kept["bucket"]["name"], "name": kept["object"]["key"]}


WAYS = {
    "event": lambda found, call: found(call["event"], CONTEXT),
    "wsgi": lambda found, call: asked(make_server("127.0.0.1", 0, found, handler_class=Quiet), call),
    "server-class": lambda found, call: asked(HTTPServer(("127.0.0.1", 0), found), call),
    "asgi": lambda found, call: asyncio.run(by_asgi(found, call)),
    "flask": by_flask,
    "cloud-event": lambda found, call: found(
        StoredEvent(record=call["event"]["Records"][0], type="stored")),
}


def main(handler, way, calls, *_):
    module, _, name = handler.rpartition(".")
    sys.path.insert(0, os.getcwd())
    found = getattr(importlib.import_module(module.replace("/", ".")), name)
    answers = []
    with open(calls, encoding="utf-8") as file:
        asked_for = json.load(file)
    for call in asked_for:
        try:
            answers.append(WAYS[way](found, call))
        except Exception as error:
            answers.append({"fails": f"{type(error).__name__}: {error}"})
    print("\n" + json.dumps(answers), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
