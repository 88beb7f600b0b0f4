"""Where values begin and end in a text, by either loader."""

from typing import Any

import pytest
import yaml

from fabric.config.yaml.spans import ALIAS, LIST, MAP, NOTHING, SCALAR, Span, parse_spans
from tests.support.config_files import config_file

LOADERS = {"fast": getattr(yaml, "CSafeLoader", yaml.SafeLoader), "pure": yaml.SafeLoader}
TEXT = """\
# é
%s
a: plain text
  that goes on  # remark
b: &x [1, {c: 2, d}, "e": f, ]
? g
: - - h
  - !!str
k:
- i
-
l: *x
m: |
  n

"""


def kinds(span: Span) -> object:
    """The shape of a value."""
    if span.kind == LIST:
        return [kinds(one.value) for one in span.children]
    if span.kind == MAP:
        return {one.key: kinds(one.value) for one in span.children}
    return span.kind


@pytest.mark.parametrize("loader", LOADERS)
def test_spans_have_the_shape_of_the_document(loader: str) -> None:
    found = parse_spans(TEXT.replace("%s", "---"), LOADERS[loader])
    assert kinds(found) == {
        "a": SCALAR,
        "b": [SCALAR, {"c": SCALAR, "d": NOTHING}, SCALAR],
        "g": [[SCALAR], NOTHING],
        "k": [SCALAR, NOTHING],
        "l": ALIAS,
        "m": SCALAR,
    }


def cut(text: str, span: Span) -> str:
    return text[span.first.start : span.last.end]


@pytest.mark.parametrize("loader", LOADERS)
def test_span_covers_the_exact_source_text(loader: str) -> None:
    text = TEXT.replace("%s", "---")
    root = parse_spans(text, LOADERS[loader])
    parts = {one.key: cut(text, one.value) for one in root.children}
    assert parts == {
        "a": "plain text\n  that goes on",
        "b": '[1, {c: 2, d}, "e": f, ]',
        "g": "- - h\n  - !!str",
        "k": "- i\n-",
        "l": "*x",
        "m": "|\n  n\n\n",
    }
    second = root.child("b")
    assert second is not None
    assert (second.value.anchored, second.value.comma is not None) == (True, True)


@pytest.mark.parametrize("seed", range(100))
def test_both_loaders_give_the_same(seed: int) -> None:
    """The pure one takes no tab before a comment."""
    text = config_file(seed).decode("utf-8-sig").replace("\t#", " #")
    found: list[Any] = [places(parse_spans(text, loader)) for loader in LOADERS.values()]
    assert found[0] == found[1]


def places(span: Span) -> tuple[object, ...]:
    """Without the names of styles, which the loaders call differently."""
    inner = tuple(places(one.value) for one in span.children)
    return span.kind, span.first[:4], span.last[:4], span.is_flow, inner
