"""Handlers in Python."""

from collections.abc import Mapping

from fabric.model.names import TriggerKind

_HTTP = """\
import json


def handler(event, context):
    query = event.get("queryStringParameters") or {}
    message = f"Hello, {query.get('name', 'world')}!"
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/json"},
        "body": json.dumps({"message": message}),
    }
"""
_QUEUE = '''\
import json
import traceback


def handler(event, context):
    """Messages listed in the response are retried. All others are deleted from the queue."""
    failed = [record["messageId"] for record in event["Records"] if not _is_done(record)]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def _is_done(record):
    try:
        _handle(json.loads(record["body"]))
    except Exception:
        traceback.print_exc()
        return False
    return True


def _handle(message):
    print("message:", message)
'''
_CRON = """\
def handler(event, context):
    print("due at", event["time"])
    return {"dueAt": event["time"]}
"""
_STORAGE = """\
from urllib.parse import unquote_plus


def handler(event, context):
    objects = [_name_of(record["objstore1"]) for record in event["Records"]]
    print("objects:", objects)
    return {"objects": objects}


def _name_of(stored):
    # Keys are URL-encoded.
    return f"{stored['bucket']['name']}/{unquote_plus(stored['object']['key'])}"
"""
_EVENTBUS = """\
def handler(event, context):
    print(event["source"], event["detail-type"], event["detail"])
    return {"received": event["detail-type"]}
"""
_PUBSUB = """\
import base64
import json


def handler(event, context):
    message = json.loads(base64.b64decode(event["message"]["data"]))
    print("message:", message)
    return {"received": message}
"""
_LOGSTREAM = """\
import base64
import json


def handler(event, context):
    values = [
        json.loads(base64.b64decode(record["value"]))
        for records in event["records"].values()
        for record in records
    ]
    print("records:", values)
    return {"received": len(values)}
"""
_AMQP = """\
import base64
import json


def handler(event, context):
    messages = [
        json.loads(base64.b64decode(message["data"]))
        for messages in event["amqpMessagesByQueue"].values()
        for message in messages
    ]
    print("messages:", messages)
    return {"received": len(messages)}
"""
PYTHON_HANDLERS: Mapping[TriggerKind, str] = {
    TriggerKind.HTTP: _HTTP,
    TriggerKind.QUEUE: _QUEUE,
    TriggerKind.CRON: _CRON,
    TriggerKind.STORAGE: _STORAGE,
    TriggerKind.EVENTBUS: _EVENTBUS,
    TriggerKind.PUBSUB: _PUBSUB,
    TriggerKind.LOGSTREAM: _LOGSTREAM,
    TriggerKind.AMQP: _AMQP,
}
