"""The words of the domain: ids that must not be mixed up."""

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
    """How far a command goes: each verb includes the ones before it."""

    BUILD = "build"
    PACKAGE = "package"
    DEPLOY = "deploy"
