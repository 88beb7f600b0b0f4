"""One warm custom runtime, run as a file by itself: see node_child.cjs.

It starts `bootstrap` of the archive, and serves the Runtime API to it on a free port.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PREFIX = "/2018-06-01/runtime/"
_EVENTS: "queue.Queue[dict[str, Any]]" = queue.Queue()
_ANSWERS: "queue.Queue[dict[str, Any]]" = queue.Queue()


class RuntimeApi(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    current = ""

    def do_GET(self) -> None:  # noqa: N802 - the name in http.server
        if self.path != f"{_PREFIX}invocation/next":
            self._send(404, b"{}")
            return
        asked = _EVENTS.get()
        context = asked["context"]
        RuntimeApi.current = context["request"]
        deadline = int((time.time() + context["seconds"]) * 1000)  # noqa: TID251 - as the service
        headers = {
            "Lambda-Runtime-Aws-Request-Id": context["request"],
            "Lambda-Runtime-Deadline-Ms": str(deadline),
            "Lambda-Runtime-Invoked-Function-Arn": context["arn"],
        }
        self._send(200, json.dumps(asked["event"]).encode(), headers)

    def do_POST(self) -> None:  # noqa: N802 - the name in http.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._read_chunks()
        own = f"{_PREFIX}invocation/{RuntimeApi.current}/"
        if self.path == f"{own}response":
            _ANSWERS.put({"result": json.loads(body)})
        elif self.path in (f"{own}error", f"{_PREFIX}init/error"):
            _ANSWERS.put({"error": json.loads(body)})
        else:
            self._send(400, b'{"errorType":"InvalidRequestID"}')
            return
        self._send(202, b'{"status":"OK"}')

    def _read_chunks(self) -> bytes:
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    answers = os.fdopen(int(os.environ.pop("RESULT_FD")), "w")  # noqa: TID251
    server = ThreadingHTTPServer(("127.0.0.1", 0), RuntimeApi)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    child: subprocess.Popen[bytes] | None = None
    answers.write("\n")
    answers.flush()
    for line in sys.stdin:
        child = child or start(f"127.0.0.1:{server.server_address[1]}")
        _EVENTS.put(json.loads(line))
        answers.write(json.dumps(next_answer(child)) + "\n")
        answers.flush()
        print("\0", flush=True)  # noqa: T201


def start(address: str) -> "subprocess.Popen[bytes]":
    env = {**os.environ, "AWS_LAMBDA_RUNTIME_API": address}  # noqa: TID251 - the function's own
    try:
        return subprocess.Popen(["./bootstrap"], env=env, stdin=subprocess.DEVNULL)
    except OSError as error:
        _ANSWERS.put(
            {"error": {"errorType": "Runtime.InvalidEntrypoint", "errorMessage": f"{error}"}}
        )
        return subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)


def next_answer(child: "subprocess.Popen[bytes]") -> dict[str, Any]:
    while True:
        try:
            return _ANSWERS.get(timeout=0.05)
        except queue.Empty:
            if child.poll() is not None:
                os._exit(1)


if __name__ == "__main__":
    main()
