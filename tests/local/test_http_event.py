"""Requests as events, held against what the platform sends for the same requests."""

import datetime

from fabric.local.http_event import Arrival, convert_request_to_event
from fabric.local.routes import HttpRoute, Matched, RouteTable
from fabric.model.outcomes.json_struct import JsonObject
from fabric.system.http.requests import ServedRequest, take_head

TABLE = RouteTable([HttpRoute("ANY", "/shop/{id}", "one"), HttpRoute("GET", "/plain", "two")])
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def event_of(text: str, body: bytes = b"") -> JsonObject:
    lines = [*text.splitlines(), "Host: localhost:8787"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    head = take_head(bytearray("\r\n".join((*lines, "", "")).encode()), 1000)
    assert head
    found = TABLE.find(head.method, head.path)
    assert isinstance(found, Matched)
    return convert_request_to_event(ServedRequest(head, body), found, Arrival(AT, "id-1"))


def test_an_event_has_the_shape_of_the_platforms_second_version() -> None:
    event = event_of(
        "POST /shop/a%20b?x=1&x=2&y=%C3%A4&z HTTP/1.1\nX-One: a\nX-ONE: b\n"
        "Cookie: c=1; d=2\nUser-Agent: test\nContent-Type: application/json",
        b'{"n": 1}',
    )
    assert event == {
        "version": "2.0",
        "routeKey": "ANY /shop/{id}",
        "rawPath": "/shop/a%20b",
        "rawQueryString": "x=1&x=2&y=%C3%A4&z",
        "cookies": ["c=1", "d=2"],
        "headers": {
            "x-one": "a,b",
            "user-agent": "test",
            "content-type": "application/json",
            "host": "localhost:8787",
            "content-length": "8",
        },
        "queryStringParameters": {"x": "1,2", "y": "ä", "z": ""},
        "pathParameters": {"id": "a b"},
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "localhost:8787",
            "domainPrefix": "localhost",
            "http": {
                "method": "POST",
                "path": "/shop/a%20b",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "test",
            },
            "requestId": "id-1",
            "routeKey": "ANY /shop/{id}",
            "stage": "$default",
            "time": "02/Jan/2026:03:04:05 +0000",
            "timeEpoch": 1767323045000,
        },
        "body": '{"n": 1}',
        "isBase64Encoded": False,
        "httpMethod": "POST",
        "path": "/shop/a%20b",
    }


def test_missing_request_parts_are_absent_from_the_event() -> None:
    event = event_of("GET /plain HTTP/1.1")
    absent = {"cookies", "queryStringParameters", "pathParameters", "body"}
    assert absent.isdisjoint(event)
    assert event["isBase64Encoded"] is False


def test_binary_body_is_base64_encoded() -> None:
    typed = "POST /shop/1 HTTP/1.1\nContent-Type: "
    for text, body, is_encoded in (
        (f"{typed}image/png", b"\x89PNG", True),
        (f"{typed}application/json", b"\xff", True),
        (f"{typed}application/vnd.api+json; charset=utf-8", b"{}", False),
        (f"{typed}application/x-www-form-urlencoded", b"a=1", False),
        ("POST /shop/1 HTTP/1.1", b"plain", False),
        ("POST /shop/1 HTTP/1.1", b"\xff\xfe", True),
    ):
        assert event_of(text, body)["isBase64Encoded"] is is_encoded, text
