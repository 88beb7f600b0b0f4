"""What a check makes of a response, and which events it accepts."""

from typing import Any

import pytest

from fabric.tasks.check import find_differences

OK = {"statusCode": 200, "body": '{"a": 1, "b": [1, 2]}'}


@pytest.mark.parametrize(
    ("expect", "response"),
    [
        ({}, None),
        ({"status": 200}, OK),
        ({"json": {"a": 1, "b": [1, 2]}}, OK),
        ({"contains": '"a": 1'}, OK),
        ({"body": "hi"}, {"statusCode": 201, "body": "hi"}),
        ({"body": "hi", "json": "hi"}, "hi"),
        ({"json": {"a": None}}, {"a": None}),
        ({"json": 1.0}, 1),
        ({"contains": "1"}, {"a": 1}),
        ({"body": "hi"}, {"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}),
    ],
)
def test_a_response_that_matches_has_no_difference(expect: Any, response: Any) -> None:
    assert list(find_differences(expect, response)) == []


@pytest.mark.parametrize(
    ("expect", "response", "said"),
    [
        ({"status": 200}, {"statusCode": 500}, "`status` must be 200, got 500"),
        ({"status": 200}, {"a": 1}, "`status` must be 200, the response has no `statusCode`"),
        ({"body": "a"}, "b", '`body` must be "a", got "b"'),
        ({"contains": "a"}, {"statusCode": 200, "body": "b"}, '`body` must contain "a", got "b"'),
        ({"json": {"a": 1}}, {"a": 2}, "`json.a` must be 1, got 2"),
        ({"json": {"a": 1}}, {}, "`json.a` is missing"),
        ({"json": {}}, {"a": {"b": 1}}, '`json.a` is not expected, got {"b": 1}'),
        ({"json": {"a": {"b": 1}}}, {"a": {"b": 2}}, "`json.a.b` must be 1, got 2"),
        ({"json": True}, 1, "`json` must be true, got 1"),
        ({"json": [{"a": True}]}, [{"a": 1}], '`json` must be [{"a": true}], got [{"a": 1}]'),
        ({"status": 200}, {"statusCode": "200"}, '`status` must be 200, got "200"'),
        ({"json": [1]}, [1, 2], "`json` must be [1], got [1, 2]"),
    ],
)
def test_a_difference_names_the_key_and_both_values(expect: Any, response: Any, said: str) -> None:
    assert list(find_differences(expect, response)) == [said]


def test_all_differences_are_named_and_long_values_are_cut() -> None:
    found = list(
        find_differences({"status": 200, "body": "a"}, {"statusCode": 1, "body": "x" * 999})
    )
    assert len(found) == 2
    assert len(found[1]) < 300
