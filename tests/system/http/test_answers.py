"""Answers as bytes."""

import json

from fabric.system.http.answers import ServedAnswer, build_json_answer


def test_response_has_content_length_and_connection_header() -> None:
    whole = build_json_answer(200, {"a": "ä"}).as_bytes(keeps=True)
    head, body = whole.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-length: %d" % len(body) in head
    assert b"connection: keep-alive" in head
    assert json.loads(body) == {"a": "ä"}
    assert b"connection: close" in ServedAnswer(200).as_bytes(keeps=False)


def test_bodiless_response_sends_no_body() -> None:
    assert ServedAnswer(204, (), b"x").as_bytes(keeps=True).endswith(b"keep-alive\r\n\r\n")
    answer = ServedAnswer(200, (), b"x").as_bytes(keeps=True, with_body=False)
    assert b"content-length: 1" in answer
    assert answer.endswith(b"\r\n\r\n")
    assert b"HTTP/1.1 299 Unknown" in ServedAnswer(299).as_bytes(keeps=True)
