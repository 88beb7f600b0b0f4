"""The commit, parents and branch of a checkout. Writes nothing."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.model.problems import FabricError
from fabric.system.git import Git, open_quiet_git

_ANCESTORS = 4
_PARENT = b"parent "
_REMOTE_HEAD = "refs/remotes/origin/HEAD"


class Checkout(Struct, frozen=True):
    """A checkout.

    `repository` is `owner/name` of its remote.
    """

    commit: str
    # Starts with the parents that the commit itself names, because a shallow clone has no others.
    before: tuple[str, ...]
    branch: str
    default_branch: str
    repository: str


def find_checkout_state(folder: Path, env: Mapping[str, str]) -> Checkout | None:
    """Return the checkout; None without a commit, a repository or git."""
    git = open_quiet_git(folder, env)
    try:
        commit, parents = _read_head(git)
        if not commit:
            return None
        found = _read_lines(git, "rev-list", f"--max-count={_ANCESTORS + 1}", "HEAD")
        ancestors = [one for one in found if one != commit]
        return Checkout(
            commit,
            tuple(dict.fromkeys((*parents, *ancestors))),
            _read_first_line(git, "symbolic-ref", "-q", "--short", "HEAD"),
            _read_first_line(git, "symbolic-ref", "-q", "--short", _REMOTE_HEAD).removeprefix(
                "origin/"
            ),
            parse_repository_name(_read_first_line(git, "config", "--get", "remote.origin.url")),
        )
    except FabricError:
        return None


def find_commit(folder: Path, env: Mapping[str, str]) -> str:
    """Return the current commit; empty without one."""
    try:
        return _read_first_line(
            open_quiet_git(folder, env), "rev-parse", "--verify", "--quiet", "HEAD"
        )
    except FabricError:
        return ""


def parse_repository_name(url: str) -> str:
    """Return `owner/name` of `https://host/owner/name.git` or `git@host:owner/name.git`."""
    try:
        path = urlsplit(url).path if "://" in url else url.rpartition(":")[2]
    except ValueError:
        return ""
    return path.strip("/").removesuffix(".git")


def _read_head(git: Git) -> tuple[str, tuple[str, ...]]:
    """Return the commit and its parents from the raw object: a clone of depth 1 names them only
    there."""
    commit = _read_first_line(git, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return "", ()
    head = git.run_git("cat-file", "commit", commit).stdout.partition(b"\n\n")[0]
    lines = (line for line in head.splitlines() if line.startswith(_PARENT))
    return commit, tuple(line.removeprefix(_PARENT).decode("ascii", "replace") for line in lines)


def _read_first_line(git: Git, *words: str) -> str:
    return next(iter(_read_lines(git, *words)), "")


def _read_lines(git: Git, *words: str) -> list[str]:
    found = git.run_git(*words)
    return found.stdout.decode(errors="replace").split("\n")[:-1] if found.code == 0 else []
