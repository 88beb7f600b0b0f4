"""Spelling suggestions."""

import pytest

from fabric.model.text.spelling import compute_edit_distance, find_nearest, suggest_spelling


@pytest.mark.parametrize(
    ("left", "right", "steps"),
    [
        ("", "", 0),
        ("deploy", "deploy", 0),
        ("deploy", "deply", 1),
        ("deploy", "deplooy", 1),
        ("deploy", "deplay", 1),
        ("deploy", "depoly", 1),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
    ],
)
def test_a_swap_of_neighbors_counts_as_one_edit(left: str, right: str, steps: int) -> None:
    assert compute_edit_distance(left, right) == steps
    assert compute_edit_distance(right, left) == steps


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("deplyo", "deploy"),
        ("PLAN", "plan"),
        ("pla", "plan"),
        ("a", ""),
        ("go", ""),
        ("remote", "remove"),
        ("banana", ""),
        ("x" * 65, ""),
    ],
)
def test_short_words_match_only_with_few_edits(word: str, nearest: str) -> None:
    assert find_nearest(word, ["deploy", "plan", "remove", "to"]) == nearest


def test_of_equally_near_words_the_first_in_order_is_suggested() -> None:
    assert find_nearest("bord", ["word", "cord", "lord"]) == "cord"


def test_a_suggestion_is_a_question_or_empty() -> None:
    assert suggest_spelling("deplyo", ["deploy"]) == "did you mean `deploy`?"
    assert suggest_spelling("banana", ["deploy"]) == ""
