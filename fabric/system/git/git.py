"""Changed files of a directory since a commit, from git. Writes nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.system.process.process import CannotStartError, ChildResult, run_child

# The commits that a branch is compared with, best first.
_BASES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_HERE = "HEAD"
# How machines that build checkouts of no branch call the branch.
BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "CIRCLE_BRANCH",
    "BUILDKITE_BRANCH", "BITBUCKET_BRANCH", "BUILD_SOURCEBRANCHNAME", "BRANCH_NAME",
)  # fmt: skip
# Locks and translated messages are nothing for a program that only looks.
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
# A checkout can bring a `.git/config`, and git runs programs that it names: monitors of files,
# hooks, and what fetches objects that a partial clone left out.
_HARMLESS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_NO_FETCH = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
_REMOTE_ONLY = {"GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file", "GIT_TERMINAL_PROMPT": "0"}
# Programs of a filter, each with a value that turns it off.
_FILTER_KEYS = (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
# git would look into submodules with their own settings: only their commits count.
_DIFF = ("diff", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty", "-z")
_SECONDS = 60
_SHOWN = 10


class Changes(Struct, frozen=True):
    """Changed, new and deleted files, as absolute paths; `since` describes the base for
    messages."""

    files: tuple[str, ...]
    since: str
    # The commit that they are compared with; empty if there is none yet.
    base: str = ""


def find_changed_files(folder: Path, base: str, env: Mapping[str, str]) -> Changes | None:
    """Return all changes of the directory's repository since it left the base; None without a
    repository."""
    git = open_quiet_git(folder, env)
    top = git.top()
    if top is None:
        return None
    git = replace(git, folder=Path(top))
    others = git.list_paths("ls-files", "--others", "--exclude-standard", "-z")
    if not base and not git.commit(_HERE):
        everything = (*git.list_paths("ls-files", "-z"), *others)
        return Changes(_make_absolute(top, everything), "the beginning")
    name, start = _start(git, base)
    moved = git.list_paths(*_DIFF, start, "--")
    return Changes(_make_absolute(top, (*moved, *others)), f"{name} ({start[:_SHOWN]})", start)


def read_committed_file(path: Path, commit: str, env: Mapping[str, str]) -> bytes | None:
    """Return the content of a file in a commit; None if the commit does not contain it."""
    found = open_quiet_git(path.parent, env).run_git("cat-file", "blob", f"{commit}:./{path.name}")
    return found.stdout if found.code == 0 else None


def open_quiet_git(folder: Path, env: Mapping[str, str]) -> "Git":
    """Open a git that runs no programs of the repository."""
    plain = Git(folder, {**env, **_QUIET, **_NO_FETCH})
    return replace(
        plain, env={**plain.env, **_build_setting_variables(tuple(_list_filter_settings(plain)))}
    )


def _build_setting_variables(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Build the settings as variables: `-c` cannot set a name that contains `=`."""
    numbered = tuple(enumerate(pairs))
    return {
        **{f"GIT_CONFIG_KEY_{number}": name for number, (name, _) in numbered},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in numbered},
        "GIT_CONFIG_COUNT": str(len(pairs)),
    }


_LIST_FILTERS = ("--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")


def _list_filter_settings(git: "Git") -> Iterator[tuple[str, str]]:
    """Yield settings that disable the repository's filters; those of the user stay."""
    try:
        found = git.run_git("config", *_LIST_FILTERS)
    except CannotStartError:
        return
    fields = found.stdout.decode(errors="surrogateescape").split("\0")[:-1]
    names = {
        key.removeprefix("filter.").rpartition(".")[0]
        for scope, key in zip(fields[::2], fields[1::2], strict=False)
        if scope in ("local", "worktree")
    }
    for name in sorted(names):
        for key, value in _FILTER_KEYS:
            yield f"filter.{name}.{key}", value


def _make_absolute(top: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted({f"{top.rstrip('/')}/{name}" for name in names}))


def _start(git: "Git", base: str) -> tuple[str, str]:
    """Return the base by name, and the commit where this branch left it."""
    name = base or next((one for one in _BASES if git.commit(one)), _HERE)
    shallow = git.is_shallow()
    if not git.commit(name):
        raise FabricError(
            _shallow_clone_problem(name) if shallow else _unknown_commit_problem(name)
        )
    if shallow and not base and name == _HERE:
        # The branch to compare with was never fetched: that nothing changed would be a lie.
        raise FabricError(_shallow_clone_problem(_BASES[1]))
    found = git.run_git("merge-base", name, _HERE)
    if found.code != 0:
        raise FabricError(
            _shallow_clone_problem(name) if shallow else _no_common_history_problem(name)
        )
    return name, found.stdout.decode().strip()


class Git(Struct, frozen=True):
    """Git calls in a directory."""

    folder: Path
    env: Mapping[str, str]

    def run_git(self, *words: str) -> ChildResult:
        argv = ("git", *_HARMLESS, *words)
        return run_child(argv, cwd=self.folder, env=self.env, timeout=_SECONDS)

    def top(self) -> str | None:
        """Return the root of the working tree; None without git or a repository."""
        try:
            found = self.run_git("rev-parse", "--show-toplevel")
        except CannotStartError:
            return None
        if found.code == 0:
            return found.stdout.decode(errors="surrogateescape").removesuffix("\n")
        if b"not a git repository" in found.stderr:
            return None
        raise FabricError(_git_failure_problem(found))

    def commit(self, name: str) -> bool:
        found = self.run_git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        return found.code == 0

    def is_shallow(self) -> bool:
        return self.run_git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def list_paths(self, *words: str) -> tuple[str, ...]:
        found = self.run_git(*words)
        if found.code != 0:
            raise FabricError(_git_failure_problem(found))
        text = found.stdout.decode(errors="surrogateescape")
        return tuple(name for name in text.split("\0") if name)


def _shallow_clone_problem(name: str) -> Problem:
    return Problem(
        "usage/shallow-clone",
        f"the clone is too shallow to compare with `{name}`",
        hint="run: git fetch --deepen=200 origin, or git fetch --unshallow; fetch a missing "
        "branch with: git fetch origin main:refs/remotes/origin/main",
    )


def _unknown_commit_problem(name: str) -> Problem:
    hint = "use a branch, tag or commit from `git log`"
    return Problem("usage/unknown-base", f"unknown commit `{name}`", hint=hint)


def _no_common_history_problem(name: str) -> Problem:
    message = f"`{name}` and the current commit have no common history"
    return Problem("usage/unknown-base", message, hint="choose another --base REF")


def _git_failure_problem(found: ChildResult) -> Problem:
    said = found.last_lines(3) or f"exit code {found.code}"
    return Problem("git/failed", f"git failed: {said}")


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


def find_head(folder: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """Return the current commit and branch, each empty if there is none. One call of git, which
    reads no files of the working tree."""
    git = Git(folder, {**env, **_QUIET, **_NO_FETCH})
    try:
        found = _read_lines(git, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
    except FabricError:
        return "", ""
    commit, branch = (*found, "", "")[:2]
    return commit, "" if branch == "HEAD" else branch


def list_remote_branches(folder: Path, env: Mapping[str, str]) -> frozenset[str]:
    """Ask the remote `origin` for its branches. Of the checkout's settings only the address is
    used: others could name programs."""
    git = open_quiet_git(folder, env)
    url = _read_first_line(git, "config", "--get", "remote.origin.url") if git.top() else ""
    if not url:
        hint = "run the command in a clone of the repository"
        raise FabricError(Problem("git/no-remote", "no remote `origin` found", hint))
    top = Path(git.top() or folder)
    address = url if "://" in url or ":" in url else str((top / url).resolve())
    outside = {**env, **_QUIET, **_REMOTE_ONLY}
    found = Git(Path(top.anchor), outside).run_git("ls-remote", "--heads", "--", address)
    if found.code != 0:
        raise FabricError(_git_failure_problem(found))
    lines = found.stdout.decode(errors="replace").splitlines()
    return frozenset(line.partition("\trefs/heads/")[2] for line in lines) - {""}


def clone_commit(folder: Path, target: Path, commit: str, env: Mapping[str, str]) -> Path:
    """Check a commit out into an empty directory. Returns the place of `folder` in it. No hook and
    no program of the checkout runs."""
    git = open_quiet_git(folder, env)
    top = git.top()
    if top is None:
        message = f"`{folder}` is not in a Git repository"
        raise FabricError(Problem("git/no-repository", message, "run the command in a clone"))
    if not git.commit(commit):
        problem = _unknown_commit_problem(commit)
        if git.is_shallow():
            problem = replace(problem, hint="this clone is shallow: run git fetch --unshallow")
        raise FabricError(problem)
    words = ("clone", "-q", "--no-checkout", "--shared", "--template=", "--", top, str(target))
    outside = Git(Path(target.anchor), {**env, **_QUIET, **_REMOTE_ONLY})
    cloned = outside.run_git(*words)
    if cloned.code == 0:
        cloned = replace(outside, folder=target).run_git("checkout", "-q", "--detach", commit)
    if cloned.code != 0:
        raise FabricError(_git_failure_problem(cloned))
    return target / folder.resolve().relative_to(Path(top).resolve())


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
