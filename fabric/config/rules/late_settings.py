"""Settings with values that are known only during a run, checked like those of a config."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from fabric.config.schema.check import Path, check
from fabric.config.schema.extensions import EXTENSIONS
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.schema.shapes import Shape, Text
from fabric.config.yaml.nodes import KeyValue, Mapping, Node, Scalar, Sequence
from fabric.model.problems import Problem
from fabric.model.task import Pairs

_SHAPES = {one.name: one.shape for one in FUNCTION_SETTINGS}


def find_setting_problems(settings: Pairs) -> Iterator[Problem]:
    for name, text in settings:
        shape = _SHAPES.get(name)
        if shape is None:
            continue
        value = text if isinstance(shape, Text) else _read_value(text)
        yield from _check_value(shape, value, (name,))


def find_extension_problems(provider_id: str, extension: object) -> Iterator[Problem]:
    shape = EXTENSIONS.index.get(provider_id)
    if shape is not None:
        yield from _check_value(shape, extension, ("extensions", provider_id))


def _check_value(shape: Shape, value: object, path: Path) -> Iterator[Problem]:
    for found in check(shape, _build_node(value), path):
        if found.is_fatal:
            yield Problem(found.problem.code, found.problem.message, found.problem.hint)


def _read_value(text: str) -> Any:
    """Read a setting: JSON, or plain text."""
    with contextlib.suppress(ValueError):
        return json.loads(text)
    return text


def _build_node(value: Any) -> Node:
    match value:
        case dict():
            entries = (KeyValue(str(key), 0, 0, _build_node(one)) for key, one in value.items())
            return Mapping(tuple(entries), 0, 0)
        case list():
            return Sequence(tuple(map(_build_node, value)), 0, 0)
        case _:
            text = json.dumps(value) if isinstance(value, bool) else str(value)
            return Scalar(value, text, 0, 0)
