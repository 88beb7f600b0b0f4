"""Texts and names use the words of the field: stored counts of exceptions only fall."""

import pytest

from tests.support.plain_words import AREAS, counts, found_in, names, problem_texts, stored

STRICT = ("help", "messages", "schema", "dashboard")


@pytest.mark.parametrize("area", STRICT)
def test_texts_of_users_have_no_phrase_that_has_to_be_decoded(area: str) -> None:
    found = found_in(area)
    assert len(found) <= stored()[area], "\n".join(f"{one.where}: {one.text}" for one, _ in found)


@pytest.mark.slow
def test_no_count_rises() -> None:
    before = stored()
    risen = {rule: count for rule, count in counts().items() if count > before.get(rule, 0)}
    assert risen == {}, "to see the places: python -m tests.support.plain_words"
    # An area without texts would pass for a clean one.
    assert [area for area, texts in AREAS.items() if not any(True for _ in texts())] == []
    assert {kind for kind, _ in problem_texts()} == {"message", "hint"}
    assert names().keys() <= stored().keys()
