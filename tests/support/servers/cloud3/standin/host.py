"""A stand-in for the host of Azure Functions and its Python worker, written from the
documentation. It calls functions of the v1 model."""

import importlib
import json
import re
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import azure.functions as func

folder, port = Path(sys.argv[1]), int(sys.argv[2])
sys.path.append(str(folder))
prefix = (
    json.loads((folder / "host.json").read_text())
    .get("extensions", {})
    .get("http", {})
    .get("routePrefix", "api")
)
functions = {}
for path in sorted(folder.glob("*/function.json")):
    said = json.loads(path.read_text())
    name = path.parent.name
    spec = importlib.util.spec_from_file_location(
        f"__app__.{name.replace('-', '_')}", path.parent / said["scriptFile"]
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    trigger = next(one for one in said["bindings"] if one["type"].lower().endswith("trigger"))
    functions[name] = (trigger, module.main)


def _rank(route):
    segments = [one for one in f"{prefix}/{route}".split("/") if one]
    return [2 if one.startswith("{*") else int(one.startswith("{")) for one in segments], segments


routes = sorted(
    (*_rank(trigger.get("route") or name), name)
    for name, (trigger, _) in functions.items()
    if trigger["type"] == "httpTrigger"
)


def _matches(segments, asked):
    for at, one in enumerate(segments):
        if one.startswith("{*"):
            return True
        if at >= len(asked):
            return False
        if not one.startswith("{") and one.lower() != unquote(asked[at]).lower():
            return False
    return len(asked) == len(segments)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def do(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path.startswith("/admin/functions/"):
            self._trigger(path.removeprefix("/admin/functions/"), json.loads(body)["input"])
            return
        asked = [one for one in path.split("/") if one]
        for _, segments, name in routes:
            trigger, main = functions[name]
            methods = trigger.get("methods")
            if _matches(segments, asked) and (not methods or self.command.lower() in methods):
                url = f"https://{self.headers['host']}{self.path}"
                given = func.HttpRequest(
                    self.command, url, headers=dict(self.headers.items()), body=body
                )
                try:
                    answer = main(given)
                except Exception:
                    traceback.print_exc()
                    self._send(500, [], b"")
                    return
                self._send(answer.status_code, list(answer.headers.items()), answer.get_body())
                return
        self._send(404, [], b"")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do

    def _trigger(self, name, text):
        trigger, main = functions[name]
        try:
            if trigger["type"] == "queueTrigger":
                main(func.QueueMessage(id="1", body=text.encode()))
            else:
                main(None)
        except Exception as error:
            self._send(500, [], str(error).encode())
            return
        self._send(202, [], b"")

    def _send(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers:
            if not re.fullmatch("content-length", name, re.IGNORECASE):
                self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status not in (204, 304) and self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *words):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
threading.Thread(target=server.serve_forever).start()
