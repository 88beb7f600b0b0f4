"""uv as a child process: resolve and download wheels for a target, in place of pip.

Where its cache is warm, it takes a small part of pip's time. It unpacks wheels into its cache, and
the files are read from there.
"""

import functools
import importlib
import importlib.util
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from packaging.version import InvalidVersion, Version

from fabric.model.builds.python_target import PythonTarget
from fabric.model.distribution import Extra
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.runtimes.packages.pip import (
    find_missing_file,
    find_refused_index,
    hash_mismatch_problem,
    hash_missing_problem,
    missing_version_problem,
    unreachable_index_problem,
    write_constraints,
)
from fabric.runtimes.packages.pip_settings import build_uv_environment
from fabric.runtimes.packages.requirements import (
    Pin,
    find_local_paths,
    has_hashes,
    list_requirement_lines,
    no_wheel_problem,
    normalize_package_name,
    parse_requirement,
    parse_toml,
    read_required_name,
)
from fabric.runtimes.packages.wheels import UnpackedWheel
from fabric.system.optional_packages import install_command
from fabric.system.process.process import ChildResult, run_child

VARIABLE = "FABRIC_PIP"
_CONSTRAINT = "UV_CONSTRAINT"
_WHEEL = re.compile(r"\S+ @ file:///\S+\.whl( |$)")
# The versions of glibc 2 that it knows.
_GLIBC = frozenset({17, 28, *range(31, 41)})
_UNKNOWN = re.compile(r"([\w.-]+) was not found in the ")
_NO_WHEEL = re.compile(r"([\w.-]+==\S+|[\w.-]+) has no (?:usable )?wheels")
_NO_VERSION = re.compile(r"there (?:is|are) no versions? of ([\w.-]+==[^\s,]+)")
_TOO_OLD = re.compile(r"only [\w.-]+\S* (?:is|are) available and .*?depends? on ([\w.-]+\S*?),? ")
_UNREACHABLE = re.compile(
    r"error sending request|Failed to fetch|Request failed after|dns error|timed out"
)
_MISMATCH = re.compile(
    r"Hash mismatch for `(?P<name>[^`]+)`\s+Expected:\s+sha\d+:(?P<expected>\w+).*?"
    r"Computed:\s+sha\d+:(?P<got>\w+)",
    re.DOTALL,
)
_OLD_VERSION = re.compile(r"^error: (?:unexpected argument|invalid value .* for '--)", re.MULTILINE)
_NO_HASH = re.compile(r"must have a hash, but none were provided for: (\S+)")
_LOOK = ("compile", "--no-deps", "--no-annotate", "--no-header")
_NOT_PINNED = "must have their versions pinned"


class OldVersionError(Exception):
    """This version of uv does not know an option or a target."""


def find_uv(environment: Mapping[str, str]) -> Path | None:
    """Find uv in PATH, otherwise in its package; None if pip is to be used."""
    chosen = environment.get(VARIABLE, "")
    if chosen not in ("", "pip", "uv"):
        message = f"invalid value for {VARIABLE}: `{chosen}`"
        raise FabricError(Problem("usage/bad-package-tool", message, hint="use pip or uv"))
    if chosen == "pip":
        return None
    found = shutil.which("uv", path=environment.get("PATH", "")) or _find_packaged_uv()
    if found is None and chosen == "uv":
        message = f"uv is not installed, and {VARIABLE} selects it"
        hint = f"install uv, or run: {install_command(Extra.UV)}"
        raise FabricError(Problem("vendor/uv-missing", message, hint))
    return Path(found) if found else None


@functools.cache
def _find_packaged_uv() -> str | None:
    if importlib.util.find_spec("uv") is None:
        return None
    try:
        return str(importlib.import_module("uv").find_uv_bin())
    except (ImportError, AttributeError, FileNotFoundError):
        return None


class Uv(Struct, frozen=True):
    """uv for one text of requirements. `environment` contains pip's settings."""

    program: Path
    environment: Mapping[str, str]
    target: PythonTarget

    def resolve(self, text: str, folder: Path, exact: str = "") -> tuple[Pin, ...]:
        """Resolve the requirements to versions and the hash of the wheel for the target."""
        # Few runs resolve anything, and the parsers of locks are large.
        from fabric.runtimes.packages.locks.marked_locks import list_pylock_rows
        from fabric.runtimes.packages.locks.rows import LockFile, select_packages

        result = self._run(
            ["compile", "--format", "pylock.toml", *write_constraints(text, folder, exact)],
            text,
            folder,
        )
        lock = result.stdout.decode()
        document = parse_toml(lock)
        file = LockFile(name="pylock.toml", text=lock, document=document, target=self.target)
        extras = _collect_extras(text)
        # Wheels that are already there.
        built = {read_required_name(line) for line in find_local_paths(text)}
        built = set(map(normalize_package_name, built))
        rows = [row for row in list_pylock_rows(file) if row.name not in built]
        return tuple(
            replace(pin, extras=extras.get(normalize_package_name(pin.name), ()))
            for pin in select_packages(rows, file).pins
        )

    def download(self, text: str, folder: Path, *, locked: bool) -> list[UnpackedWheel] | None:
        """Download the wheels. None if uv could not link to its cache, or if a file there is not
        the file of the wheel."""
        installed = folder / "installed"
        bounds = ["--no-deps"] if locked else write_constraints(text, folder)
        hashes = ["--require-hashes"] if has_hashes(text) else []
        flags = ["--target", str(installed), "--link-mode", "symlink", "--no-compile-bytecode"]
        self._run(["install", *flags, *hashes, *bounds], text, folder)
        return _find_unpacked_wheels(installed)

    def _run(self, words: list[str], text: str, folder: Path) -> ChildResult:
        result = self._run_uv(words, text, folder)
        if result.code and _OLD_VERSION.search(result.last_lines()):
            raise OldVersionError
        if result.code:
            raise FabricError(self._build_failure(redact_userinfo(result.last_lines()), folder))
        return result

    def _run_uv(
        self, words: Sequence[str], text: str, folder: Path, strategy: str = ""
    ) -> ChildResult:
        lines = "".join(f"{line}\n" for line in list_requirement_lines(text))
        command, *rest = words
        offline = ["--no-index"] if self.environment.get("UV_NO_INDEX") else []
        argv = [
            str(self.program), "pip", command, "--quiet", "--no-config", "--no-python-downloads",
            "--python", sys.executable, "--python-platform", _format_platform(self.target),
            "--python-version", self.target.python, "--only-binary", ":all:", *offline, *rest,
        ]  # fmt: skip
        source = ["-"] if command == "compile" else ["-r", "-"]
        # With hashes, uv requires them of constraints too. A lock has one version of each anyway.
        left_out = {_CONSTRAINT} if "--no-deps" in rest else set[str]()
        env = {name: text for name, text in self.environment.items() if name not in left_out}
        env |= {"UV_INDEX_STRATEGY": strategy} if strategy else {}
        return run_child([*argv, *source], cwd=folder, env=env, stdin=lines.encode())

    def _build_failure(self, text: str, folder: Path) -> Problem:
        joined = " ".join(text.split())
        if match := _UNKNOWN.search(joined):
            refused = find_refused_index(self._explain_unknown(match[1], folder), text)
            return refused or missing_version_problem(match[1], None, self.target, text)
        if match := _NO_WHEEL.search(joined) or _TOO_OLD.search(joined):
            return no_wheel_problem(match[1], self.target, text)
        if match := _NO_VERSION.search(joined):
            requirement = match[1]
            newest = self._find_newest_version(requirement.partition("=")[0], folder)
            return missing_version_problem(requirement, newest, self.target, text)
        return _find_hash_problem(text) or _build_download_failure(text)

    def _explain_unknown(self, name: str, folder: Path) -> str:
        """Look for a package in each index in turn: only then uv names the index that refuses."""
        asked = self._run_uv(_LOOK, name, folder, strategy="first-index")
        return redact_userinfo(asked.last_lines())

    def _find_newest_version(self, name: str, folder: Path) -> tuple[str, ...] | None:
        """Return the newest version. None if no index has the package."""
        result = self._run_uv(_LOOK, name, folder)
        text = result.last_lines() if result.code else result.stdout.decode(errors="replace")
        if _UNKNOWN.search(text):
            return None
        found = sorted(re.findall(r"[<=>]=([\w.+!]*\w)", text), key=_order_version)
        return tuple(found[-1:])


def open_uv(
    environment: Mapping[str, str], command: str, text: str, target: PythonTarget
) -> Uv | None:
    """Return uv for these requirements; None if it is not installed, or would do something else
    than pip."""
    program = find_uv(environment)
    if program is None or target.glibc not in _GLIBC or _is_foreign(text):
        return None
    translated = build_uv_environment(environment, command, text)
    return Uv(program, translated, target) if translated is not None else None


def _is_foreign(text: str) -> bool:
    """Return whether requirements have options or paths, which uv reads in other ways."""
    lines = list_requirement_lines(text)
    # It has its own values of markers about a release of the system.
    words = ("${", "platform_release", "platform_version")
    paths = (line for line in find_local_paths(text) if not _WHEEL.match(line))
    return any(paths) or any(
        one.startswith("-") or any(word in one for word in words) for one in lines
    )


def _format_platform(target: PythonTarget) -> str:
    return f"{target.machine}-manylinux_2_{target.glibc}"


def _order_version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def _find_hash_problem(text: str) -> Problem | None:
    if match := _MISMATCH.search(text):
        return hash_mismatch_problem(match["name"], match["expected"], match["got"], text)
    if match := _NO_HASH.search(text):
        return hash_missing_problem(f"`{match[1]}`", text)
    return hash_missing_problem("one of them", text) if _NOT_PINNED in text else None


def _build_download_failure(text: str) -> Problem:
    missing = find_missing_file(text)
    if missing is not None:
        return missing
    if _UNREACHABLE.search(text):
        return unreachable_index_problem(text)
    message = "uv failed to download the packages"
    return Problem("vendor/failed", message, "see the output of uv above", frame=text)


def _collect_extras(text: str) -> Mapping[str, tuple[str, ...]]:
    found = filter(None, map(parse_requirement, list_requirement_lines(text)))
    return {normalize_package_name(one.name): tuple(sorted(one.extras)) for one in found}


def _find_unpacked_wheels(installed: Path) -> list[UnpackedWheel] | None:
    """Find the directories of wheels in uv's cache, where the links of an installation point to.

    uv checks a hash when it downloads. Other environments can have hard links to the files, so
    each file is compared with the RECORD of its wheel.
    """
    wheels = []
    for info in sorted(installed.glob("*.dist-info")):
        metadata = info / "METADATA"
        if not metadata.is_symlink():
            return None
        folder = Path(metadata.readlink()).parent.parent
        wheels.append(UnpackedWheel(info.name.removesuffix(".dist-info"), folder))
    return wheels if all(one.matches_record() for one in wheels) else None
