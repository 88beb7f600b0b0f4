"""Places of settings that a plan can reject, stored because the document is dropped after
loading."""

from collections.abc import Iterator

from fabric.config.resolve.stages import named_entries
from fabric.config.triggers import kinds_of
from fabric.config.values import ConfigPlace
from fabric.config.yaml.nodes import Mapping, Node, Scalar, child, place_of
from fabric.config.yaml.problems import in_file
from fabric.model.names import TriggerKind
from fabric.model.problems import Problem

BACKEND = "backend"
# No provider allows less than twice of this.
_LARGE_ENV = 2048
_CHECKED_LATE = (
    TriggerKind.EVENTBUS,
    TriggerKind.PUBSUB,
    TriggerKind.LOGSTREAM,
    TriggerKind.AMQP,
)


def trigger_pointer(function: str, number: int) -> str:
    return f"functions/{function}/triggers/{number}"


def env_pointer(function: str) -> str:
    return f"functions/{function}/env"


def locations_of(file: str, text: str, root: Mapping) -> tuple[ConfigPlace, ...]:
    places = [Problem(pointer, "", where=place_of(node)) for pointer, node in _places(root)]
    found = in_file(file, text, places)
    return tuple(ConfigPlace(one.code, one.where, one.frame) for one in found if one.where)


def _places(root: Mapping) -> Iterator[tuple[str, Node]]:
    backend = child(root, BACKEND)
    if backend is not None:
        yield BACKEND, backend
    for name, function in named_entries(child(root, "functions")):
        for number, (kind, node) in enumerate(kinds_of(function)):
            if kind in _CHECKED_LATE:
                yield trigger_pointer(name, number), node
        env = child(function, "env")
        if isinstance(env, Mapping) and _letters(env) > _LARGE_ENV:
            yield env_pointer(name), env


def _letters(env: Mapping) -> int:
    values = (entry.value for entry in env.entries)
    return sum(len(str(value.value)) for value in values if isinstance(value, Scalar))
