"""Where the triggers and API settings that events describe are written."""

from typing import NamedTuple

from fabric.config.rules.value_sources import KNOWN_IN_TRIGGERS
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.source import At
from fabric.model.outcomes.json_struct import Json
from fabric.scaffold.yaml_text import build_tree

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY")
DEFAULT_ROUTES = ("*", "$default", "")


class ApiRoute(NamedTuple):
    """A route, with the type and the logical id of its API. The implicit API has no id."""

    trigger: Fields
    kind: str
    api: str


class EventTarget:
    """The function of the events, and what they add to its service."""

    def __init__(self, http: Fields) -> None:
        self.function = Fields()
        self.http = http
        # Resources that the other tool creates for an event, by logical id.
        self.new_resources: dict[str, Json] = {}
        self.is_rest = self.is_http = False
        # Settings of buckets that the other tool creates, by the name in events.
        self.buckets: dict[str, At] = {}
        self.used_buckets: set[str] = set()
        # The payload version of each route of an HTTP API, which can be missing.
        self.payloads: list[At] = []
        # APIs with a document of their own, and the functions that they call.
        self.documents: frozenset[str] = frozenset()
        self.permissions: set[tuple[str, str]] = set()
        # Routes of APIs without a document.
        self.routes: list[ApiRoute] = []

    @property
    def has_rest_api(self) -> bool:
        """Return whether the API of the service is a REST API. A service has one API."""
        return self.is_rest and not self.is_http

    def add(self, at: At, kind: str) -> Fields:
        trigger = Fields(at)
        trigger.put("type", kind)
        self.function.add("triggers", trigger)
        return trigger

    def remove_without(self, trigger: Fields, key: str) -> None:
        """Remove a trigger whose source could not be converted."""
        triggers = self.function.get("triggers")
        if not trigger.has(key) and isinstance(triggers, list):
            triggers.remove(trigger)
            if not triggers:
                self.function.remove("triggers")

    def add_resource(self, context: Context, logical: str, body: Json) -> None:
        """Add a resource that the other tool creates itself."""
        self.new_resources[logical] = body
        context.names.resources.setdefault(logical, build_tree(body))

    def add_route(self, context: Context, at: At, method: str, path: str) -> Fields | None:
        """Add a route, or report an invalid one."""
        method = "ANY" if method in ("*", "") else method.upper()
        route = "/" + path.strip().strip("/")
        if method not in _METHODS or any(one.isspace() for one in route):
            context.ledger.lose(at, f"`{method} {path}` is not a route")
            return None
        trigger = self.add(at, "http")
        trigger.put("route", f"{method}:{route}")
        return trigger

    def add_default_route(self, context: Context, at: At) -> Fields:
        """Add the route of all requests without another route."""
        trigger = self.add(at, "http")
        trigger.put("route", "$default")
        if not at.is_map:
            context.ledger.carry(at)
        return trigger


def drop_late_triggers(context: Context, config: Fields) -> None:
    """Report the triggers that need a value before the deploy which only the deploy knows."""
    for section, keys in (("functions", KNOWN_IN_TRIGGERS), ("workflows", None)):
        for owner in config.list_fields(section):
            triggers = owner.list_fields("triggers")
            kept = []
            for one in triggers:
                at = one.find_late(keys)
                if at is None:
                    kept.append(one)
                else:
                    reason = "the deploy must know this value of the trigger before it starts"
                    context.ledger.lose(at, reason, "write the value, or the event into a stack")
            if not kept:
                owner.remove("triggers")
            elif len(kept) < len(triggers):
                owner.put("triggers", kept)


def join_words(text: str) -> str:
    """Join the words of a name to a logical id."""
    words = text.replace("_", "-").replace(".", "-").split("-")
    return "".join(one[:1].upper() + one[1:] for one in words)


def put_seconds(context: Context, at: At, trigger: Fields) -> None:
    """Put milliseconds as seconds."""
    found = context.read_number(at)
    if isinstance(found, int):
        trigger.put("timeout", found / 1000 if found % 1000 else found // 1000, at)
        context.ledger.carry(at)
    else:
        context.ledger.lose(at, "the value is not a number")
