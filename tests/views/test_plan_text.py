"""The text of `explain`: the action, the reason, and the changed inputs."""

import pytest

from fabric.model.outcomes.planned import ChangedInput, ExplainOutcome
from fabric.views.plan_text import explain_text
from fabric.views.style import Style


@pytest.mark.parametrize(
    ("action", "reason", "head"),
    [
        ("run", "runtime changed", "run, runtime changed"),
        ("wait", "known after build:a/b", "pending, known after build:a/b"),
        ("skip", "up to date", "up to date"),
    ],
)
def test_explain_begins_with_action_and_reason(action: str, reason: str, head: str) -> None:
    outcome = ExplainOutcome("build:a/b", action, reason, (), 3)
    assert explain_text(outcome, Style()) == f"build:a/b: {head} (3 inputs checked)"


def test_task_settings_are_not_called_options() -> None:
    changed = (ChangedInput("option", "mode", "simulated", "real"),)
    outcome = ExplainOutcome("deploy:a/b", "run", "setting mode changed", changed, 3)
    assert explain_text(outcome, Style()).splitlines()[1] == "  setting mode  simulated -> real"
