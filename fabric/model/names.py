"""Domain ids as distinct types, so that they are not mixed up, and names of architectures."""

from enum import StrEnum
from typing import NewType

Digest = NewType("Digest", str)
_ARCHITECTURES = {"": "x86_64", "x64": "x86_64", "amd64": "x86_64", "aarch64": "arm64"}


def normalize_architecture(name: str) -> str:
    """Return the name that AWS uses: `x86_64` or `arm64`. Unknown names stay unchanged."""
    return _ARCHITECTURES.get(name, name)


class TriggerKind(StrEnum):
    HTTP = "http"
    CRON = "cron"
    QUEUE = "queue"
    STORAGE = "storage"
    EVENTBUS = "eventbus"
    PUBSUB = "pubsub"
    LOGSTREAM = "logstream"
    AMQP = "amqp"


# The path of the route that receives all requests that no other route matches.
DEFAULT_ROUTE = "$default"


class StepEvent(StrEnum):
    """When a command of the config runs."""

    BEFORE_BUILD = "before-build"
    AFTER_BUILD = "after-build"
    BEFORE_PACKAGE = "before-package"
    AFTER_PACKAGE = "after-package"
    BEFORE_DEPLOY = "before-deploy"
    AFTER_DEPLOY = "after-deploy"
    BEFORE_RELEASE = "before-release"
    AFTER_RELEASE = "after-release"


# Their commands are cached. The others run whenever their service is deployed.
CACHED_EVENTS = (
    StepEvent.BEFORE_BUILD,
    StepEvent.AFTER_BUILD,
    StepEvent.BEFORE_PACKAGE,
    StepEvent.AFTER_PACKAGE,
)


class Verb(StrEnum):
    """The extent of a command. Each verb includes those before it."""

    BUILD = "build"
    PACKAGE = "package"
    DEPLOY = "deploy"
