"""A `.env` as real projects write it, and the lines that nobody can read."""

import pytest

from fabric.config.dotenv import parse_dotenv

KEY = "-----BEGIN KEY-----\nabc\n-----END KEY-----"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'A="{KEY}"\n', KEY),
        (f"A='{KEY}' # mine\n", KEY),
        ('A="a \\"b\\" # c"', 'a "b" # c'),
        ('A="x"', "x"),
        ("  export A=x", "x"),
        ("A = x y  # no", "x y"),
        ('A={"a": 1}', '{"a": 1}'),
        ("A=it's", "it's"),
        ("A=", ""),
        ("A=  \nB=2", ""),
        ("\ufeffA=x\r\nB=y\r\n", "x"),
        ("\n  # A=1\n\nA=x\n", "x"),
    ],
)
def test_a_value_is_read_as_it_is_meant(text: str, value: str) -> None:
    found = parse_dotenv(text)
    assert (dict(found.pairs)["A"], found.unread) == (value, ())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A=1\nsecret words\nB=2\n", 2),
        ("# x\n\nexport A\n", 3),
        ('A=1\nB="open\nC=3\n', 2),
        ("B='x'y\nA=1\n", 1),
        ("1A=x\nA=1\n", 1),
        ("my-name=x\nA=1\n", 1),
    ],
)
def test_invalid_line_is_reported_by_number_without_its_text(text: str, number: int) -> None:
    found = parse_dotenv(text)
    assert [line.number for line in found.unread][:1] == [number]
    assert all(word not in line.why for line in found.unread for word in ("secret", "open", "my-"))


def test_lines_after_an_invalid_line_are_read() -> None:
    found = parse_dotenv("junk\nA=1\njunk\nB=2")
    assert (found.pairs, [line.number for line in found.unread]) == (
        (("A", "1"), ("B", "2")),
        [1, 3],
    )
