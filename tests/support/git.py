"""Real git in temporary folders, with nothing of the machine's settings."""

import subprocess
from pathlib import Path

from tests.support.project import Project, environment

_WHO = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
    "GIT_ALLOW_PROTOCOL": "file",
}


def git(made: Project, *words: str) -> str:
    done = subprocess.run(
        ["git", *words],
        cwd=made.root,
        env=environment(made.home, _WHO),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def commit(made: Project, message: str = "more") -> None:
    git(made, "add", "-A")
    git(made, "commit", "-qm", message, "--allow-empty")


def under_git(made: Project) -> Project:
    """The project as the first commit of `main`."""
    git(made, "init", "-q", "-b", "main")
    made.write({".gitignore": ".fabric/\n"})
    commit(made, "first")
    return made


def shallow_clone(made: Project, folder: Path, branch: str) -> Project:
    """A clone with the newest commit of one branch only, as build machines make it."""
    url = made.root.as_uri()
    git(made, "clone", "-q", "--depth", "1", "--branch", branch, url, str(folder))
    return Project(folder, made.home)
