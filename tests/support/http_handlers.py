"""Handlers beside requests and what users are answered: whoever runs handlers passes all.

They run in the runtime of Workers, in the servers of a cluster's pods, below the functions
framework, and on the developer's machine. Where one of these has to differ, the case says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pytest


class Host(StrEnum):
    """What runs a handler: `LOCAL` is the developer's machine, in either language, and `SITES` are
    functions that a site calls with events of its own; actions are OpenWhisk's, events are those
    of Function Compute."""

    WORKERS = "workers"
    NODE = "node"
    PYTHON = "python"
    FRAMEWORK_NODE = "framework-node"
    FRAMEWORK_PYTHON = "framework-python"
    LOCAL = "local"
    SITES = "sites"
    ACTION_NODE = "action-node"
    ACTION_PYTHON = "action-python"
    EVENT_NODE = "event-node"
    EVENT_PYTHON = "event-python"


_PYTHON_HOSTS = frozenset(
    (Host.PYTHON, Host.FRAMEWORK_PYTHON, Host.ACTION_PYTHON, Host.EVENT_PYTHON)
)


@dataclass(frozen=True)
class Asked:
    """`chunks` are sent one by one, without a length before them."""

    method: str = "GET"
    path: str = "/"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    chunks: tuple[bytes, ...] = ()


_ECHO = """exports.handler = async (event) => ({
    statusCode: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(event),
});"""
_PYTHON_ECHO = """import json


def handler(event, context):
    kind = {"content-type": "application/json"}
    return {"statusCode": 200, "headers": kind, "body": json.dumps(event)}
"""


@dataclass(frozen=True)
class HandlerCase:
    """`route` is the path of the trigger and `more` are further routes of the same function. `said`
    is what the answer has at least: its members of JSON (dots lead inside), its JSON as a list, or
    its bytes. `python` is empty for what only JavaScript has, and `unlike` are the fields that are
    others at one host."""

    id: str
    asked: Asked
    source: str = _ECHO
    python: str = _PYTHON_ECHO
    route: str = "/"
    method: str = "ANY"
    more: tuple[tuple[str, str], ...] = ()
    status: int = 200
    said: Mapping[str, Any] | Sequence[Any] | bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    file: str = "index.js"
    timeout: int = 0
    logged: str = ""
    unlike: Mapping[Host, Mapping[str, Any]] = field(default_factory=dict)

    def at(self, host: Host) -> "HandlerCase":
        return replace(self, **self.unlike.get(host, {}))

    @property
    def routes(self) -> tuple[tuple[str, str], ...]:
        """Each a method and a path."""
        return ((self.method, self.route), *self.more)


@dataclass(frozen=True)
class HandlerAnswer:
    """Names of `headers` are in small letters; those that came more than once are joined."""

    status: int
    content: bytes
    headers: Mapping[str, str]
    cookies: tuple[str, ...]


def answered(case: HandlerCase, answer: HandlerAnswer) -> None:
    """Fails where the answer is another one."""
    assert answer.status == case.status, answer
    match case.said:
        case bytes() as content:
            assert answer.content == content
        case None:
            pass
        case Mapping() as members:
            found = json.loads(answer.content)
            assert {name: inside(found, name) for name in members} == members
        case rows:
            assert json.loads(answer.content) == rows
    assert {name: answer.headers.get(name) for name in case.headers} == case.headers
    assert answer.cookies == case.cookies


def joined(pairs: Sequence[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Headers as they came, and the cookies among them by themselves."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.lower(), []).append(value)
    cookies = tuple(found.pop("set-cookie", ()))
    return {name: ", ".join(values) for name, values in found.items()}, cookies


def inside(document: Any, path: str) -> Any:
    """What is at a path of names; None where nothing is."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def cases_of(host: Host, cases: Sequence[HandlerCase]) -> pytest.MarkDecorator:
    """A test of each case. Every host runs the same ones, so a run of all tests samples them."""
    chosen = [one.at(host) for one in cases if one.python or host not in _PYTHON_HOSTS]
    params = [pytest.param(one, id=one.id, marks=pytest.mark.sampled) for one in chosen]
    return pytest.mark.parametrize("case", params)
