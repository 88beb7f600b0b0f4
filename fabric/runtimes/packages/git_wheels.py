"""Build the wheel of a package in a git repository. Its build backend is code of the repository."""

import os
import platform
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.tags import parse_tag
from packaging.utils import canonicalize_name, parse_wheel_filename

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_credentials
from fabric.runtimes.archive import is_metadata
from fabric.runtimes.commands.command import select_network_settings
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.packages.git_sources import GitSource, find_login, parse_git_line
from fabric.runtimes.packages.pip_settings import build_uv_environment
from fabric.runtimes.packages.requirements import (
    VARIABLE,
    is_marker_met,
    list_index_lines,
    parse_requirement,
)
from fabric.runtimes.packages.uv import find_uv
from fabric.runtimes.packages.wheels import ZippedWheel, list_wheel_files
from fabric.system.files.owned_folder import create_temporary_folder
from fabric.system.git.git_fetch import RemoteCommit, check_out_commit
from fabric.system.process.process import CannotStartError, ChildResult, run_child

_OLD_UV = re.compile(r"^error: (?:unrecognized subcommand|unexpected argument)", re.MULTILINE)
# Beside the settings of pip and uv: variables with credentials are not for foreign code.
_PASSED = re.compile(
    "PATH|HOME|LANG|LC_ALL|TMPDIR|SOURCE_DATE_EPOCH|XDG_(CONFIG|CACHE)_HOME|XDG_CONFIG_DIRS"
    "|(PIP|UV)_.*"
)
_PIP = ("--disable-pip-version-check", "--no-input", "--quiet", "--no-deps")
# Not the end of `manylinux` and `musllinux`.
_LINUX = re.compile(r"(?<=-)linux_(?P<machine>\w+)")


class ListedSource(Struct, frozen=True):
    """A repository, and the texts by path of the files that list it. A URL in them can contain its
    login, and they can name the indexes of its build dependencies."""

    source: GitSource
    texts: Mapping[str, str]

    @property
    def place(self) -> Place:
        """The first line with its commit."""
        for path, text in self.texts.items():
            before, found, _ = text.partition(self.source.commit)
            if found:
                return Place(path, before.count("\n") + 1)
        return Place(next(iter(self.texts), ""))


class GitWheel(Struct, frozen=True, kw_only=True):
    """A built wheel. `system` are its tags, and the version of glibc that it was built with."""

    title: str
    content: bytes
    system: str

    def list_files(self) -> Iterator[BuiltFile]:
        return list_wheel_files(ZippedWheel(self.title, self.content))


def read_listing_files(workspace: Path, files: Sequence[str]) -> Mapping[str, str]:
    """Read the files that can list a repository. Deleted ones are left out."""
    base = os.path.realpath(workspace)
    paths = ((name, Path(os.path.normpath(os.path.join(base, name)))) for name in files)
    return {
        name: path.read_text(encoding="utf-8", errors="replace")
        for name, path in paths
        if path.is_file()
    }


def build_git_wheel(listed: ListedSource, env: Mapping[str, str]) -> GitWheel:
    """Check out the commit and build its wheel with uv, otherwise with pip."""
    source = listed.source
    login = find_login(source, listed.texts.values())
    remote = RemoteCommit(url=source.url, commit=source.commit, login=login)
    try:
        with create_temporary_folder("git-wheel") as folder:
            seconds = check_out_commit(remote, folder / "source", env)
            # Backends write it into files in place of the current time.
            dated = {**env, "SOURCE_DATE_EPOCH": str(seconds)}
            return _build_wheel(listed, folder, dated)
    except CannotStartError as error:
        message = f"{error.first.message} (for package `{source.name}` from git)"
        raise FabricError(replace(error.first, message=message, where=listed.place)) from error
    except FabricError as error:
        raise FabricError(*(replace(one, where=listed.place) for one in error.problems)) from error


def _build_wheel(listed: ListedSource, folder: Path, env: Mapping[str, str]) -> GitWheel:
    source = listed.source
    checkout = folder.resolve() / "source"
    # A link in the repository can point to any directory.
    project = (checkout / source.subdirectory).resolve()
    if not project.is_dir() or not project.is_relative_to(checkout):
        message = f"no directory `{source.subdirectory}` in the repository of `{source.name}`"
        hint = "correct the subdirectory, or lock again"
        raise FabricError(Problem("vendor/build-failed", message, hint))
    result = _run_build(listed, project, folder / "wheels", env)
    found = sorted((folder / "wheels").glob("*.whl"))
    if result.code or not found:
        raise FabricError(_failed_build_problem(source, result))
    name, _, _, tags = parse_wheel_filename(found[0].name)
    if name != canonicalize_name(source.name):
        message = f"the repository of `{source.name}` contains the package `{name}`"
        hint = f"use the name `{name}`, or set the subdirectory of `{source.name}`"
        raise FabricError(Problem("vendor/wrong-package", message, hint))
    glibc = platform.libc_ver()[1].rpartition(".")[2]
    system = f"{glibc} {' '.join(sorted(map(str, tags)))}"
    return GitWheel(title=found[0].name, content=found[0].read_bytes(), system=system)


def _run_build(
    listed: ListedSource, project: Path, output: Path, env: Mapping[str, str]
) -> ChildResult:
    indexes = dict.fromkeys(
        line for text in listed.texts.values() for line in list_index_lines(text)
    )
    text = "\n".join(indexes)
    passed = _select_build_environment(env, indexes)
    program, settings = find_uv(env), build_uv_environment(passed, "wheel", text)
    if program and settings is not None:
        argv = [
            str(program), "build", "--wheel", "--no-config", "--no-python-downloads",
            "--python", sys.executable, "--out-dir", str(output),
            *(["--no-index"] if settings.get("UV_NO_INDEX") else []), str(project),
        ]  # fmt: skip
        result = run_child(argv, cwd=project, env=settings)
        if not _OLD_UV.search(result.last_lines()):
            return result
    # Settings with a password are not arguments.
    lines = f"{text}\n{project.as_uri()}\n".encode()
    flags = ("--ignore-requires-python", "--wheel-dir", str(output), "-r", "/dev/stdin")
    argv = [sys.executable, "-P", "-m", "pip", "wheel", *_PIP, *flags]
    return run_child(argv, cwd=project, env=passed, stdin=lines)


def _select_build_environment(env: Mapping[str, str], indexes: Iterable[str]) -> dict[str, str]:
    """Select the variables of a build. Options of indexes can contain others, such as a
    password."""
    named = {name for line in indexes for name in VARIABLE.findall(line)}
    passed = {
        name: value for name, value in env.items() if name in named or _PASSED.fullmatch(name)
    }
    return {**select_network_settings(env), **passed}


def _failed_build_problem(source: GitSource, result: ChildResult) -> Problem:
    return Problem(
        "vendor/build-failed",
        f"cannot build a wheel of `{source.name}` at commit `{source.commit[:7]}`",
        hint="see the output above. If the package cannot be built here, publish a wheel of it",
        frame=redact_credentials(result.last_lines()),
    )


class DependencyReader(Struct, frozen=True, kw_only=True):
    """Reads the dependencies of packages in repositories, for a resolver."""

    # All repositories of the requirements, and the targets that are locked.
    sources: Sequence[GitSource]
    targets: Sequence[PythonTarget]
    folder: Path

    def write_line(self, listed: ListedSource, env: Mapping[str, str]) -> str:
        """Build a package, and return a line of requirements with a wheel of its metadata."""
        wheel = build_git_wheel(listed, env)
        # For every target: the task that builds it again is compared with the target later.
        title = "-".join(wheel.title.split("-")[:2])
        file = self.folder / f"{title}-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as archive:
            for one in wheel.list_files():
                if is_metadata(one.path):
                    archive.writestr(one.path, self._convert_metadata(one.content, listed))
                elif one.path.endswith(".dist-info/WHEEL"):
                    archive.writestr(one.path, one.content)
                    archive.writestr(one.path.replace("/WHEEL", "/RECORD"), "")
        return f"{listed.source.format_line(file.as_uri())}\n"

    def _convert_metadata(self, content: bytes, listed: ListedSource) -> bytes:
        head, separator, body = content.decode(errors="replace").partition("\n\n")
        lines = [self._convert_header(line, listed) for line in head.splitlines()]
        return "".join(("\n".join(lines), separator or "\n", body)).encode()

    def _convert_header(self, line: str, listed: ListedSource) -> str:
        """Remove the URL of a repository that the requirements list, too."""
        field, _, text = line.partition(":")
        needed = parse_git_line(text.strip()) if field.lower() == "requires-dist" else None
        if needed is None:
            return line
        if any(_is_same_source(needed, one) for one in self.sources):
            return f"{field}: {needed.format_line('')}"
        requirement = parse_requirement(text.strip())
        if requirement and any(
            is_marker_met(requirement, target.markers(), extra, otherwise=False)
            for target in self.targets
            for extra in ("", *listed.source.extras)
        ):
            raise FabricError(_unlisted_problem(needed, listed))
        return line


def _is_same_source(needed: GitSource, listed: GitSource) -> bool:
    """Return whether a listed repository is the needed one. A branch or a tag fits each commit."""
    names = {(one.name, one.url.removesuffix(".git"), one.subdirectory) for one in (needed, listed)}
    return len(names) == 1 and needed.commit in ("", listed.commit)


def _unlisted_problem(needed: GitSource, listed: ListedSource) -> Problem:
    shown = replace(needed, commit=needed.commit or "COMMIT", marker="")
    return Problem(
        "vendor/incomplete",
        f"`{listed.source.name}` needs `{needed.name}` from git, at a commit that the requirements "
        "do not list",
        hint=f"list `{shown.line}` in the requirements",
        where=listed.place,
    )


def check_wheel_system(name: str, system: str, target: PythonTarget) -> None:
    """Raise for a wheel that was built with compiled code for another system than the target."""
    from fabric.runtimes.packages.locks.rows import rank_wheel_tags

    glibc, *names = system.split(" ")
    ranks = rank_wheel_tags(target)
    # A wheel of this machine needs at least the version of glibc that it was built with.
    known = {
        tag
        for one in names
        for tag in parse_tag(_LINUX.sub(rf"manylinux_2_{glibc or 0}_\g<machine>", one))
    }
    if names and not known & ranks.keys():
        raise FabricError(
            Problem(
                "vendor/no-wheel",
                f"the built wheel of `{name}` is for `{names[0]}` (glibc 2.{glibc or '?'}), not "
                f"for Python {target.python} on {target.machine} (glibc 2.{target.glibc})",
                hint="publish wheels of it for the target to an index, or build on such a machine",
            )
        )
