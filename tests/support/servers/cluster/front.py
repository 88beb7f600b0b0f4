"""An HTTP front, as an Ingress controller is one: which Service, and on to one of its pods."""

import contextlib
import http.client
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FindPort = Callable[[str, str], int]
_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive", "date", "server")


def service_of(ingresses: Iterable[Mapping[str, Any]], host: str, path: str) -> str:
    """The name of the Service that a request is for; empty where no rule leads anywhere."""
    rows = [
        row
        for one in ingresses
        for rule in one["spec"]["rules"]
        if rule.get("host") in (None, host)
        for row in rule["http"]["paths"]
        if _fits(row["path"], row["pathType"], path)
    ]
    rows.sort(key=lambda row: (len(row["path"]), row["pathType"] == "Exact"))
    return str(rows[-1]["backend"]["service"]["name"]) if rows else ""


def _fits(own: str, kind: str, path: str) -> bool:
    if kind == "Exact":
        return path == own
    return path == own or path.startswith(own.rstrip("/") + "/")


@contextlib.contextmanager
def front_of(find: FindPort) -> Iterator[int]:
    """`find` is asked for the port of a pod by host and path: 0 where there is none."""

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body leave together: in two packets the second would wait for an acknowledgement.
        wbufsize = 1 << 16

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            host = self.headers.get("host", "").partition(":")[0]
            port = find(host, self.path.partition("?")[0])
            if not port:
                self._answer(404, [], b"no rule")
                return
            pod = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            with contextlib.closing(pod):
                pod.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in ("connection", "content-length"):
                        pod.putheader(name, value)
                pod.putheader("content-length", str(len(body)))
                pod.endheaders(body)
                answer = pod.getresponse()
                headers = [p for p in answer.getheaders() if p[0].lower() not in _HOP]
                self._answer(answer.status, headers, answer.read())

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = pass_on  # noqa: N815

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Passing) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
