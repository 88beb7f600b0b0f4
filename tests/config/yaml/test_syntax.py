"""Bindings and excerpts."""

import pytest

from fabric.config.yaml.syntax import format_excerpt, has_binding


@pytest.mark.parametrize(
    "text",
    ["${env:A}", "a${env:A,b}c", "${stage}", "${secret:KEY}", "${param:x}", "${file:a/b.txt}"],
)
def test_bindings_are_recognized(text: str) -> None:
    assert has_binding(text)


@pytest.mark.parametrize(
    "text", ["", "$stage", "${stage", "${STAGE}", "${env:}", "${env:1}", "${file: a}", "${other:a}"]
)
def test_other_texts_are_not_bindings(text: str) -> None:
    assert not has_binding(text)


def test_an_excerpt_is_short_and_without_control_characters() -> None:
    assert format_excerpt("a\x1b[31m\n") == "a\\x1b[31m\\x0a"
    assert format_excerpt("a" * 60) == "a" * 60
    assert format_excerpt("a" * 61) == "a" * 59 + "…"
    assert format_excerpt("abcdef", 4) == "abc…"
