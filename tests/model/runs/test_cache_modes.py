"""Who reads and writes a shared cache where: as it is said, else as the place asks for."""

import pytest

from fabric.model.problems import FabricError
from fabric.model.runs.cache_modes import cache_modes

CI = {"CI": "true"}
PULL_REQUESTS = (
    {"GITHUB_EVENT_NAME": "pull_request"},
    {"GITHUB_EVENT_NAME": "pull_request_target"},
    {"GITHUB_EVENT_NAME": "workflow_run"},
    {"GITHUB_EVENT_NAME": "issue_comment"},
    {"CI_MERGE_REQUEST_ID": "12"},
    {"CI_MERGE_REQUEST_IID": "12"},
    {"CI_EXTERNAL_PULL_REQUEST_IID": "12"},
    {"CIRCLE_PR_NUMBER": "12"},
    {"DRONE_PULL_REQUEST": "12"},
    {"TRAVIS_PULL_REQUEST": "12"},
    {"APPVEYOR_PULL_REQUEST_NUMBER": "12"},
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
    assert ways("", {**CI, "TRAVIS_PULL_REQUEST": "false"}) == "rw"
    assert ways("", {**CI, "GITHUB_EVENT_NAME": "push"}) == "rw"


@pytest.mark.parametrize("name", ["TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION"])
def test_some_build_machines_say_so_in_their_own_way(name: str) -> None:
    assert ways("", {name: "x"}) == "rw"
    assert ways("", {name: "x", "CI": "false"}) == "r"
    assert ways("", {name: "x", "CHANGE_ID": "12"}) == "r"


@pytest.mark.parametrize("env", PULL_REQUESTS, ids=lambda env: "".join((*env, *env.values())))
def test_pull_request_run_only_reads_the_cache(env: dict[str, str]) -> None:
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
