"""Answers of an application in threads: whole, in parts, and cut off."""

import threading

from fabric.system.http.connection import HttpLimits
from fabric.system.http.wsgi import ThreadPool
from tests.support.until import until
from tests.system.http.serving import LAST, all_of, request, serving


def test_whole_answer_has_its_length_and_more_headers() -> None:
    with serving() as found:
        head, _, body = found.ask(request("/app/whole", LAST)).partition(b"\r\n\r\n")
        assert body == b"whole"
        assert head.lower().count(b"content-length: 5") == 1
        assert b"X-More: 1" in head
        assert found.echo.responses[0].size == 5


def test_the_answer_to_head_has_the_length_of_the_body() -> None:
    with serving() as found:
        answer = found.ask(request("/app/whole", LAST, method="HEAD"))
        assert answer.lower().count(b"content-length: 5") == 1
        assert answer.endswith(b"\r\n\r\n")


def test_environment_has_no_header_that_is_mistaken_for_another() -> None:
    with serving() as found:
        sent = request(
            "/app/environ?a=%20", "X-A: 1", "X_A: 2", "x-a: 3", "Content-Length: 2", LAST
        )
        text = found.ask(sent, b"ab").decode()
    assert "'HTTP_X_A': '1, 3'" in text
    assert "'QUERY_STRING': 'a=%20'" in text
    assert "'CONTENT_LENGTH': '2'" in text
    assert "'REMOTE_ADDR': '127.0.0.1'" in text


def test_failures_before_the_answer_are_answered() -> None:
    with serving() as found:
        assert found.ask(request("/app/fails", LAST)).startswith(b"HTTP/1.1 500 ")


def test_stream_is_sent_at_once_and_a_failed_stream_is_not_terminated() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("/app/bits"))
        heard = b""
        while b"first" not in heard:
            heard += client.recv(1 << 16)
        assert b"transfer-encoding: chunked" in heard
        assert b"connection: close" in heard
        found.echo.bits.set()
        heard += all_of(client)
    assert b"4\r\nlast\r\n" in heard
    assert not heard.endswith(b"0\r\n\r\n")
    assert found.echo.ended == ["bits"]


def test_whole_stream_is_terminated() -> None:
    with serving() as found:
        found.echo.bits.set()
        assert found.ask(request("/app/beats")).endswith(b"3\r\nend\r\n0\r\n\r\n")
        assert b"content-length: 0" in found.ask(request("/app/none", LAST))


def test_stream_of_http_1_0_ends_with_the_connection() -> None:
    with serving() as found:
        found.echo.bits.set()
        head, _, body = found.ask(request("/app/beats", version="1.0")).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert body == b"end"


def test_a_reader_that_does_not_read_blocks_its_stream_and_grows_no_memory() -> None:
    with serving() as found, found.dial() as client:
        client.sendall(request("/app/endless"))
        until(lambda: bool(found.echo.responses) and found.echo.responses[0].size > 1_000_000)
        for _ in range(20):
            found.ask(request("/quick", LAST))
        assert found.echo.responses[0].size < 20_000_000
        count = 0
        while count < 30_000_000:
            count += len(client.recv(1 << 20))
        assert found.echo.responses[0].size > 20_000_000


def test_reader_that_stops_ends_its_stream() -> None:
    with serving(HttpLimits(request_seconds=0.2)) as found, found.dial() as client:
        client.sendall(request("/app/endless"))
        until(lambda: bool(found.echo.responses))
        until(lambda: len(found.server) == 0)
        until(lambda: found.echo.ended == ["endless"])


def test_stream_ends_at_the_next_write_after_the_reader_disconnects() -> None:
    with serving() as found:
        with found.dial() as client:
            client.sendall(request("/app/beats"))
            until(lambda: b"beat" in client.recv(1 << 16))
        until(lambda: found.echo.ended == ["beats"])


def test_threads_are_started_as_needed_up_to_a_limit() -> None:
    errors, names = list[BaseException](), list[str]()
    pool = ThreadPool(2, "named", errors.append)
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        names.append(threading.current_thread().name)
        begun.release()
        go_on.wait(30)
        raise ValueError

    for _ in range(3):
        pool.submit(work)
    for _ in range(2):
        assert begun.acquire(timeout=30)
    assert names == ["named", "named"]
    go_on.set()
    assert begun.acquire(timeout=30)
    pool.close(5)
    assert len(names) == len(errors) == 3
