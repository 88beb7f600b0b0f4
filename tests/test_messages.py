"""The list of messages is that of the code, so that a change of wording is seen in a diff."""

import pytest

from tests.support.problem_list import FOLDER, problem_files


@pytest.mark.slow
def test_the_list_has_every_message_of_the_code() -> None:
    listed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.txt")}
    assert listed == problem_files(), "run: python -m tests.support.problem_list"
