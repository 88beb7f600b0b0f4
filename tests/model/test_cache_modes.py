"""Who reads and writes a shared cache where: as it is said, else as the place asks for."""

import pytest

from fabric.model.cache_modes import cache_modes
from fabric.model.problems import FabricError

CI = {"CI": "true"}
PULL_REQUESTS = (
    {"GITHUB_EVENT_NAME": "pull_request"},
    {"GITHUB_EVENT_NAME": "pull_request_target"},
    {"CI_MERGE_REQUEST_ID": "12"},
    {"CIRCLE_PULL_REQUEST": "https://example.com/12"},
    {"BUILDKITE_PULL_REQUEST": "12"},
    {"BUILD_REASON": "PullRequest"},
    {"CHANGE_ID": "12"},
    {"BITBUCKET_PR_ID": "12"},
)


def ways(said: str, env: dict[str, str]) -> str:
    found = cache_modes(said, env)
    return "r" * found.reads_remote + "w" * found.writes_remote


def test_on_ones_own_machine_it_is_read() -> None:
    assert ways("", {}) == "r"
    assert ways("", {"CI": "false"}) == "r"


def test_in_ci_it_is_written_too() -> None:
    assert ways("", CI) == "rw"
    assert ways("", {**CI, "BUILDKITE_PULL_REQUEST": "false"}) == "rw"
    assert ways("", {**CI, "GITHUB_EVENT_NAME": "push"}) == "rw"


@pytest.mark.parametrize("env", PULL_REQUESTS, ids=lambda env: "".join(env))
def test_but_not_by_what_a_pull_request_runs(env: dict[str, str]) -> None:
    assert ways("", {**CI, **env}) == "r"


def test_the_option_beats_the_variable_and_both_the_place() -> None:
    variable = {**CI, "FABRIC_CACHE": "remote:w"}
    assert ways("", variable) == "w"
    assert ways("local:rw,remote:r", variable) == "r"


def test_without_a_word_of_it_the_remote_one_is_left_out() -> None:
    assert ways("local:rw", CI) == ""
    assert ways("local:rw,remote:", CI) == ""
    assert ways("remote:rw, local:rw", CI) == "rw"


@pytest.mark.parametrize(
    "text", ["rw", "remote", "remote:rr", "far:r", "remote:r,remote:w", "local:r", "local:", ","]
)
def test_anything_else_is_a_slip(text: str) -> None:
    with pytest.raises(FabricError) as caught:
        cache_modes(text, {})
    assert caught.value.first.code == "usage/bad-value"
