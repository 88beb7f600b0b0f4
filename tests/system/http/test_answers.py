"""The head of an answer names the size of its body, as far as it is known."""

import pytest

from fabric.system.http.answers import ServedAnswer

SIZED = ServedAnswer(200, (("content-length", "5"),))


@pytest.mark.parametrize(
    ("answer", "with_body", "expected"),
    [
        (ServedAnswer(200, body=b"hello"), True, ["content-length: 5"]),
        (ServedAnswer(200, body=b"hello"), False, ["content-length: 5"]),
        (ServedAnswer(200), True, ["content-length: 0"]),
        (ServedAnswer(204), True, []),
        (SIZED, False, ["content-length: 5"]),
        (ServedAnswer(200, (("content-type", "text/event-stream"),)), False, []),
    ],
    ids=["body", "head of a body", "empty", "no content", "size given", "head of a stream"],
)
def test_size_is_that_of_the_answer_to_get(
    answer: ServedAnswer, expected: list[str], *, with_body: bool
) -> None:
    head = answer.as_bytes(keeps=False, with_body=with_body).partition(b"\r\n\r\n")[0]
    lines = head.decode().split("\r\n")
    assert [line for line in lines if line.startswith("content-length")] == expected
