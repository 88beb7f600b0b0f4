"""Whatever bytes come in, the reader and the loader answer with a value or with problems."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.config.load import ConfigText, load_config
from fabric.config.yaml.nodes import convert_to_plain
from fabric.config.yaml.reader import read
from fabric.model.problems import FabricError, Problem
from tests.support.documents import SCALARS

_LOADERS = {"fast": getattr(yaml, "CSafeLoader", yaml.SafeLoader), "pure": yaml.SafeLoader}
_SIGNS = st.text(st.sampled_from(list("ab:-?[]{},&*!|>'\"%@`#<~0.\n \t\\\r\u2028\ufeff\x85é")))
_START = (
    "service: s\nprovider: {name: host1, runtime: nodejs}\nfunctions: [{name: f, entry: f.ts}]\n"
)


def _problems(action: Callable[[], object]) -> tuple[Problem, ...]:
    """What was refused; any other way to fail ends the test."""
    try:
        action()
    except FabricError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("loader", _LOADERS.values(), ids=list(_LOADERS))
@settings(deadline=None)
@given(raw=st.binary(max_size=300) | _SIGNS.map(str.encode))
def test_any_bytes_are_read_or_refused(loader: Any, raw: bytes) -> None:
    problems = _problems(lambda: read("fabric.yml", raw, loader))
    assert all(problem.where for problem in problems)


@settings(deadline=None)
@given(tail=_SIGNS, stage=st.text(max_size=5))
def test_any_text_is_loaded_or_refused(tail: str, stage: str) -> None:
    source = ConfigText("fabric.yml", (_START + tail).encode(), {"X": "1"}, stage)
    problems = _problems(lambda: load_config(source))
    assert all(problem.code.startswith("config/") for problem in problems)


@settings(deadline=None)
@given(value=st.text(st.sampled_from(list("${}:,envscrtag XY")), max_size=40))
def test_any_text_with_half_a_binding_is_filled_or_refused(value: str) -> None:
    text = f"{_START}env: {{A: '{value}'}}\n".encode()
    source = ConfigText("fabric.yml", text, {"X": "1", "Y": ""}, "dev")
    assert all(problem.frame for problem in _problems(lambda: load_config(source)))


@settings(deadline=None)
@given(
    document=st.recursive(
        SCALARS.filter(lambda value: not isinstance(value, str) or value.isprintable()),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(min_codepoint=33, max_codepoint=126)), inner),
        max_leaves=10,
    )
)
def test_json_is_read_as_json_means_it(document: Any) -> None:
    text = json.dumps(document)
    assert convert_to_plain(read("fabric.yml", text.encode()).root) == document
