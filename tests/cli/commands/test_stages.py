"""Stages with their origin and end, and the removal of previews that have ended."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.git import git, shallow_clone, under_git
from tests.support.in_process import compose, project
from tests.support.project import Done, Project, handler, service

ENDED = ("--expires", "1ms")


def shop(folder: Path, more: str = "") -> Project:
    made = project(folder)
    made.write({"fabric.yml": service("shop", "one") + more, "one.py": handler("one")})
    return made


def stages(made: Project) -> dict[str, Any]:
    rows = made.json("stages").result["stages"]
    return {f"{row['service']}/{row['stage']}": row for row in rows}


def swept(done: Done) -> list[str]:
    return [f"{row['service']}/{row['stage']}" for row in done.result["removed"]]


def test_stages_name_their_commit_their_user_and_their_end(tmp_path: Path) -> None:
    made = under_git(shop(tmp_path))
    assert made.json("deploy").code == 0
    assert made.json("deploy", "--preview", "pr-7", "--expires", "3d").code == 0
    found = stages(made)
    dev, preview = found["shop/dev"], found["shop/pr-7"]
    assert dev["commit"] == git(made, "rev-parse", "HEAD").strip()
    assert (dev["branch"], dev["expiresAt"], dev["preview"]) == ("main", None, False)
    assert (preview["preview"], preview["functions"], preview["base"]) == (True, 1, None)
    assert preview["expiresAt"] > preview["deployedAt"]
    [release] = made.json("releases").result["releases"]
    assert (release["commit"], release["branch"]) == (dev["commit"], "main")
    assert f"{dev['commit'][:10]} (main)" in made.fabric("releases").out
    shown = made.fabric("stages").out
    assert f"{dev['commit'][:10]} (main)" in shown
    assert preview["expiresAt"] in shown


def test_a_deploy_with_nothing_to_do_still_moves_the_end(tmp_path: Path) -> None:
    made = shop(tmp_path)
    words = ("deploy", "--preview", "pr-7")
    ends = []
    for more in (("--expires", "1h"), (), ("--expires", "2h"), ("--expires", "never"), ()):
        assert made.json(*words, *more).code == 0
        ends.append(stages(made)["shop/pr-7"]["expiresAt"])
    assert ends[0] == ends[1] < ends[2]
    assert ends[3:] == [None, None]
    assert made.json("sweep").result["kept"][0]["reason"] == "never expires"


def test_unchanged_services_of_a_preview_get_the_new_end_too(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    words = ("compose", "deploy", "--preview", "pr-7", "--expires")
    assert made.json(*words, "1h").code == 0
    before = {name: one["expiresAt"] for name, one in stages(made).items()}
    made.write({"api/main.py": handler("other")})
    assert made.json(*words, "9d").code == 0
    after = {name: one["expiresAt"] for name, one in stages(made).items()}
    assert all(after[name] > before[name] for name in ("auth/pr-7", "api/pr-7"))


@pytest.mark.parametrize(
    ("expires", "code"), [("soon", 64), ("0", 64), ("-1d", 64), ("99999999d", 64)]
)
def test_an_end_is_a_time_from_now(expires: str, code: int, tmp_path: Path) -> None:
    done = shop(tmp_path).json("deploy", "--preview", "x", "--expires", expires)
    assert (done.code, done.error["code"]) == (code, "usage/bad-duration")


def test_a_protected_stage_cannot_be_a_preview(tmp_path: Path) -> None:
    made = shop(tmp_path, "stages: {prod: {protected: true}}\n")
    env = {"FABRIC_CONFIRM": "prod"}
    done = made.json("deploy", "--stage", "prod", "--expires", "1d", env=env)
    assert (done.code, done.error["code"]) == (64, "usage/protected-preview")
    assert stages(made) == {}


def test_a_sweep_removes_expired_previews_and_nothing_else(tmp_path: Path) -> None:
    made = shop(tmp_path, "stages: {keep: {protected: true}}\n")
    assert made.json("deploy").code == 0
    for name, more in (("pr-1", ENDED), ("pr-2", ("--expires", "1d")), ("pr-3", ())):
        assert made.json("deploy", "--preview", name, *more).code == 0
    before = made.tree()
    assert swept(made.json("sweep", "--dry-run")) == ["shop/pr-1"]
    assert made.tree() == before
    done = made.json("sweep")
    assert swept(done) == ["shop/pr-1"]
    assert [row["stage"] for row in done.result["kept"]] == ["pr-2", "pr-3"]
    assert sorted(stages(made)) == ["shop/dev", "shop/pr-2", "shop/pr-3"]
    assert swept(made.json("sweep")) == []


def test_the_lock_of_a_dead_process_does_not_keep_a_preview(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy", "--preview", "pr-1", *ENDED).code == 0
    script = (
        "import sys; from pathlib import Path\n"
        "from fabric.model.records.record import RecordRef\n"
        "from fabric.state.locks.document import LockHolder, encode_lock\n"
        "from fabric.system.process.process_identity import identify_this_process as me\n"
        "ref = RecordRef('shop', 'pr-1', 'cloud1-lambda')\n"
        "Path(sys.argv[1]).write_bytes(encode_lock(LockHolder('x', ref, 'deploy', me(), 99, '')))\n"
    )
    lock = made.root / ".fabric/state/.locks/shop/pr-1/cloud1-lambda.json"
    lock.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-c", script, str(lock)], check=True)
    assert swept(made.json("sweep")) == ["shop/pr-1"]


def test_previews_of_a_monorepo_end_together_dependents_first(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",), web=("api",))
    assert made.json("compose", "deploy").code == 0
    for name in ("pr-1", "pr-2"):
        assert made.json("compose", "deploy", "--preview", name, *ENDED).code == 0
    done = made.json("sweep", "-f", "fabric.compose.yml")
    order = [line.split()[1] for line in done.err.splitlines() if line.startswith("✓ remove:")]
    wholes = [one for one in order if "/" not in one and one.endswith("@pr-1")]
    assert wholes == [f"remove:{name}@cloud1-lambda@pr-1" for name in ("web", "api", "auth")]
    assert len(swept(done)) == 6
    assert sorted(stages(made)) == ["api/dev", "auth/dev", "web/dev"]


def test_a_preview_ends_with_its_branch(tmp_path: Path) -> None:
    origin = under_git(shop(tmp_path / "origin"))
    git(origin, "branch", "topic")
    made = shallow_clone(origin, tmp_path / "clone", "topic")
    made = Project(made.root, made.home, origin.runs)
    assert made.json("deploy", "--preview", "pr-7").code == 0
    assert swept(made.json("sweep", "--branches-gone")) == []
    git(origin, "branch", "-D", "topic")
    assert swept(made.json("sweep", "--branches-gone")) == ["shop/pr-7"]


def test_stages_of_other_backends_are_found(tmp_path: Path) -> None:
    made = shop(tmp_path, "stages: {'pr-*': {backend: {kind: sql}}}\n")
    assert made.json("deploy").code == 0
    assert made.json("deploy", "--preview", "pr-7", *ENDED).code == 0
    assert sorted(stages(made)) == ["shop/dev", "shop/pr-7"]
    assert swept(made.json("sweep")) == ["shop/pr-7"]


def test_previews_in_the_backend_of_another_target_are_listed_and_kept(tmp_path: Path) -> None:
    other = "providerOverrides: {eu: {name: cloud1-lambda, backend: {kind: sql}}}\n"
    made = shop(tmp_path, other)
    assert made.json("deploy", "--preview", "pr-7", "--provider", "eu", *ENDED).code == 0
    assert list(stages(made)) == ["shop/pr-7"]
    [row] = made.json("sweep").result["kept"]
    assert "in another backend" in row["reason"]


def test_a_stage_that_cannot_be_removed_does_not_keep_the_others(tmp_path: Path) -> None:
    made = shop(tmp_path)
    command = 'printf \'{"url": "https://x.example"}\''
    tool = {"FABRIC_CLOUD1_REAL_DEPLOY": "1", "FABRIC_CLOUD1_DEPLOY_CMD": command}
    assert made.json("deploy", "--preview", "real", *ENDED, env=tool).code == 0
    assert made.json("deploy", "--preview", "simulated", *ENDED).code == 0
    done = made.json("sweep")
    assert swept(done) == ["shop/simulated"]
    [row] = done.result["kept"]
    assert row["stage"] == "real"
    assert "FABRIC_CLOUD1_REAL_DEPLOY" in row["reason"]
