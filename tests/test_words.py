"""Texts and names use the words of the field: stored counts of exceptions only fall."""

import pytest

from tests.support.plain_words import AREAS, counts, names, problem_texts, stored


@pytest.mark.slow
def test_no_count_rises() -> None:
    before = stored()
    risen = {rule: count for rule, count in counts().items() if count > before.get(rule, 0)}
    assert risen == {}, "to see the places: python -m tests.support.plain_words"
    # An area without texts would pass for a clean one.
    assert [area for area, texts in AREAS.items() if not any(True for _ in texts())] == []
    assert {kind for kind, _ in problem_texts()} == {"message", "hint"}
    assert names().keys() <= stored().keys()
