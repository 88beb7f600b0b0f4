"""Check out one commit of a remote repository, without prompts, hooks and logins in arguments."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_credentials
from fabric.system.process.process import ChildResult, run_child

_SECONDS = 900
_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
# No hook of a template or of the user, and no file monitor.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")
# No program asks for a password: a run can be without a terminal, or in the background.
_NO_PROMPTS = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never"}
# Of a command of git that runs fabric: they name another repository.
_OUTER = re.compile(r"GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|OBJECT_DIRECTORY|PREFIX)")
# Settings of the user can replace one of them by the other. A submodule never names a path of this
# machine.
_REMOTE = "https:ssh"


class RemoteCommit(Struct, frozen=True, kw_only=True):
    """A commit of a repository. `url` contains no login."""

    url: str
    commit: str
    # `user`, `user:password` or a token. Variables in it are replaced: `${TOKEN}`.
    login: str = ""

    @property
    def shown_url(self) -> str:
        """The URL for a command of the user: ssh needs its user, which is not a secret."""
        user = self.login.partition(":")[0]
        is_ssh = self.url.startswith("ssh://") and user
        return self.url.replace("://", f"://{user}@", 1) if is_ssh else self.url


def check_out_commit(remote: RemoteCommit, folder: Path, env: Mapping[str, str]) -> int:
    """Check a commit out into an empty directory, with its submodules. Returns its time in
    seconds."""
    inner = {name: text for name, text in env.items() if not _OUTER.fullmatch(name)}
    inner |= {**_NO_PROMPTS, "LC_ALL": "C", **_build_login_settings(remote, env)}
    is_local = remote.url.startswith("file:")
    outer = {**inner, "GIT_ALLOW_PROTOCOL": "file" if is_local else _REMOTE}
    # With all commits and tags, because build backends derive versions from them.
    words = ("clone", "-q", "--no-checkout", "--filter=blob:none", "--template=", "--")
    cloned = _run_git((*words, remote.url, str(folder)), folder.parent, outer)
    if cloned.code:
        raise FabricError(_unreachable_problem(remote, cloned))
    checkout = ("checkout", "-q", "--detach", remote.commit)
    if _run_git(checkout, folder, outer).code:
        # No branch or tag has it (any more): servers can still have it.
        fetched = _run_git(("fetch", "-q", "origin", remote.commit), folder, outer)
        found = _run_git(checkout, folder, outer)
        if found.code:
            raise FabricError(_missing_commit_problem(remote, fetched if fetched.code else found))
    if (folder / ".gitmodules").exists():
        update = ("submodule", "update", "-q", "--init", "--recursive")
        found = _run_git(update, folder, {**inner, "GIT_ALLOW_PROTOCOL": _REMOTE})
        if found.code:
            raise FabricError(_submodule_problem(remote, found))
    shown = _run_git(("show", "-s", "--format=%ct", "HEAD"), folder, outer)
    return int(shown.stdout) if shown.code == 0 else 0


def _run_git(words: tuple[str, ...], folder: Path, env: Mapping[str, str]) -> ChildResult:
    return run_child(("git", *_HARMLESS, *words), cwd=folder, env=env, timeout=_SECONDS)


def _build_login_settings(remote: RemoteCommit, env: Mapping[str, str]) -> Mapping[str, str]:
    """Build the login as a setting in variables: arguments are visible to other users."""
    unset = [name for name in _VARIABLE.findall(remote.login) if not env.get(name)]
    if unset:
        raise FabricError(_unset_variable_problem(remote, unset[0]))
    login = _VARIABLE.sub(lambda found: env[found[1]], remote.login)
    if not login:
        return {}
    protocol, _, rest = remote.url.partition("://")
    host = f"{protocol}://{rest.partition('/')[0]}/"
    user, _, password = login.partition(":")
    if protocol == "ssh":
        user_host = host.replace("://", f"://{user}@", 1)
        setting = (f"url.{user_host}.insteadOf", host)
    else:
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        header = f"Authorization: Basic {base64.b64encode(pair).decode()}"
        setting = (f"http.{host}.extraHeader", header)
    number = env.get("GIT_CONFIG_COUNT", "0")
    number = number if number.isdecimal() else "0"
    return {
        "GIT_CONFIG_COUNT": str(int(number) + 1),
        f"GIT_CONFIG_KEY_{number}": setting[0],
        f"GIT_CONFIG_VALUE_{number}": setting[1],
    }


def _unreachable_problem(remote: RemoteCommit, found: ChildResult) -> Problem:
    return Problem(
        "git/unreachable",
        f"cannot clone the repository `{remote.url}`",
        hint=f"check the URL and your access, and run: git ls-remote {remote.shown_url}",
        frame=redact_credentials(found.last_lines(5)),
    )


def _unset_variable_problem(remote: RemoteCommit, name: str) -> Problem:
    return Problem(
        "git/unreachable",
        f"{name} is not set: the login of the repository `{remote.url}` needs it",
        hint="set it in the shell or in CI, or remove the login from the URL",
    )


def _missing_commit_problem(remote: RemoteCommit, found: ChildResult) -> Problem:
    return Problem(
        "git/commit-missing",
        f"the repository `{remote.url}` has no commit `{remote.commit}`",
        hint="lock again, or correct the commit: a force push can delete commits",
        frame=redact_credentials(found.last_lines(5)),
    )


def _submodule_problem(remote: RemoteCommit, found: ChildResult) -> Problem:
    return Problem(
        "git/submodule",
        f"cannot fetch the submodules of `{remote.url}`",
        hint="check the URLs in its .gitmodules (https:// or ssh://), and your access to them",
        frame=redact_credentials(found.last_lines(5)),
    )
