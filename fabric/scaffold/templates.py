"""Templates of new functions by kind: name, trigger fields and handler."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from fabric.model.names import TriggerKind
from fabric.scaffold.javascript import JAVASCRIPT_HANDLERS
from fabric.scaffold.python import PYTHON_HANDLERS
from fabric.scaffold.typescript import TYPESCRIPT_HANDLERS


class Language(StrEnum):
    TYPESCRIPT = "ts"
    JAVASCRIPT = "js"
    PYTHON = "py"

    @property
    def runtime(self) -> str:
        """The family of runtimes."""
        return "python" if self is Language.PYTHON else "nodejs"


class FunctionTemplate(Struct, frozen=True):
    """`fields` are the trigger's config fields. `answer` is the constant part of the response to
    its sample event."""

    kind: TriggerKind
    function: str
    title: str
    fields: Mapping[str, object]
    answer: Mapping[str, object]


TEMPLATES: Sequence[FunctionTemplate] = (
    FunctionTemplate(
        TriggerKind.HTTP,
        "hello",
        "handles HTTP requests",
        {"route": "GET:/hello"},
        {"statusCode": 200},
    ),
    FunctionTemplate(
        TriggerKind.QUEUE,
        "worker",
        "processes queue messages",
        {"queue": "my-queue", "functionResponseType": "ReportBatchItemFailures"},
        {"batchItemFailures": []},
    ),
    FunctionTemplate(
        TriggerKind.CRON,
        "job",
        "runs on a schedule",
        {"schedule": "rate(5 minutes)"},
        {"dueAt": "2026-01-01T00:00:00Z"},
    ),
    FunctionTemplate(
        TriggerKind.STORAGE,
        "upload",
        "processes new objects in a bucket",
        {"bucket": "my-bucket", "events": ["objstore1:ObjectCreated:*"]},
        {"objects": ["my-bucket/sample.txt"]},
    ),
    FunctionTemplate(
        TriggerKind.EVENTBUS,
        "listener",
        "processes events that match a pattern",
        {"pattern": {"source": ["my.app"]}},
        {"received": "Sample"},
    ),
    FunctionTemplate(
        TriggerKind.PUBSUB,
        "subscriber",
        "processes messages of a topic",
        {"topic": "my-topic"},
        {"received": {"hello": "world"}},
    ),
)
_BY_KIND = {one.kind: one for one in TEMPLATES}
_SOURCES: Mapping[Language, Mapping[TriggerKind, str]] = {
    Language.TYPESCRIPT: TYPESCRIPT_HANDLERS,
    Language.JAVASCRIPT: JAVASCRIPT_HANDLERS,
    Language.PYTHON: PYTHON_HANDLERS,
}


def find_template(kind: str) -> FunctionTemplate:
    return _BY_KIND[TriggerKind(kind)]


def read_handler_source(kind: str, lang: str) -> str:
    """Return a module with one `handler(event, context)` for every provider; in JavaScript and
    TypeScript an ES module."""
    return _SOURCES[Language(lang)][TriggerKind(kind)]
