"""A checkout brings a cache that another user wrote: it decides nothing."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fabric.engine.memory.disk_memo import DiskMemo
from tests.support.git import git
from tests.support.in_process import compose, project
from tests.support.project import Project, handler
from tests.support.seals import seal_of_home

KEY = {"FABRIC_CACHE_KEY": "a key of a team that its CI machines share"}
EVIL = handler("evil").encode()


def other_user(made: Project, name: str = "stranger") -> Project:
    """The same files, a user with another home directory."""
    home = made.home.parent / name
    home.mkdir(exist_ok=True)
    return replace(made, home=home)


def poisoned(made: Project) -> Project:
    """A project whose cache another user filled with backdoored contents for the sources of today.

    As a patched bundler would: every remembered result of a build names the backdoored content.
    """
    stranger = other_user(made)
    clean = {path.name: path.read_bytes() for path in (made.root / "src").glob("*.py")}
    for name in clean:
        (made.root / "src" / name).write_bytes(EVIL)
    assert stranger.fabric("package").code == 0
    memo = DiskMemo(made.root / ".fabric/cache/memo", seal_of_home(stranger.home))
    evil = memo.get_range("t:")
    for name, content in clean.items():
        (made.root / "src" / name).write_bytes(content)
    assert stranger.fabric("package").code == 0
    # The keys and inputs of the clean build, with the outputs of the backdoored one.
    honest = memo.get_range("t:")
    memo.put_all({key: _with_outputs(honest[key], evil[key]) for key in evil})
    memo.close()
    return made


def _with_outputs(honest: bytes, evil: bytes) -> bytes:
    rows, others = json.loads(honest), json.loads(evil)
    for row in rows:
        row.update({name: others[0][name] for name in ("digest", "made", "facts")})
    return json.dumps(rows).encode()


def packed_sources(made: Project) -> set[bytes]:
    found = set()
    for path in (made.root / ".fabric/build").rglob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            found |= {archive.read(name) for name in archive.namelist()}
    return found


def test_poisoned_cache_works_for_the_user_who_created_it(tmp_path: Path) -> None:
    """Or the next test would prove nothing."""
    made = poisoned(project(tmp_path))
    for path in (made.root / ".fabric/cache/answers").iterdir():
        path.unlink()
    assert other_user(made).fabric("package").code == 0
    assert EVIL in packed_sources(made)


@pytest.mark.parametrize("words", [("deploy",), ("deploy", "--force"), ("package",)])
def test_a_backdoored_cache_of_another_user_is_a_miss(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = poisoned(project(tmp_path))
    assert made.fabric(*words).code == 0
    assert EVIL not in packed_sources(made)
    for path in (made.root / ".fabric/archives").glob("*.zip"):
        assert EVIL not in path.read_bytes()


def test_a_stored_answer_of_another_user_is_not_given(tmp_path: Path) -> None:
    made = project(tmp_path)
    stranger = other_user(made)
    for _ in range(2):
        assert stranger.json("build").code == 0
    assert list((made.root / ".fabric/cache/answers").glob("*.bin"))
    assert made.json("build").result["summary"]["ran"] == 2
    assert made.json("build").result["summary"]["ran"] == 0


def test_stored_answers_of_a_service_beside_its_config_are_sealed_too(tmp_path: Path) -> None:
    made = compose(tmp_path, one=())
    stranger = other_user(made)
    for _ in range(2):
        assert stranger.json("build", cwd="one").code == 0
    assert list((made.root / "one/.fabric/answers").glob("*.bin"))
    assert made.json("build", cwd="one").result["summary"]["ran"] == 1


def test_a_cache_with_another_key_is_a_miss_with_one_warning(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert other_user(made).fabric("build").code == 0
    first = made.json("build")
    assert first.result["summary"]["ran"] == 2
    assert first.err.count("cache/other-key") == 1
    again = made.json("build")
    assert again.result["summary"]["ran"] == 0
    assert "cache/other-key" not in again.err


def test_machines_with_one_key_share_a_restored_cache(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build", env=KEY).code == 0
    there = other_user(made).json("build", env=KEY)
    assert there.result["summary"]["ran"] == 0
    assert "cache/other-key" not in there.err
    without = other_user(made, "third").json("build")
    assert without.result["summary"]["ran"] == 2
    assert "FABRIC_CACHE_KEY" in without.err


def test_empty_key_is_ignored_and_short_key_is_rejected(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build", env={"FABRIC_CACHE_KEY": ""}).code == 0
    assert made.json("build").result["summary"]["ran"] == 0
    refused = made.json("build", env={"FABRIC_CACHE_KEY": "short"})
    assert refused.code == 64
    assert refused.error["code"] == "usage/bad-value"
    assert "short" not in refused.error["message"].replace("too short", "")


def test_the_key_is_in_no_file_of_the_project_and_reaches_no_child(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"fabric.yml": (made.root / "fabric.yml").read_text() + "build: {command: env}\n"})
    done = made.fabric("build", env=KEY)
    written = [path.read_bytes() for path in made.root.rglob("*") if path.is_file()]
    own = (made.home.parent / "home/.config/fabric/cache.key").exists()
    assert not own
    assert KEY["FABRIC_CACHE_KEY"] not in done.out + done.err
    assert not any(KEY["FABRIC_CACHE_KEY"].encode() in one for one in written)


def test_cache_key_must_not_be_readable_by_other_users(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    path = made.home / ".config/fabric/cache.key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    done = made.json("build")
    assert done.code == 0
    assert "cache/no-key" in done.err
    assert done.result["summary"]["ran"] == 2


def test_run_without_home_uses_no_cache_and_explains_how_to_enable_it(tmp_path: Path) -> None:
    made = project(tmp_path)
    for _ in range(2):
        done = made.json("build", env={"HOME": "", "XDG_CONFIG_HOME": ""})
        assert done.result["summary"]["ran"] == 2
        assert "cache/no-key" in done.err
        assert "FABRIC_CACHE_KEY" in done.err


def test_a_key_file_that_came_with_the_project_is_not_used(tmp_path: Path) -> None:
    made = project(tmp_path)
    home = {"HOME": str(made.root), "XDG_CONFIG_HOME": ""}
    assert made.fabric("build").code == 0
    own = made.root / ".config/fabric/cache.key"
    own.parent.mkdir(parents=True)
    own.write_bytes((made.home / ".config/fabric/cache.key").read_bytes())
    own.chmod(0o600)
    done = made.json("build", env=home)
    assert done.result["summary"]["ran"] == 2
    assert "inside the project" in done.err


def test_a_cache_that_git_tracks_is_not_read(tmp_path: Path) -> None:
    """By the same user too: what is committed may be changed by whoever may commit."""
    made = project(tmp_path)
    assert made.fabric("package").code == 0
    git(made, "init", "-q")
    (made.root / ".fabric/.gitignore").unlink()
    git(made, "add", "-A")
    git(made, "commit", "-qm", "all of it")
    there = tmp_path / "clone"
    git(made, "clone", "-q", str(made.root), str(there))
    clone = replace(made, root=there)
    done = clone.json("package")
    assert done.result["summary"]["ran"] == 4
    assert "cache/tracked" in done.err
    assert "git rm -r --cached .fabric" in done.err
    git(clone, "rm", "-rq", "--cached", ".fabric")
    assert "cache/tracked" not in clone.json("package").err


def test_cache_verify_reports_entries_of_other_users_as_damaged(tmp_path: Path) -> None:
    made = poisoned(project(tmp_path))
    found = made.json("cache", "verify").result
    assert found["removed"] > 0
    assert made.json("package").result["summary"]["ran"] == 4
