"""The workflow: short-lived tokens where a cloud has them, and no long-lived key beside them."""

import re
from typing import Any

import pytest

from fabric.manifest import VERSION
from fabric.model.backends import BackendKind
from fabric.model.catalog import PROVIDERS
from fabric.model.distribution import DISTRIBUTION
from fabric.model.secrets.secrecy import is_secret_name
from fabric.scaffold.workflow import CiProject, format_workflow

LOGINS = {
    "cloud1-lambda": "aws-actions/configure-aws-credentials",
    "cloud2-functions": "google-github-actions/auth",
    "cloud3-functions": "azure/login",
    "objstore1": "aws-actions/configure-aws-credentials",
    "objstore2": "google-github-actions/auth",
}
# What a login takes the place of.
LONG_LIVED = {
    "aws-actions/configure-aws-credentials": ("CLOUD1_ACCESS_KEY", "CLOUD1_SECRET"),
    "google-github-actions/auth": ("SERVICE_ACCOUNT_KEY", "CREDENTIALS_FILE"),
    "azure/login": ("CLIENT_SECRET",),
}


def load_yaml(text: str) -> dict[str, Any]:
    from yaml import BaseLoader, load

    found: dict[str, Any] = load(text, BaseLoader)  # noqa: S506 - texts only
    return found


def steps_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = found["jobs"]["fabric"]["steps"]
    return steps


def project(provider: str, backend: str = "local") -> CiProject:
    return CiProject(provider=provider, backend=backend)


@pytest.mark.parametrize("backend", BackendKind)
@pytest.mark.parametrize("provider", [one.id for one in PROVIDERS])
def test_clouds_are_reached_by_short_lived_tokens(provider: str, backend: str) -> None:
    text = format_workflow(project(provider, backend))
    found = load_yaml(text)
    wanted = {LOGINS[one] for one in (provider, backend) if one in LOGINS}
    used = [one["uses"].partition("@")[0] for one in steps_of(found) if "uses" in one]
    assert sorted(one for one in used if one in LONG_LIVED) == sorted(wanted)
    assert found["permissions"].get("id-token") == ("write" if wanted else None)
    for login in wanted:
        assert not any(word in text for word in LONG_LIVED[login])


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda one: one.id)
def test_tokens_reach_only_the_steps_that_need_them(facts: Any) -> None:
    found = load_yaml(format_workflow(project(facts.id, "sql")))
    assert "env" not in found["jobs"]["fabric"]
    plan, deploy = steps_of(found)[-2:]
    assert (plan["run"], deploy["run"]) == ("fabric plan", "fabric deploy")
    assert plan["env"] == deploy["env"]
    assert plan["env"]["FABRIC_STATE_SQL_URL"] == "${{ secrets.FABRIC_STATE_SQL_URL }}"
    for name, value in plan["env"].items():
        if is_secret_name(name):
            assert "secrets." in value or "steps." in value
    assert plan["env"]["FABRIC_CACHE_KEY"] == "${{ secrets.FABRIC_CACHE_KEY }}"
    groups = facts.credentials.required
    if facts.id not in LOGINS:
        assert all(any(name in plan["env"] for name in group) for group in groups)


def test_a_fork_gets_no_token() -> None:
    steps = steps_of(load_yaml(format_workflow(project("cloud1-lambda"))))
    [login] = [one for one in steps if "configure-aws" in one.get("uses", "")]
    assert "head.repo.full_name == github.repository" in login["if"]
    assert login["with"]["role-to-assume"] == "${{ vars.AWS_ROLE_TO_ASSUME }}"


def test_a_google_token_is_handed_to_provider_and_backend() -> None:
    found = load_yaml(format_workflow(project("cloud2-functions", "objstore2")))
    env = steps_of(found)[-1]["env"]
    given = {env["CLOUD2_ACCESS_TOKEN"], env["OBJSTORE2_ACCESS_TOKEN"]}
    assert given == {"${{ steps.google.outputs.access_token }}"}


@pytest.mark.parametrize(
    ("provider", "backend", "extras"),
    [
        ("cloud1-lambda", "local", "[cloud]"),
        ("cluster-orchestrator", "local", ""),
        ("cluster-orchestrator", "objstore1", "[cloud]"),
        ("host1", "sql", "[cloud,postgres]"),
    ],
)
def test_workflow_installs_extras_of_provider_and_backend(
    provider: str, backend: str, extras: str
) -> None:
    steps = steps_of(load_yaml(format_workflow(project(provider, backend))))
    major = int(VERSION.split(".")[0])
    wanted = f'pipx install "{DISTRIBUTION}{extras}>={VERSION},<{major + 1}"'
    assert wanted in [one.get("run") for one in steps]


def test_a_project_in_a_folder_works_there() -> None:
    made = CiProject(provider="host1", folder="services/api", checks=("npm ci",), has_node=True)
    found = load_yaml(format_workflow(made))
    assert found["jobs"]["fabric"]["defaults"]["run"] == {"working-directory": "services/api"}
    [cache] = [one for one in steps_of(found) if "cache" in one.get("uses", "")]
    assert cache["with"]["path"] == "services/api/.fabric/cache"
    odd = load_yaml(format_workflow(CiProject(provider="cloud1-lambda", folder="my # svc: x")))
    assert odd["jobs"]["fabric"]["defaults"]["run"] == {"working-directory": "my # svc: x"}


def find_step(text: str, run: str) -> dict[str, Any]:
    [found] = [one for one in steps_of(load_yaml(text)) if run in one.get("run", "")]
    return found


def test_previews_follow_their_pull_request() -> None:
    text = format_workflow(CiProject(provider="cloud1-lambda", previews=True))
    found = load_yaml(text)
    assert found["on"]["pull_request"]["types"] == "opened reopened synchronize closed".split()
    assert found["permissions"]["pull-requests"] == "write"
    deploy = find_step(text, "fabric deploy --preview")
    comment, remove = find_step(text, "gh pr comment"), find_step(text, "fabric remove")
    for one in (deploy, comment):
        assert "github.event.action != 'closed'" in one["if"]
    assert "github.event.action == 'closed'" in remove["if"]
    for one in (deploy, comment, remove):
        assert "head.repo.full_name == github.repository" in one["if"]
        assert one["env"]["PREVIEW"] == "pr-${{ github.event.number }}"
    assert find_step(text, "fabric sweep")["if"] == "github.event_name == 'schedule'"


def test_a_shell_of_a_preview_gets_no_text_of_others() -> None:
    """Titles and branch names of pull requests could contain commands."""
    text = format_workflow(CiProject(provider="cloud1-lambda", previews=True))
    runs = " ".join(one.get("run", "") for one in steps_of(load_yaml(text)))
    assert set(re.findall(r"github\.event\.[a-z_.]+", runs)) == {
        "github.event.pull_request.head.sha"
    }


def test_a_workflow_without_previews_needs_no_further_rights() -> None:
    text = format_workflow(project("cloud1-lambda"))
    assert "preview" not in text.lower()
    assert "pull-requests" not in load_yaml(text)["permissions"]


def test_a_closed_pull_request_is_removed_even_if_its_tests_fail() -> None:
    made = CiProject(provider="cloud1-lambda", previews=True, checks=("npm ci", "npm test"))
    steps = steps_of(load_yaml(format_workflow(made)))
    checks = [one for one in steps if one.get("run", "").startswith("npm")]
    assert {one["if"] for one in checks} == {"github.event.action != 'closed'"}
