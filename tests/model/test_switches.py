"""Variables that enable or disable something."""

import pytest

from fabric.model.problems import FabricError
from fabric.model.switches import is_on


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", " TRUE ", "Yes"])
def test_a_yes_in_any_case_enables(word: str) -> None:
    assert is_on("SWITCH", {"SWITCH": word})


@pytest.mark.parametrize("env", [{}, {"SWITCH": ""}, {"SWITCH": " 0"}, {"SWITCH": "Off"}])
def test_a_no_or_no_value_disables(env: dict[str, str]) -> None:
    assert not is_on("SWITCH", env)


@pytest.mark.parametrize("word", ["2", "enable", "y"])
def test_another_word_is_refused_as_it_was_written(word: str) -> None:
    with pytest.raises(FabricError, match=f"invalid value for SWITCH: `{word}`"):
        is_on("SWITCH", {"SWITCH": word})
