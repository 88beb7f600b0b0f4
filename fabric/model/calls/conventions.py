"""Calling conventions of handlers by provider: one table for builds, calls and the guide."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct


class Convention(StrEnum):
    """The arguments of a handler. Each runtime's `calling` selects it for an export."""

    # (event, context), in Node also with a callback
    EVENT = "event"
    # the event's bytes instead of what they mean
    RAW_EVENT = "raw-event"
    # (req, res), as Node's http and Express have them
    REQUEST_RESPONSE = "request-response"
    # (request), and the answer is what is returned, as in Flask
    REQUEST = "request"
    # (context, req), and the answer is `context.res` or what is returned
    CONTEXT_FIRST = "context-first"
    # a web Request in, a web Response out
    WEB = "web"
    # an object with `fetch`, `scheduled` or `queue`
    WORKER = "worker"
    # a WSGI or ASGI application
    APP = "app"
    CLOUD_EVENT = "cloud-event"
    # one message with `get_body()`
    MESSAGE = "message"
    # one object of parameters: `__ow_…`, or `http` and a context besides
    ARGUMENTS = "arguments"
    HTTP_ARGUMENTS = "http-arguments"


class LanguageCalls(Struct, frozen=True):
    """The conventions of a language. `http` is for functions with an http trigger or no trigger,
    `others` for the rest.

    An object is a handler if it has one of `methods`.
    """

    http: Convention = Convention.EVENT
    others: Convention = Convention.EVENT
    # The fallback exports without `handler`.
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    def convention(self, kinds: Iterable[str]) -> Convention:
        """Return the convention. `kinds` are the trigger kinds of the function."""
        found = frozenset(kinds)
        return self.others if found and "http" not in found else self.http


# An export that only Node has; what is `handler` in CommonJS is so by name.
_DEFAULT = ("default",)
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_FETCH = ("fetch",)
# Those that are called here come first; the others are for events that no trigger has.
_WORKER = ("fetch", "scheduled", "queue", "email", "tail", "trace", "test")
_APPS = LanguageCalls(Convention.APP, Convention.APP, ("app", "application"))
_LISTENER = LanguageCalls(
    Convention.REQUEST_RESPONSE, Convention.REQUEST_RESPONSE, (*_DEFAULT, "app", "server"), _FETCH
)


class HandlerCalls(Struct, frozen=True):
    nodejs: LanguageCalls = LanguageCalls(names=_DEFAULT)
    python: LanguageCalls = LanguageCalls()

    def of(self, runtime: str) -> LanguageCalls:
        if runtime.startswith("provided"):
            return LanguageCalls()
        return self.python if runtime.startswith("python") else self.nodejs


AS_EVENTS = HandlerCalls()
CONVENTIONS: Mapping[str, HandlerCalls] = {
    "cloud1-lambda": AS_EVENTS,
    "cloud2-functions": HandlerCalls(
        LanguageCalls(Convention.REQUEST_RESPONSE, Convention.CLOUD_EVENT, _DEFAULT),
        LanguageCalls(Convention.REQUEST, Convention.CLOUD_EVENT),
    ),
    "cloud3-functions": HandlerCalls(
        LanguageCalls(
            Convention.CONTEXT_FIRST,
            Convention.CONTEXT_FIRST,
            (*_DEFAULT, "run", "index"),
            ("run", "index"),
        ),
        LanguageCalls(Convention.REQUEST, Convention.MESSAGE, ("main",)),
    ),
    "cloud4-fc": HandlerCalls(
        LanguageCalls(Convention.RAW_EVENT, Convention.RAW_EVENT, _DEFAULT),
        LanguageCalls(Convention.RAW_EVENT, Convention.RAW_EVENT),
    ),
    "cloud5-functions": HandlerCalls(
        LanguageCalls(Convention.HTTP_ARGUMENTS, Convention.HTTP_ARGUMENTS, ("main", *_DEFAULT)),
        LanguageCalls(Convention.HTTP_ARGUMENTS, Convention.HTTP_ARGUMENTS, ("main",)),
    ),
    "cloud6-functions": HandlerCalls(
        LanguageCalls(Convention.ARGUMENTS, Convention.ARGUMENTS, ("main", *_DEFAULT)),
        LanguageCalls(Convention.ARGUMENTS, Convention.ARGUMENTS, ("main",)),
    ),
    "cluster-orchestrator": HandlerCalls(_LISTENER, _APPS),
    "edge1-workers": HandlerCalls(
        LanguageCalls(Convention.WORKER, Convention.WORKER, _DEFAULT, _WORKER)
    ),
    "host1": HandlerCalls(
        LanguageCalls(
            Convention.REQUEST_RESPONSE,
            Convention.REQUEST_RESPONSE,
            (*_DEFAULT, *_METHODS, "app", "server"),
            _FETCH,
        ),
        _APPS,
    ),
    "host2": HandlerCalls(LanguageCalls(Convention.WEB, Convention.WEB, _DEFAULT, _FETCH), _APPS),
    "host3-machines": HandlerCalls(_LISTENER, _APPS),
}


def find_conventions(provider_id: str) -> HandlerCalls:
    """Find the conventions. For an unknown provider return events, which every language
    supports."""
    return CONVENTIONS.get(provider_id, AS_EVENTS)
