"""What a good request is answered with, and what the log says of it."""

import socket

from fabric.daemon.server.api_server import ServerLimits
from tests.daemon.server.serving import all_of, reply_in, request, serving
from tests.support.until import until


def test_response_has_a_request_id_and_browser_restrictions() -> None:
    with serving() as found:
        reply = found.ask(request("GET /readyz?key=secret"))
    assert reply.headers["x-request-id"] == found.log[0]["id"]
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-store"
    assert "server" not in reply.headers
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_the_log_has_one_line_a_request_and_no_query() -> None:
    with serving() as found:
        reply = found.ask(request("POST /validate?key=secret", "Content-Length: 3"), b"abc")
    line = found.log[0]
    assert line.keys() == {
        "time", "event", "id", "client", "method", "path", "route", "status", "ms", "bytes",
    }  # fmt: skip
    assert (line["method"], line["path"], line["route"]) == ("POST", "/validate", "validate")
    assert (line["status"], line["client"], line["bytes"]) == (200, "127.0.0.1", len(reply.body))
    assert "secret" not in str(found.log)


def test_application_error_is_returned_by_id_and_logged() -> None:
    with serving() as found:
        reply = found.ask(request("GET /fail"))
    assert (reply.status, reply.code) == (500, "internal/error")
    number = reply.headers["x-request-id"]
    assert number in reply.json["problems"][0]["hint"]
    assert "secret" not in reply.body.decode()
    failed, answered = found.log
    assert (failed["event"], failed["id"], failed["error"]) == ("error", number, "RuntimeError")
    assert "serving.py" in failed["trace"][-1]
    assert "secret" not in str(found.log)
    assert answered["status"] == 500


def test_a_head_request_has_no_body() -> None:
    with serving() as found:
        assert found.ask(request("HEAD /readyz")).body == b""
        refused = found.ask(request("HEAD /readyz", "Content-Length: 9999999"))
        assert (refused.status, refused.body) == (413, b"")


def test_stream_is_sent_at_once_and_a_failed_stream_is_not_terminated() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("GET /stream"))
        heard = b""
        while b"first" not in heard:
            heard += client.recv(1 << 16)
        found.app.go_on.set()
        heard += all_of(client)
    assert b"last" in heard
    assert not heard.endswith(b"0\r\n\r\n")
    assert [line["event"] for line in found.log] == ["error", "request"]


def test_compute_requests_are_answered_while_all_others_block() -> None:
    one_each = ServerLimits(threads=1, computing_threads=1)
    with serving(limits=one_each) as found, found.dial() as client:
        client.sendall(request("GET /wait"))
        until(lambda: found.app.asked == ["GET /wait"])
        assert found.ask(request("POST /validate")).status == 200
        assert found.ask(request("GET no-path")).status == 400
        found.app.go_on.set()
        assert reply_in(all_of(client)).status == 200


def test_long_computation_does_not_block_health_checks() -> None:
    one_each = ServerLimits(threads=1, computing_threads=1)
    with serving(limits=one_each) as found, found.dial() as client:
        client.sendall(request("POST /wait"))
        until(lambda: found.app.asked == ["POST /wait"])
        assert found.ask(request("GET /healthz")).status == 200
        found.app.go_on.set()
        assert reply_in(all_of(client)).status == 200


def test_server_that_stops_listening_finishes_open_requests() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("GET /wait"))
        until(lambda: found.app.asked == ["GET /wait"])
        assert found.server.http.in_flight == 1
        found.server.stop_listening()
        until(lambda: refuses(found.port))
        found.app.go_on.set()
        assert reply_in(all_of(client)).status == 200
        until(lambda: found.server.http.in_flight == 0)


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it stopped in the middle of taking this one
        pass
    return False
