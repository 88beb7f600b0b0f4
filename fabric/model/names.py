"""Domain ids as distinct types, so that they are not mixed up."""

from enum import StrEnum
from typing import NewType

Digest = NewType("Digest", str)


class TriggerKind(StrEnum):
    HTTP = "http"
    CRON = "cron"
    QUEUE = "queue"
    STORAGE = "storage"
    EVENTBUS = "eventbus"
    PUBSUB = "pubsub"
    LOGSTREAM = "logstream"
    AMQP = "amqp"


class Verb(StrEnum):
    """The extent of a command. Each verb includes those before it."""

    BUILD = "build"
    PACKAGE = "package"
    DEPLOY = "deploy"
