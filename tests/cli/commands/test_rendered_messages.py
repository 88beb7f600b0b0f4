"""What commands print for common mistakes is reviewed as text: a change is seen in a diff."""

from pathlib import Path

import pytest

from tests.support.rendered_messages import CASES, RENDERED, Case, rendered


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_a_mistake_is_answered_as_stored(case: Case, tmp_path: Path) -> None:
    block = rendered(case, tmp_path)
    assert block in RENDERED.read_text(encoding="utf-8"), (
        "run: python -m tests.support.rendered_messages"
    )
