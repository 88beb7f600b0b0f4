"""`compose …`: many services as one graph, and a compose file's mistakes by name."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.in_process import compose, project
from tests.support.project import Project, handler, service


def services(result: Mapping[str, Any]) -> list[str]:
    return [one["service"] for one in result["services"]]


def built(result: Mapping[str, Any]) -> set[str]:
    return {f"{one['service']}/{one['function']}" for one in result["artifacts"]}


def test_dependencies_are_released_first_and_builds_stay_independent(tmp_path: Path) -> None:
    made = compose(tmp_path, site=("api",), api=("auth",), auth=())
    tasks = {one["id"]: one for one in made.json("compose", "plan").result["tasks"]}
    level = {name: tasks[f"release:{name}@cloud1-lambda"]["level"] for name in ("auth", "api")}
    assert level["auth"] < tasks["deploy:api/main@cloud1-lambda"]["level"]
    assert level["api"] < tasks["deploy:site/main@cloud1-lambda"]["level"]
    assert {tasks[f"build:{name}/main"]["level"] for name in ("site", "api", "auth")} == {0}


def test_all_services_are_built_and_packed_at_once(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=("api",))
    done = made.json("compose", "package")
    assert built(done.result) == {"api/main", "worker/main"}
    for one in done.result["artifacts"]:
        assert (made.root / one["path"]).is_file()
    assert made.json("compose", "package").result["summary"]["ran"] == 0
    assert made.fabric("compose", "plan", "--for", "package").out == "No changes.\n"


def test_single_service_build_reuses_the_compose_build(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=("api",))
    assert made.fabric("compose", "build").code == 0
    assert made.json("build", cwd="worker").result["summary"]["ran"] == 0
    assert not (made.root / "worker" / ".fabric" / "cache").exists()


def test_the_list_shows_each_service_with_its_config_and_needs(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=("api",))
    rows = made.json("compose", "list").result["services"]
    assert rows == [
        {"name": "api", "config": "./api", "dependsOn": []},
        {"name": "worker", "config": "./worker", "dependsOn": ["api"]},
    ]
    assert "depends on api" in made.fabric("compose", "list").out


def test_one_or_more_services_are_chosen_by_name(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=("api",), site=())
    one = made.json("compose", "plan", "--service", "worker").result
    assert services(one) == ["worker"]
    two = made.json("compose", "build", "--service", "site", "--service", "api").result
    assert built(two) == {"site/main", "api/main"}
    assert not (made.root / "worker/.fabric").exists()


def test_another_file_or_folder_is_chosen_with_f(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=())
    made.write({"other.yml": "services: [{name: api, config: api}]\n"})
    assert services(made.json("compose", "plan", "-f", "other.yml").result) == ["api"]
    whole = made.json("compose", "plan", "-f", "..", cwd="api").result
    assert services(whole) == ["api", "worker"]


def test_include_finds_services_by_pattern(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=())
    made.write({"fabric.compose.yml": 'include: ["*/fabric.yml"]\n'})
    assert services(made.json("compose", "plan").result) == ["api", "worker"]


def test_services_may_share_a_folder(tmp_path: Path) -> None:
    made = project(tmp_path, sources={"main.py": handler("both")})
    made.write(
        {
            "a.yml": service("a"),
            "b.yml": service("b"),
            "fabric.compose.yml": "services:\n"
            "  - {name: a, config: a.yml}\n  - {name: b, config: b.yml, dependsOn: [a]}\n",
        }
    )
    done = made.json("compose", "package").result
    assert built(done) == {"a/main", "b/main"}
    assert len({one["path"] for one in done["artifacts"]}) == 2
    assert made.json("compose", "package").result["summary"]["ran"] == 0


def test_an_edit_reaches_only_the_services_that_import_it(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), worker=("api",))
    made.write({"worker/main.py": "import extra\n" + handler("w"), "worker/extra.py": "X = 1\n"})
    assert made.fabric("compose", "package").code == 0
    made.write({"worker/extra.py": "X = 2\n"})
    rows = made.json("compose", "build").result["artifacts"]
    assert [one["service"] for one in rows if not one["cached"]] == ["worker"]


# Mistakes.

A, B = "{name: a, config: ./a", "{name: b, config: ./b"
MISTAKES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "a cycle": (f"[{A}, dependsOn: [b]}}, {B}, dependsOn: [a]}}]", "cycle", ("a", "b")),
    "itself": (f"[{A}, dependsOn: [a]}}]", "cycle", ("a",)),
    "a name twice": (f"[{A}}}, {B.replace('name: b', 'name: a')}}}]", "duplicate", ("`a`",)),
    "an unknown need": (f"[{A}, dependsOn: [nope]}}, {B}}}]", "unknown", ("`nope`",)),
    "no config": (f"[{A}}}, {{name: c, config: ./c}}]", "missing-config", ("`c`",)),
    "no services": ("[]", "", ("service",)),
    "the same service twice": (f"[{A}}}, {{name: c, config: ./a}}]", "same-service", ("`a`",)),
    "no name": ("[{config: ./a}]", "", ("name",)),
    "an unknown key": (f"[{A}, dependOn: [b]}}]", "unknown-key", ("dependOn",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_compose_file_names_its_culprit(name: str, tmp_path: Path) -> None:
    text, code, culprits = MISTAKES[name]
    made = compose(tmp_path, a=(), b=())
    made.write({"fabric.compose.yml": f"services: {text}\n"})
    done = made.json("compose", "plan")
    assert done.code == 65, done
    assert code in done.error["code"]
    said = json.dumps(done.error["problems"])
    assert all(one in said for one in culprits), said
    assert made.fabric("compose", "build").code == 65
    assert not (made.root / ".fabric").exists()


def test_a_cycle_is_shown_as_its_whole_path(tmp_path: Path) -> None:
    done = compose(tmp_path, a=("c",), b=("a",), c=("b",)).json("compose", "plan")
    message = done.error["message"]
    assert all(f"{one}" in message for one in "abc")
    assert message.count("->") == 3 or message.count("→") == 3


def test_errors_of_all_configs_are_reported_at_once(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=(), c=())
    made.write({"a/fabric.yml": "service: a\n", "b/fabric.yml": service("b") + "bad: 1\n"})
    files = {
        Path(one["where"]["file"]).parent.name
        for one in made.json("compose", "plan").error["problems"]
    }
    assert files == {"a", "b"}


def test_a_missing_service_config_names_the_compose_entry(tmp_path: Path) -> None:
    made = compose(tmp_path, a=())
    made.write({"fabric.compose.yml": "services: [{name: lost, config: ./lost/fabric.yml}]\n"})
    assert "lost/fabric.yml" in made.fabric("compose", "plan").err


@pytest.mark.parametrize("concurrency", ["1", "50%", "200"])
def test_the_width_of_a_run_does_not_change_its_result(concurrency: str, tmp_path: Path) -> None:
    made = compose(tmp_path, **{f"s{number}": () for number in range(5)})
    assert made.fabric("compose", "package", "--concurrency", concurrency).code == 0
    assert len(list(made.root.glob("*/.fabric/build/*/main.zip"))) == 5


def test_failed_service_does_not_stop_other_builds(tmp_path: Path) -> None:
    made: Project = compose(tmp_path, a=(), b=("a",), c=())
    made.write({"a/main.py": "def handler(:\n"})
    done = made.json("compose", "package")
    assert done.code == 2
    assert (made.root / "b/.fabric/build/b/main.zip").is_file()
    assert "a/main.py" in json.dumps(done.error["problems"])


def test_misspelled_service_is_reported_before_the_variable_it_leaves_unset(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=())
    bound = f"{service('api')}env: {{AUTH: '${{env:SERVICE_AUTH_URL}}'}}\n"
    listed = "include: [auth/fabric.yml]\nservices: [{name: api, config: ./api, dependsOn: [aut]}]"
    made.write({"api/fabric.yml": bound, "fabric.compose.yml": listed})
    done = made.json("compose", "plan")
    assert done.code == 65
    assert [one["code"] for one in done.error["problems"]] == [
        "compose/unknown-dependency",
        "config/unset-variable",
    ]
    assert "`auth`" in done.error["hint"]


def test_warnings_of_a_service_are_in_its_row_too(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=(), c=("a",))
    env = {"FABRIC_CLOUD1_REAL_DEPLOY": "1"}
    result = made.json("compose", "plan", "--service", "b", "--service", "c", env=env).result
    texts = {one["code"]: one["message"] for one in result["warnings"]}
    own = [texts["credentials/role-missing"], texts["credentials/missing"]]
    assert {row["service"]: row["warnings"] for row in result["services"]} == {
        "b": own,
        "c": [texts["deploy/upstream-not-deployed"], *own],
    }
