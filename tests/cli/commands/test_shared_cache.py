"""What one machine built, another one takes: over every carrier, through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.git import under_git
from tests.support.in_process import typescript
from tests.support.project import Done, Project
from tests.support.servers.fleet import Fleet
from tests.support.servers.process import free_port
from tests.support.shared_caches import (
    ALL,
    KEY,
    CachePlaceOfTests,
    Makes,
    on_nginx,
    on_objstore2,
    on_turbo,
)
from tests.support.two_machines import CONFIG, another_machine, first_machine

FROM_OTHERS = "restored from the shared cache"


@pytest.fixture
def place(fleet: Fleet, request: pytest.FixtureRequest) -> CachePlaceOfTests:
    """In a small store of this process, where a test does not say which."""
    made: Makes = getattr(request, "param", on_objstore2)
    return made(fleet)


@pytest.fixture
def first(tmp_path: Path) -> Project:
    return first_machine(tmp_path)


@pytest.fixture
def second(first: Project, tmp_path: Path) -> Project:
    return another_machine(first, tmp_path)


def remote(done: Done) -> dict[str, int]:
    found = done.result["summary"]["remote"]
    assert isinstance(found, dict)
    return found


def rows(done: Done) -> list[dict[str, Any]]:
    return [{**one, "cached": None, "reason": None} for one in done.result["artifacts"]]


def warned(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if "cache/remote" in line]


@pytest.mark.parametrize("place", ALL, indirect=True)
def test_a_clean_machine_runs_nothing_and_gets_equal_results(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    made = first.json("package", env=place.writing)
    assert remote(made)["sentBytes"] > 0
    taken = second.json("package", env=place.env)
    assert taken.result["summary"]["ran"] == 0
    assert {one["reason"] for one in taken.result["artifacts"]} == {FROM_OTHERS}
    assert rows(taken) == rows(made)
    assert second.archives() == first.archives()
    assert remote(taken)["hits"] == 4
    assert remote(taken)["fetchedBytes"] > 0
    assert not warned(taken)


@pytest.mark.slow
def test_bundler_output_is_shared_too(place: CachePlaceOfTests, tmp_path: Path) -> None:
    first = typescript(tmp_path / "first")
    under_git(first)
    second = another_machine(first, tmp_path)
    made = first.json("package", env=place.writing)
    taken = second.json("package", env=place.env)
    assert (taken.result["summary"]["ran"], remote(taken)["hits"]) == (0, 4)
    assert rows(taken) == rows(made)
    assert second.archives() == first.archives()
    assert second.json("build", env=place.env).result["summary"]["ran"] == 0
    assert second.outputs() == first.outputs()


def test_plan_matches_the_following_run(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    planned = second.json("plan", "--for", "package", env=place.env).result
    assert {(one["action"], one["reason"]) for one in planned["tasks"]} == {("skip", FROM_OTHERS)}
    assert not (second.root / ".fabric" / "build").exists()
    assert second.json("package", env=place.env).result["summary"]["ran"] == 0


def test_plan_reads_only_the_caches_selected_by_the_option(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    words = ("plan", "--for", "package", "--cache")
    assert second.json(*words, "local:rw", env=place.env).result["summary"]["skip"] == 0
    assert second.json(*words, "remote:r", env=place.env).result["summary"]["skip"] == 4


def test_plan_is_not_cached(place: CachePlaceOfTests, first: Project, second: Project) -> None:
    """Whoever fills the cache meanwhile is seen."""
    assert second.json("plan", "--for", "package", env=place.env).result["summary"]["run"] == 2
    first.json("package", env=place.writing)
    assert second.json("plan", "--for", "package", env=place.env).result["summary"]["skip"] == 4


def test_downloaded_results_are_stored_locally(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    second.json("package", env=place.env)
    nowhere = {"FABRIC_NO_SHORTCUTS": "1"}
    again = second.json("package", env=nowhere).result
    assert again["summary"]["ran"] == 0
    assert "remote" not in again["summary"]


def test_only_changed_functions_are_built_and_uploaded(
    place: CachePlaceOfTests, first: Project, second: Project, tmp_path: Path
) -> None:
    first.json("package", env=place.writing)
    second.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    done = second.json("package", env=place.writing)
    assert (done.result["summary"]["ran"], remote(done)["hits"]) == (2, 2)
    third = another_machine(second, tmp_path / "third")
    taken = third.json("package", env=place.env)
    assert (taken.result["summary"]["ran"], remote(taken)["hits"]) == (0, 4)


def test_local_file_difference_is_the_reason_for_a_build(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    second.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    tasks = second.json("plan", "--for", "build", env=place.env).result["tasks"]
    reasons = {one["id"]: one["reason"] for one in tasks}
    assert reasons["build:shop/one"] == FROM_OTHERS
    assert reasons["build:shop/two"].startswith("src/two.py changed (1 of ")


def test_outside_ci_nothing_is_uploaded_unless_requested(
    place: CachePlaceOfTests, first: Project
) -> None:
    assert remote(first.json("package", env=place.env))["sentBytes"] == 0
    said = ("--cache", "local:rw,remote:rw", "--no-cache")
    assert remote(first.json("package", *said, env=place.env))["sentBytes"] > 0


def test_ci_sends_and_its_pull_requests_do_not(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    pull_request = {**place.env, "CI": "1", "GITHUB_EVENT_NAME": "pull_request"}
    assert remote(first.json("package", env=pull_request))["sentBytes"] == 0
    assert remote(second.json("package", env={**place.env, "CI": "1"}))["sentBytes"] > 0


def test_a_deploy_takes_and_sends_too(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    made = first.json("deploy", env=place.writing)
    assert remote(made)["sentBytes"] > 0
    done = second.json("deploy", env=place.env)
    assert remote(done)["hits"] == 4
    assert done.result["summary"]["ran"] == 3, "two functions and their release"


def test_missing_key_disables_the_cache_with_a_warning(
    place: CachePlaceOfTests, first: Project
) -> None:
    env = {name: value for name, value in place.writing.items() if not name.endswith("_KEY")}
    done = first.fabric("package", env=env)
    assert done.code == 0
    assert len(warned(done)) == 1
    assert "FABRIC_REMOTE_CACHE_KEY" in done.err
    assert "fabric cache key" in done.err


def test_invalid_url_is_reported_without_its_text(first: Project) -> None:
    env = CachePlaceOfTests("https://me:hush@example.com").env
    done = first.fabric("package", env=env)
    assert done.code == 0
    assert len(warned(done)) == 1
    assert "hush" not in done.err


def test_wrong_key_decrypts_nothing_and_warns(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    other = {**place.env, "FABRIC_REMOTE_CACHE_KEY": "x" * 40}
    done = second.json("package", env=other)
    assert done.result["summary"]["ran"] == 4
    assert remote(done)["hits"] == 0
    told = second.fabric("package", "--no-cache", "--function", "one", env=other)
    assert told.code == 0
    assert len(warned(done)) == 1
    assert "cache/remote-key" in done.err


def test_after_a_change_of_keys_both_are_believed(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    both = {**place.env, "FABRIC_REMOTE_CACHE_KEY": f"{'n' * 40},{KEY}"}
    assert second.json("package", env=both).result["summary"]["ran"] == 0


def test_the_main_scope_reads_nothing_of_another_one(
    place: CachePlaceOfTests, first: Project, second: Project, tmp_path: Path
) -> None:
    pull = {"FABRIC_REMOTE_CACHE_SCOPE": "pull"}
    first.json("package", env={**place.writing, **pull})
    assert remote(second.json("package", env=place.writing))["hits"] == 0
    third = another_machine(first, tmp_path / "third")
    assert remote(third.json("package", env={**place.env, **pull}))["hits"] == 4


def test_another_scope_reads_the_main_one(
    place: CachePlaceOfTests, first: Project, second: Project
) -> None:
    first.json("package", env=place.writing)
    pull = {"FABRIC_REMOTE_CACHE_SCOPE": "pull"}
    assert remote(second.json("package", env={**place.env, **pull}))["hits"] == 4


def test_without_git_the_newest_is_found(
    place: CachePlaceOfTests, first: Project, second: Project, tmp_path: Path
) -> None:
    (second.root / ".git").rename(second.home / "gone")
    first.json("package", env=place.writing)
    done = second.json("package", env=place.writing)
    assert remote(done)["hits"] == 0, "nobody told of it"
    third = another_machine(second, tmp_path / "third")
    assert remote(third.json("package", env=place.env))["hits"] == 4


@pytest.mark.parametrize("modes", ["remote", "remote:x", "local:r,remote:r", "remote:r,remote:r"])
def test_invalid_cache_modes_are_rejected(first: Project, modes: str) -> None:
    for words in (("package",), ("plan",), ("cache", "status")):
        done = first.json(*words, "--cache", modes)
        assert (done.code, done.error["code"]) == (64, "usage/bad-value")
    named = first.json("plan", env={"FABRIC_CACHE": modes})
    assert (named.code, named.error["code"]) == (64, "usage/bad-value")


@pytest.mark.parametrize("place", [on_objstore2], indirect=True)
def test_keys_and_tokens_are_bound_by_no_config(place: CachePlaceOfTests, tmp_path: Path) -> None:
    config = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
    config += "env: {TAKEN: '${env:FABRIC_REMOTE_CACHE_KEY}'}\n"
    config += "functions: [{name: one, entry: src/one.handler}]\n"
    done = first_machine(tmp_path, config).json("plan", env=place.env)
    assert done.code == 65
    assert KEY not in done.out + done.err


def test_a_server_that_is_not_there_changes_no_exit_code(first: Project) -> None:
    env = CachePlaceOfTests(f"turbo+http://127.0.0.1:{free_port()}").writing
    done = first.json("package", env=env)
    assert done.result["summary"]["ran"] == 4
    assert len(warned(done)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("place", [on_turbo], indirect=True)
def test_a_token_with_a_line_end_behind_it_is_the_token(
    place: CachePlaceOfTests, first: Project
) -> None:
    said = {**place.writing, "FABRIC_REMOTE_CACHE_TOKEN": f"{place.token} \n"}
    assert not warned(first.json("package", env=said))


@pytest.mark.parametrize("token", ["top secret", "top\nsecret", "töp-secret"])
@pytest.mark.parametrize("words", [("package",), ("cache", "status"), ("doctor",)])
def test_invalid_token_is_reported_without_its_text(
    token: str, words: tuple[str, ...], place: CachePlaceOfTests, first: Project
) -> None:
    env = {**place.writing, "FABRIC_REMOTE_CACHE_URL": "https://127.0.0.1:9/x"}
    done = first.fabric(*words, env={**env, "FABRIC_REMOTE_CACHE_TOKEN": token})
    assert "FABRIC_REMOTE_CACHE_TOKEN" in done.err + done.out
    assert "secret" not in done.err + done.out


@pytest.mark.slow
@pytest.mark.parametrize("place", [on_turbo, on_nginx], indirect=True)
def test_wrong_token_warns_once(place: CachePlaceOfTests, first: Project) -> None:
    done = first.json("package", env={**place.writing, "FABRIC_REMOTE_CACHE_TOKEN": "wrong-one"})
    assert done.result["summary"]["ran"] == 4
    assert len(warned(done)) == 1
    assert "wrong-one" not in done.err + json.dumps(done.document)


STEP = """\
build:
  before:
    - {name: make, command: sh make.sh, inputs: [make.sh], outputs: [src/made.py]}
"""


def test_a_step_of_another_machine_is_restored_and_its_builds_too(
    place: CachePlaceOfTests, tmp_path: Path
) -> None:
    first = first_machine(tmp_path, CONFIG + STEP)
    first.write({"make.sh": "echo 'WORD = 1' > src/made.py; echo ran >> \"$HOME/ran\"\n"})
    first.write({"src/one.py": "from made import WORD\n\n\ndef handler(a, b):\n    return WORD\n"})
    second = another_machine(first, tmp_path)
    shared_home = {"HOME": str(tmp_path)}
    made = first.json("package", env={**place.writing, **shared_home})
    assert made.result["summary"]["ran"] == 5
    taken = second.json("package", env={**place.env, **shared_home})
    assert taken.result["summary"]["ran"] == 0
    assert (second.root / "src/made.py").read_text() == "WORD = 1\n"
    assert (tmp_path / "ran").read_text() == "ran\n"
    assert second.archives() == first.archives()
