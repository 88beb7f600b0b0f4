"""Settings of functions with values that are known only during a run."""

import json
from collections.abc import Iterator

from fabric.config.schema.check import check
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.schema.shapes import Text
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
        for found in check(shape, _build_node(value), (name,)):
            if found.is_fatal:
                yield Problem(found.problem.code, found.problem.message, found.problem.hint)


def _read_value(text: str) -> object:
    return json.loads(text) if text.startswith(("{", "[")) else text


def _build_node(value: object) -> Node:
    match value:
        case dict():
            entries = (KeyValue(str(key), 0, 0, _build_node(one)) for key, one in value.items())
            return Mapping(tuple(entries), 0, 0)
        case list():
            return Sequence(tuple(map(_build_node, value)), 0, 0)
        case _:
            # Filled, so that the text of a number counts as one.
            text = json.dumps(value) if isinstance(value, bool) else str(value)
            return Scalar(text, text, 0, 0, bound=True)
