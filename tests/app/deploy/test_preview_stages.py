"""How deploys mark previews, and which of them a sweep removes."""

from typing import Any

import pytest
from msgspec.structs import replace

from fabric.app.deploy.preview_stages import PreviewOptions, mark_preview, read_branch
from fabric.app.deploy.stages import StageSurvey
from fabric.app.deploy.sweep import SweepRules, keep
from fabric.model.records.record import Origin, PreviewStage
from tests.support.records import record

EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"
NOW = "2026-01-15T00:00:00.000Z"
PREVIEW = PreviewStage(LATE)
EXPIRED = SweepRules(now=NOW)


@pytest.mark.parametrize(
    ("options", "old", "new"),
    [
        (PreviewOptions(), None, None),
        (PreviewOptions(), PREVIEW, PREVIEW),
        (PreviewOptions(is_preview=True), None, PreviewStage()),
        (PreviewOptions(is_preview=True), PREVIEW, PREVIEW),
        (PreviewOptions(expires_at=EARLY), None, PreviewStage(EARLY)),
        (PreviewOptions(expires_at=EARLY), PREVIEW, PreviewStage(EARLY)),
        (PreviewOptions(expires_at=""), PREVIEW, PreviewStage()),
        (PreviewOptions(expires_at=""), None, None),
    ],
)
def test_a_deploy_changes_the_mark_only_as_its_options_say(
    options: PreviewOptions, old: PreviewStage | None, new: PreviewStage | None
) -> None:
    assert mark_preview(options, old) == new


def survey(**changes: Any) -> StageSurvey:
    none: Any = None
    empty = StageSurvey(project=none, records={}, protected=frozenset(), locked={}, problems=())
    return replace(empty, **changes)


@pytest.mark.parametrize(
    ("expires", "rules", "why"),
    [
        (EARLY, EXPIRED, ""),
        (LATE, EXPIRED, f"expires at {LATE}"),
        ("", EXPIRED, "never expires"),
        (EARLY, SweepRules(before=EARLY), f"deployed at {EARLY}"),
        (LATE, SweepRules(before=NOW), ""),
        (LATE, SweepRules(branches=frozenset(["main"])), ""),
        (EARLY, SweepRules(branches=frozenset(["topic"])), "branch `topic` exists"),
        (LATE, SweepRules(now=NOW, branches=frozenset(["main"])), ""),
    ],
)
def test_a_preview_is_kept_unless_a_condition_selects_it(
    expires: str, rules: SweepRules, why: str
) -> None:
    one = record(preview=PreviewStage(expires), origin=Origin(branch="topic"))
    assert keep(survey(), one, rules) == why


def test_a_preview_of_an_unknown_branch_is_kept() -> None:
    one = record(preview=PREVIEW)
    assert keep(survey(), one, SweepRules(branches=frozenset())) == "its branch is unknown"


def test_protected_and_locked_stages_are_kept() -> None:
    one = record(preview=PreviewStage(EARLY))
    protected = survey(protected=frozenset([("shop", "dev")]))
    assert keep(protected, one, EXPIRED) == "the stage is protected"
    assert keep(survey(locked={one.ref: "me@here"}), one, EXPIRED) == "locked by me@here"


@pytest.mark.parametrize(
    ("env", "branch"),
    [
        ({"GITHUB_REF_NAME": "topic", "GITHUB_REF_TYPE": "branch"}, "topic"),
        ({"GITHUB_REF_NAME": "v1", "GITHUB_REF_TYPE": "tag"}, ""),
        ({"GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "topic"}, "topic"),
        ({"CI_COMMIT_REF_NAME": "v1", "CI_COMMIT_TAG": "v1"}, ""),
        ({"CI_COMMIT_REF_NAME": "topic"}, "topic"),
        ({}, ""),
    ],
)
def test_variables_of_ci_name_a_branch_but_no_tag(env: dict[str, str], branch: str) -> None:
    assert read_branch(env) == branch
