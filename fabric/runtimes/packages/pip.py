"""pip as a child process: resolve and download wheels for a target."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fabric.model.builds.python_target import PythonTarget
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secrecy import redact_userinfo, remove_userinfo
from fabric.runtimes.packages import target_pip
from fabric.runtimes.packages.requirements import (
    Pin,
    is_pinned,
    list_constraint_lines,
    no_wheel_problem,
    parse_requirement,
    read_required_name,
)
from fabric.runtimes.packages.wheels import ZippedWheel
from fabric.system.files.disk import write_atomic
from fabric.system.process.process import ChildResult, run_child

_QUIET = ("--disable-pip-version-check", "--no-input", "--quiet", "--no-python-version-warning")
# So verbose that it says which files it passes over, and why.
_ALL_VERSIONS = (
    "--disable-pip-version-check", "--no-input", "--pre", "--ignore-requires-python", "-vv",
)  # fmt: skip
_MISSING = re.compile(r"No matching distribution found for (.+?)(?: \(from .*)?$", re.MULTILINE)
_VERSIONS = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
# The last of pip's own retries, or the error that its HTTP library ends with.
_UNREACHABLE = re.compile(r"Retrying \(Retry\(total=0\b|Max retries exceeded")
_OTHER_PLATFORM = re.compile(r"Skipping link: none of the wheel's tags")
_MISMATCH = re.compile(
    r"^ *(?P<name>\S+)(?: from \S+)?(?: \(from .*\))?:\s*\n\s*Expected sha\d+ +(?P<expected>\w+)"
    r"(?:\s*\n\s*Expected +or +\w+)*\s*\n\s*Got +(?P<got>\w+)",
    re.MULTILINE,
)
_NO_HASH = re.compile(
    r"^ *(?P<name>[A-Za-z0-9][\w.-]*(?:==\S+)?)(?: from \S+)? --hash=", re.MULTILINE
)


class Pip(Struct, frozen=True):
    environment: Mapping[str, str]

    def resolve(
        self, text: str, target: PythonTarget, folder: Path, exact: str = ""
    ) -> tuple[Pin, ...]:
        """Resolve the requirements to versions and hashes, without installing.

        `exact` are version pins for those packages that are needed at all.
        """
        flags = ["--dry-run", "--ignore-installed", "--report", "-", "--target", str(folder)]
        argv = ["install", *flags, *write_constraints(text, folder, exact)]
        result = self._run(argv, text, target, folder)
        return tuple(_pin(item) for item in json.loads(result.stdout)["install"])

    def download(
        self, text: str, target: PythonTarget, folder: Path, *, locked: bool
    ) -> list[ZippedWheel]:
        """Download the wheels. A lock is complete, so no dependency is added to it."""
        bounds = ["--no-deps"] if locked else write_constraints(text, folder)
        flags = ["--dest", str(folder), *bounds]
        self._run(["download", *flags], text, target, folder)
        found = sorted(folder.glob("*.whl"))
        return [ZippedWheel(one.name, one.read_bytes()) for one in found]

    def _run(self, argv: list[str], text: str, target: PythonTarget, folder: Path) -> ChildResult:
        # The text may hold the password of an index: it goes through a pipe, never into a file.
        argv = [*argv, *_QUIET, *target.flags(), "-r", "/dev/stdin"]
        result = self._run_pip(argv, target, folder, text)
        if result.code:
            raise FabricError(self._build_failure(result, target, folder))
        return result

    def _run_pip(
        self, argv: list[str], target: PythonTarget, folder: Path, text: str = ""
    ) -> ChildResult:
        # Isolated from PYTHON* variables, but pip's own settings (an index of the company) hold.
        env = {key: value for key, value in self.environment.items() if key != "PYTHONPATH"}
        told = json.dumps(target.markers(), sort_keys=True)
        child = [sys.executable, "-P", target_pip.__file__, told, *argv]
        return run_child(child, cwd=folder, env=env, stdin=text.encode())

    def _build_failure(self, result: ChildResult, target: PythonTarget, folder: Path) -> Problem:
        text = _read_last_lines(result)
        missing = _MISSING.search(text)
        if missing is None or _UNREACHABLE.search(text):
            return pip_failure_problem(text)
        requirement = missing[1]
        # pip's words are the same for an unknown package and for one that has sources alone.
        asked = self._run_pip(
            ["index", "versions", read_required_name(requirement), *_ALL_VERSIONS], target, folder
        )
        said = f"{asked.last_lines()}\n{asked.stdout.decode(errors='replace')}"
        refused = find_refused_index(redact_userinfo(said), text)
        return refused or missing_version_problem(requirement, parse_versions(asked), target, text)


def write_constraints(text: str, folder: Path, exact: str = "") -> list[str]:
    """Write constraints to a file, which pip requires; index passwords are not included."""
    lines = (redact_userinfo(line) for line in list_constraint_lines(text))
    kept = folder / "constraints.txt"
    write_atomic(kept, "".join([exact, *(f"{line}\n" for line in lines)]).encode())
    return ["--constraint", str(kept)]


def _pin(item: Mapping[str, Mapping[str, object]]) -> Pin:
    archive = item["download_info"].get("archive_info")
    hashes = archive.get("hashes", {}) if isinstance(archive, dict) else {}
    digests = (str(hashes["sha256"]),) if "sha256" in hashes else ()
    extras = item.get("requested_extras", ())
    name, version = str(item["metadata"]["name"]), str(item["metadata"]["version"])
    return Pin(name, version, digests, tuple(sorted(map(str, extras))))


def _read_last_lines(result: ChildResult) -> str:
    """Return pip's last lines, without the password of an index."""
    return redact_userinfo(result.last_lines())


def parse_versions(asked: ChildResult) -> tuple[str, ...] | None:
    """Return the versions of a package, newest first. None if no index has it, () if no version is
    listed."""
    if asked.code:
        said = f"{asked.last_lines()}\n{asked.stdout.decode(errors='replace')}"
        is_elsewhere = _OTHER_PLATFORM.search(said)
        return None if _MISSING.search(said) and not is_elsewhere else ()
    found = _VERSIONS.search(asked.stdout.decode(errors="replace"))
    return tuple(found[1].split(", ")) if found else ()


_REFUSED = re.compile(r"\b(?:401 Unauthorized|403 Forbidden|40[13] Client Error)\b")
_URL = re.compile(r"https?://[^\s)]+?(?=/?:?[\s)]|/?$)")


def find_refused_index(said: str, frame: str) -> Problem | None:
    """Find an index that did not accept the login. It can have the package. `said` is the output of
    pip or uv."""
    for line in said.splitlines():
        refused, url = _REFUSED.search(line), _URL.search(line)
        if refused and url:
            index = remove_userinfo(url[0])
            message = f"the package index `{index}` did not accept the login ({refused[0][:3]})"
            hint = "check the user and the password in its URL, or the variables that it names"
            return Problem("vendor/index-login", message, hint, frame=frame)
    return None


_MISSING_FILE = re.compile(
    r"HTTP error 404 while getting (?P<pip>https?://[^\s,]+)"
    r"|HTTP status client error \(404[^)]*\) for url \((?P<uv>https?://[^\s)]+)\)"
)


def find_missing_file(text: str) -> Problem | None:
    """Find the URL of a requirement that does not exist. `text` is the output of pip or uv."""
    found = _MISSING_FILE.search(text)
    if found is None:
        return None
    message = f"`{remove_userinfo(found['pip'] or found['uv'])}` does not exist (404)"
    hint = "correct the URL in the requirements, or require a version of the package"
    return Problem("vendor/url-missing", message, hint, frame=text)


def missing_version_problem(
    requirement: str, versions: tuple[str, ...] | None, target: PythonTarget, text: str
) -> Problem:
    """Build the problem for a requirement without a match, with the available versions."""
    name = read_required_name(requirement)
    if versions is None:
        message = f"package `{name}` not found in the package index of pip"
        hint = "check the spelling of the name, or add your index to the settings of pip"
        return Problem("vendor/unknown-package", message, hint, frame=text)
    exact = parse_requirement(requirement) if is_pinned(requirement) else None
    if versions and exact and not any(exact.specifier.filter(versions, prereleases=True)):
        (specifier,) = exact.specifier
        message = f"package `{name}` has no version {specifier.version}"
        return Problem(
            "vendor/unknown-version", message, f"use the newest version, {versions[0]}", None, text
        )
    return no_wheel_problem(requirement, target, text)


def pip_failure_problem(text: str) -> Problem:
    """Build the problem from pip's last lines, if they are not about one requirement."""
    if re.search(r"No module named '?pip\b", text):
        message = "pip is required to download packages, and this Python has no pip"
        return Problem("vendor/pip-missing", message, f"run: {sys.executable} -m ensurepip")
    missing = find_missing_file(text)
    if missing is not None:
        return missing
    if _UNREACHABLE.search(text):
        return unreachable_index_problem(text)
    about_hashes = _find_hash_problem(text)
    if about_hashes is not None:
        return about_hashes
    hint = "see the output of pip above"
    return Problem("vendor/failed", "pip failed to download the packages", hint, frame=text)


def _find_hash_problem(text: str) -> Problem | None:
    """Find a file that does not match its `--hash`, or lacks one while others have one."""
    if match := _MISMATCH.search(text):
        return hash_mismatch_problem(match["name"], match["expected"], match["got"], text)
    if "Hashes are required" in text:
        match = _NO_HASH.search(text)
        return hash_missing_problem(f"`{match['name']}`" if match else "one of them", text)
    return None


def unreachable_index_problem(text: str) -> Problem:
    message = "the package index is unreachable"
    hint = "check the network and the index in the settings of pip"
    return Problem("backend/unreachable", message, hint, frame=text)


def hash_mismatch_problem(name: str, expected: str, got: str, text: str) -> Problem:
    return Problem(
        "vendor/hash-mismatch",
        f"hash mismatch for `{name}`: expected sha256 {expected}, got {got}",
        hint="lock again (delete a `requirements.lock` that fabric wrote), or correct the hash "
        "if you know why it changed: the package might be tampered with",
        frame=text,
    )


def hash_missing_problem(name: str, text: str) -> Problem:
    return Problem(
        "vendor/hash-missing",
        f"hash required: the requirements have hashes, and {name} has none",
        hint="add a version and a --hash to every requirement and to its dependencies",
        frame=text,
    )
