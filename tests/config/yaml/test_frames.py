"""Lines of a file around a problem, without secrets."""

import pytest

from fabric.config.yaml.frames import SourceLines, add_frame
from fabric.model.problems import Place, Problem


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb", ["a\n", "b"]),
        ("a\r\nb\n", ["a\r\n", "b\n"]),
        ("\n\n", ["\n", "\n"]),
    ],
)
def test_lines_keep_their_line_breaks(text: str, lines: list[str]) -> None:
    assert SourceLines(text).lines == lines
    assert "".join(SourceLines(text).lines) == text


def test_frame_shows_the_neighbors_and_a_caret() -> None:
    lines = SourceLines("one\ntwo\nthree\nfour\n")
    assert lines.frame(2, 3).splitlines() == ["1 | one", "2 | two", "  |   ^", "3 | three"]
    assert lines.frame(1, 0).splitlines() == ["1 | one", "2 | two"]
    assert (lines.frame(0, 1), lines.frame(99, 1)) == ("", "")


def test_long_line_is_shifted_or_replaced_by_its_length() -> None:
    assert SourceLines("x" * 401).frame(1, 1).startswith("1 | (a line of 401 characters)")
    row, caret = SourceLines("y" * 150 + "Z" + "y" * 50).frame(1, 151).splitlines()
    assert row[caret.index("^")] == "Z"


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("secrets:\n  a:\n    b: hunter2\n", 3, "    b: [REDACTED]"),
        ("secrets:\n- hunter2\n", 2, "- [REDACTED]"),
        ("secrets:\n  a: x\n\n  # c\n  b: hunter2\n", 5, "  b: [REDACTED]"),
        ("secrets: {}\nenv:\n  a: shown\n", 3, "  a: shown"),
        ("- secrets:\n    a: hunter2\n- a: shown\n", 3, "- a: shown"),
        ("db_password: hunter2\n", 1, "db_password: [REDACTED]"),
        ("url: https://me:pw@host/x\n", 1, "url: https://[REDACTED]@host/x"),
        ("a: \x1b[31mred\n", 1, "a:  [31mred"),
        ("http: {apiKeys: [{name: a}, b], c: d}\n", 1, "http: {apiKeys: [{name: a}, b], c: d}"),
        ("apiKeys: [a, {password: hunter2}]\n", 1, "apiKeys: [a, {password: [REDACTED]"),
        ("apiKeys: [a], token: hunter2\n", 1, "apiKeys: [a], token: [REDACTED]"),
        ("apiKeys: [a, 0123456789abcdefghij]\n", 1, "apiKeys: [REDACTED]"),
        ("apiKeys: hunter2\n", 1, "apiKeys: [REDACTED]"),
        ("apiKeys: [hunter2,\n", 1, "apiKeys: [REDACTED]"),
        ("apiKey: [hunter2]\n", 1, "apiKey: [REDACTED]"),
        ("ref: hunter2\n", 1, "ref: [REDACTED]"),
        ("QueueName: {Ref: Name}\n", 1, "QueueName: {Ref: Name}"),
    ],
)
def test_line_is_shown_without_secrets_and_control_characters(
    text: str, number: int, shown: str
) -> None:
    assert SourceLines(text).format_line(number) == shown


def test_problem_without_a_place_has_no_frame() -> None:
    problem = Problem("a/b", "c")
    assert add_frame(problem, "fabric.yml", SourceLines("a")) is problem
    placed = add_frame(Problem("a/b", "c", where=Place("", 1, 1)), "x.yml", SourceLines("a"))
    assert (str(placed.where), placed.frame) == ("x.yml:1:1", "1 | a\n  | ^")
