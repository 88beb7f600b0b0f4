"""Commits of remote repositories."""

import base64
import os
from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.git.git_fetch import RemoteCommit, check_out_commit
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.git_packages import PackageRepository

ENV = {
    "PATH": ENVIRONMENT["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"
# A git that notes how it was called, and fails.
RECORDER = '#!/bin/sh\nprintf "%s\\n" "$@" >"$OUT/argv"\nenv >"$OUT/env"\nexit 1\n'


def fetch(repository: PackageRepository, folder: Path, commit: str = "") -> int:
    remote = RemoteCommit(url=repository.url, commit=commit or repository.commit)
    return check_out_commit(remote, folder / "checkout", ENV)


def test_an_older_commit_is_checked_out(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    first = repository.commit
    repository.change("second")
    assert fetch(repository, tmp_path, first) > 0
    assert "first" in (tmp_path / "checkout" / "module.py").read_text()


def test_a_commit_of_no_branch_is_checked_out(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    repository.change("second")
    repository.drop_last_commit()
    fetch(repository, tmp_path)
    assert "second" in (tmp_path / "checkout" / "module.py").read_text()


def test_a_missing_commit_is_reported(tmp_path: Path) -> None:
    repository = PackageRepository(tmp_path / "kit")
    with pytest.raises(FabricError) as caught:
        fetch(repository, tmp_path, COMMIT)
    assert caught.value.first.code == "git/commit-missing"


def test_a_missing_repository_is_reported(tmp_path: Path) -> None:
    remote = RemoteCommit(url=(tmp_path / "gone").as_uri(), commit=COMMIT)
    with pytest.raises(FabricError) as caught:
        check_out_commit(remote, tmp_path / "checkout", ENV)
    assert caught.value.first.code == "git/unreachable"


def test_an_unset_variable_in_a_login_is_named(tmp_path: Path) -> None:
    remote = RemoteCommit(url="https://127.0.0.1:1/x", commit=COMMIT, login="me:${MY_GIT_TOKEN}")
    with pytest.raises(FabricError, match="MY_GIT_TOKEN is not set") as caught:
        check_out_commit(remote, tmp_path / "checkout", ENV)
    assert caught.value.first.code == "git/unreachable"


@pytest.mark.parametrize(
    ("protocol", "shown"), [("ssh", "ssh://me@127.0.0.1:1/x"), ("https", "https://127.0.0.1:1/x")]
)
def test_the_hint_for_a_repository_has_the_user_of_ssh(
    tmp_path: Path, protocol: str, shown: str
) -> None:
    remote = RemoteCommit(url=f"{protocol}://127.0.0.1:1/x", commit=COMMIT, login="me:secret")
    with pytest.raises(FabricError) as caught:
        check_out_commit(remote, tmp_path / "checkout", {**ENV, "GIT_SSH_COMMAND": "false"})
    assert caught.value.first.hint.endswith(f"git ls-remote {shown}")


def test_a_submodule_with_a_path_of_this_machine_is_rejected(tmp_path: Path) -> None:
    inner = PackageRepository(tmp_path / "inner")
    outer = PackageRepository(tmp_path / "outer")
    outer.write({".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = {inner.url}\n'})
    outer.add_link("x", inner.commit)
    with pytest.raises(FabricError) as caught:
        fetch(outer, tmp_path)
    assert caught.value.first.code == "git/submodule"


@pytest.mark.parametrize(
    ("url", "login", "setting"),
    [
        (
            "https://git.example/me/x",
            "user:p%40ss",
            ("http.https://git.example/.extraHeader", "user:p@ss"),
        ),
        ("https://git.example/me/x", "${TOKEN}", ("http.https://git.example/.extraHeader", "abc:")),
        ("ssh://git.example/me/x", "git", ("url.ssh://git@git.example/.insteadOf", "")),
    ],
)
def test_a_login_is_a_variable_and_no_argument(
    tmp_path: Path, url: str, login: str, setting: tuple[str, str]
) -> None:
    (tmp_path / "git").write_text(RECORDER)
    (tmp_path / "git").chmod(0o755)
    path = os.pathsep.join((str(tmp_path), ENV["PATH"]))
    env = {**ENV, "PATH": path, "OUT": str(tmp_path), "TOKEN": "abc", "GIT_DIR": "/elsewhere"}
    with pytest.raises(FabricError):
        check_out_commit(RemoteCommit(url=url, commit=COMMIT, login=login), tmp_path / "to", env)
    argv = (tmp_path / "argv").read_text().splitlines()
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    assert argv[-3:] == ["--", url, str(tmp_path / "to")]
    assert seen["GIT_CONFIG_KEY_0"] == setting[0]
    if setting[1]:
        header = f"Authorization: Basic {base64.b64encode(setting[1].encode()).decode()}"
        assert seen["GIT_CONFIG_VALUE_0"] == header
    assert (seen["GIT_TERMINAL_PROMPT"], seen["GIT_ALLOW_PROTOCOL"]) == ("0", "https:ssh")
    assert "GIT_DIR" not in seen
