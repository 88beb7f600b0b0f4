"""Handlers with (event, context) and similar: one message, a CloudEvent, or an object of
parameters."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from fabric.runtimes.python.calling.answers import as_mapping
from fabric.runtimes.python.calling.context import Context, new_id
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.http_events import SentRequest, is_http, query_of, request_of
from fabric.runtimes.python.calling.json_values import Document, is_object, part

Taking = Callable[..., object]


class Message:
    """One raw message of a queue, a timer or a storage service."""

    past_due = False

    def __init__(self, event: object) -> None:
        self._event = event
        self.id = new_id()

    def get_body(self) -> bytes:
        return _encode_json(self._event)

    def get_json(self) -> object:
        return self._event

    def read(self) -> bytes:
        return self.get_body()


class CloudEvent:
    """A CloudEvent: attributes by key, and `data`."""

    def __init__(self, attributes: Document) -> None:
        self._attributes = {name: one for name, one in attributes.items() if name != "data"}
        self.data = attributes.get("data")

    def __getitem__(self, name: str) -> object:
        return self._attributes[name]

    def get(self, name: str, default: object = None) -> object:
        return self._attributes.get(name, default)

    def get_attributes(self) -> Mapping[str, object]:
        return dict(self._attributes)

    def get_data(self) -> object:
        return self.data


def by_raw_event(found: Taking, event: object, said: HandlerSettings) -> object:
    query = {"queryParameters": query_of(request_of(event, said).query)} if is_http(event) else {}
    return found(_encode_json({**event, **query} if is_object(event) else event), Context(said))


def cloud_event_of(event: object) -> CloudEvent:
    """Build the CloudEvent that the source of an event would have sent."""
    own = event if is_object(event) else {}
    if isinstance(own.get("specversion"), str):
        return CloudEvent(own)
    base = {"specversion": "1.0", "id": new_id(), "datacontenttype": "application/json"}
    moment = own.get("time") or datetime.now(UTC).isoformat()  # noqa: TID251 - the child's own
    return CloudEvent(
        {**base, "time": moment, **_convert_record(own), **_build_attributes(own, event)}
    )


def _build_attributes(own: Document, event: object) -> Document:
    return (
        {}
        if _convert_record(own)
        else {"type": _type(own), "source": "//fabric/invoke", "data": event}
    )


def _type(own: Document) -> str:
    is_timed = own.get("detail-type") == "Scheduled Event"
    return "google.cloud.scheduler.job.v1.executed" if is_timed else "fabric.invoked"


def _convert_record(own: Document) -> Document:
    records = own.get("Records")
    if message := part(own, "message"):
        return _convert_message(own, message)
    if isinstance(records, list):
        if len(records) != 1:
            raise TypeError(f"exactly one record is required: the payload has {len(records)}")
        return _convert_storage_record(records[0])
    return {}


def _convert_message(own: Document, message: Document) -> Document:
    subscription = str(own.get("subscription") or "")
    topic = subscription.replace("/subscriptions/", "/topics/")
    return {
        "id": message.get("messageId") or new_id(),
        "type": "google.cloud.pubsub.topic.v1.messagePublished",
        "source": f"//pubsub.googleapis.com/{topic}",
        **({"time": message["publishTime"]} if message.get("publishTime") else {}),
        "data": {"message": message, "subscription": subscription},
    }


def _convert_storage_record(record: object) -> Document:
    kept = part(record, "objstore1") or part(record, "s3")
    if not kept or not is_object(record):
        return {"type": "fabric.invoked", "source": "//fabric/invoke", "data": record}
    bucket, item = part(kept, "bucket").get("name"), part(kept, "object")
    is_gone = re.search("Removed|Delete", str(record.get("eventName"))) is not None
    data = {"bucket": bucket, "name": item.get("key"), "size": str(item.get("size", ""))}
    return {
        "type": f"google.cloud.storage.object.v1.{'deleted' if is_gone else 'finalized'}",
        "source": f"//storage.googleapis.com/projects/_/buckets/{bucket}",
        "subject": f"objects/{item.get('key')}",
        **({"time": record["eventTime"]} if record.get("eventTime") else {}),
        "data": data,
    }


def arguments_of(event: object, said: HandlerSettings) -> Document:
    """Build the parameters, with `__ow_…` values for the request."""
    if not is_http(event):
        return as_mapping(event)
    request = request_of(event, said)
    parameters, unread = _read_parameters(request)
    return {
        **parameters,
        **({"__ow_body": unread} if unread else {}),
        "__ow_method": request.method.lower(),
        "__ow_headers": request.headers,
        "__ow_path": request.path,
    }


def http_arguments_of(event: object, said: HandlerSettings) -> Document:
    """Build the parameters, with the request as `http`."""
    if not is_http(event):
        return as_mapping(event)
    request = request_of(event, said)
    parameters, unread = _read_parameters(request)
    http = {"method": request.method, "path": request.path, "headers": request.headers}
    rest = {"body": unread, "isBase64Encoded": False} if unread else {}
    return {**parameters, "http": {**http, "queryString": request.query, **rest}}


def _read_parameters(request: SentRequest) -> tuple[Document, str]:
    """Read the query, and a JSON object or a form in the body; any other body is unchanged."""
    query = query_of(request.query)
    text = request.body.decode(errors="replace")
    if request.content_type == "application/x-www-form-urlencoded":
        return {**query, **query_of(text)}, ""
    document = json.loads(text) if request.content_type == "application/json" and text else None
    return ({**query, **document}, "") if is_object(document) else (query, text)


def _encode_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
