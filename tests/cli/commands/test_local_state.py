"""Local state is named where it could be lost, or another machine could deploy over it."""

from pathlib import Path

import pytest

from tests.support.in_process import compose, project
from tests.support.moving_provider import moving_provider
from tests.support.project import PYTHON, Done, handler

CODE = "state/local-only"
SHARED = PYTHON + "backend: {kind: sql, sqlConnectionStringEnv: STATE_URL}\n"


def warned(done: Done) -> int:
    assert done.code == 0, done.err
    return done.err.count(CODE)


def test_the_first_real_deploy_warns_once(tmp_path: Path) -> None:
    made, env = compose(tmp_path, a=(), b=("a",)), moving_provider(tmp_path / "p").env()
    assert warned(made.fabric("compose", "plan", env=env)) == 1
    first = made.fabric("compose", "deploy", env=env)
    assert warned(first) == 1
    assert "`a`, `b`" in first.err
    made.write({"a/main.py": handler("newer")})
    assert warned(made.fabric("compose", "deploy", env=env)) == 0


def test_a_simulated_deploy_warns_in_ci_only(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert warned(made.fabric("plan")) == 0
    assert warned(made.fabric("deploy", env={"CI": "1"})) == 1
    assert warned(made.fabric("deploy", env={"CI": "1"})) == 0
    made.write({"src/two.py": handler("newer")})
    again = made.fabric("deploy", env={"CI": "1"})
    assert warned(again) == 1
    assert "this CI job deletes it at its end" in again.err


@pytest.mark.parametrize(("url", "count"), [("", 1), ("sqlite:///state.db", 1)])
def test_an_embedded_database_is_local_too(url: str, count: int, tmp_path: Path) -> None:
    made = project(tmp_path, SHARED)
    env = {"CI": "1", **({"STATE_URL": url} if url else {})}
    assert warned(made.fabric("deploy", env=env)) == count


def test_new_project_prints_where_its_state_is_stored(tmp_path: Path) -> None:
    made = project(tmp_path)
    words = ("init", "--template", "http", "--provider", "cloud1-lambda", "--lang", "py")
    assert "State is stored on this machine" in made.fabric(*words, "--dir", "new").out
    shared = made.fabric(*words, "--dir", "other", "--state-backend", "objstore1")
    assert "State is stored" not in shared.out
