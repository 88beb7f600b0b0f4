"""Events that handlers are called with, and a handler with what it answers."""

from dataclasses import dataclass, field

GET: dict[str, object] = {
    "version": "2.0",
    "routeKey": "GET /items/{id}",
    "rawPath": "/items/7",
    "rawQueryString": "a=1&b=x%20y&b=z",
    "headers": {"Accept": "text/plain", "host": "shop.test"},
    "pathParameters": {"id": "7"},
    "requestContext": {"http": {"method": "GET", "path": "/items/7", "sourceIp": "192.0.2.1"}},
    "isBase64Encoded": False,
}
POST: dict[str, object] = {
    "version": "2.0",
    "rawPath": "/items",
    "rawQueryString": "",
    "headers": {"content-type": "application/json"},
    "cookies": ["session=abc"],
    "requestContext": {"http": {"method": "POST", "path": "/items"}},
    "body": '{"name": "ä"}',
    "isBase64Encoded": False,
}
PUBLISHED: dict[str, object] = {
    "message": {"data": "aGk=", "messageId": "m1", "publishTime": "2026-01-02T03:04:05Z"},
    "subscription": "projects/p/subscriptions/orders",
}
STORED: dict[str, object] = {
    "Records": [
        {
            "eventName": "ObjectCreated:Put",
            "eventTime": "2026-01-02T03:04:05Z",
            "objstore1": {"bucket": {"name": "pictures"}, "object": {"key": "a.png", "size": 3}},
        }
    ]
}
TIMED: dict[str, object] = {
    "version": "0",
    "detail-type": "Scheduled Event",
    "time": "2026-01-02T03:04:05Z",
    "detail": {},
}
QUEUED: dict[str, object] = {
    "Records": [
        {"messageId": "1", "body": '{"n": 1}', "eventSourceARN": "arn:aws:sqs:r:0:orders"},
        {"messageId": "2", "body": "no json", "eventSourceARN": "arn:aws:sqs:r:0:orders"},
    ]
}


def answer(body: str, status: int = 200, **headers: str) -> dict[str, object]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"statusCode": status, "headers": named, "body": body, "isBase64Encoded": False}


@dataclass(frozen=True)
class Case:
    """`response` is what the answer has at least."""

    id: str
    provider: str
    text: str
    response: object
    event: object = field(default_factory=dict)
    handler: str = "main.handler"
    file: str = "main.js"
    kinds: tuple[str, ...] = ("http",)
    path: str = "/"
