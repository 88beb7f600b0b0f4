"""Requirement texts as values: pins, and locks that fabric writes. Reads no disk."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fabric.model.builds.python_target import MAIN_ONLY
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import Problem
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.runtimes.packages.git_sources import parse_git_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.requirements import Requirement

    from fabric.model.builds.python_target import OptionalDependencies, PythonTarget

_WHERE = re.compile(r"--?(i|f|extra|index|find)")
LOCK_FILE = "requirements.lock"
_CONSTRAINT = "#: constraint "
_LOCKED = "#: locked"
_LOCAL = re.compile(
    r"(?:-e|--editable)[ =]|\.{0,2}/|file:|[A-Za-z0-9._-]+(?:\[[^\]]*\])?\s*@\s*file:"
)
LOCAL_PATH = re.compile(
    r"(?:(?:-e|--editable)[ =]\s*)?(?:[A-Za-z0-9._-]+(?:\[(?P<extras>[^\]]*)\])?\s*@\s*)?"
    r"(?P<scheme>file:(?://(?=/))?)?(?P<path>[^\s;\[#]+)(?:\[(?P<more>[^\]]*)\])?"
)
# The usual line, so that few lines need a parser.
_PLAIN_PIN = re.compile(r"[A-Za-z0-9][\w.-]*(?:==\d[\w.!+]*)?(?:\s|$)")
_HASH = re.compile(r"--hash=sha256:([0-9a-fA-F]{64})")
# pip expands these in requirements.
VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")
# A list: other variables with these prefixes contain passwords, or select nothing.
_INDEX_SETTINGS = (
    "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_NO_INDEX", "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INDEX", "UV_INDEX_URL", "UV_NO_INDEX",
)  # fmt: skip
_MADE_BY = "# Locked by fabric from "
_TARGETS = "# For "


class Pin(Struct, frozen=True):
    """A pinned version."""

    name: str
    version: str
    hashes: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    # Selects the targets of a lock that it is for.
    marker: str = ""

    @property
    def line(self) -> str:
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        marker = f" ; {self.marker}" if self.marker else ""
        hashes = "".join(f" --hash=sha256:{item}" for item in sorted(self.hashes))
        return f"{normalize_package_name(self.name)}{extras}=={self.version}{marker}{hashes}"


def is_pinned(text: str) -> bool:
    """Return whether every requirement names one version; options (`-r`, `-e`, …) are never
    pinned. Repositories are, if the text is a lock: otherwise their dependencies can be missing."""
    locked = is_locked(text)
    return all(
        (locked and parse_git_line(line) is not None) or _is_pinned_line(line)
        for line in list_requirement_lines(text)
    )


def is_locked(text: str) -> bool:
    """Return whether a text is a lock, so that no dependency is added to it."""
    return any(is_own_lock(line) or line == _LOCKED for line in text.splitlines()) or has_hashes(
        text
    )


def mark_locked(text: str) -> str:
    """Mark a text with repositories as a lock."""
    return text if is_locked(text) else f"{_LOCKED}\n{text}"


def remove_git_lines(text: str) -> str:
    """Return the text without repositories."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if parse_git_line(_remove_comment(line)) is None)


def is_only_repositories(text: str) -> bool:
    """Return whether a text is a lock of repositories only, so that nothing is downloaded."""
    return is_locked(text) and all(map(parse_git_line, list_requirement_lines(text)))


def _is_pinned_line(line: str) -> bool:
    requirement = parse_requirement(line)
    if requirement is None or len(requirement.specifier) != 1:
        return False
    (specifier,) = requirement.specifier
    return specifier.operator in {"==", "==="} and not specifier.version.endswith("*")


def select_lines(text: str, target: PythonTarget) -> str:
    """Return what a pinned text selects on a target: without comments and lines for other targets,
    sorted. Indexes are part of it only without hashes: with several hashes, they are inputs of the
    wheel. Empty for an unpinned text, which can select more."""
    if not is_pinned(text):
        return ""
    lines = sorted(list_target_lines(text, target))
    around = () if has_hashes(text) else (*list_index_lines(text), *list_constraint_lines(text))
    return "".join(f"{' '.join(line.split())}\n" for line in (*lines, *around))


def list_target_lines(text: str, target: PythonTarget) -> tuple[str, ...]:
    """List the requirements whose markers apply to a target."""
    return tuple(line for line in list_requirement_lines(text) if _is_for_target(line, target))


def _is_for_target(line: str, target: PythonTarget) -> bool:
    requirement = parse_requirement(line)
    return requirement is None or is_marker_met(requirement, target.markers(), otherwise=True)


def is_marker_met(
    requirement: Requirement, environment: Mapping[str, str], extra: str = "", *, otherwise: bool
) -> bool:
    """Evaluate the marker of a requirement. `otherwise` is for markers without a meaning here."""
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate({**environment, "extra": extra})
    except (UndefinedComparison, UndefinedEnvironmentName):
        return otherwise


def parse_requirement(line: str) -> Requirement | None:
    """Return the requirement of a logical line without its `--hash` and other options; None for
    paths, options and invalid lines, which only pip reads."""
    # Takes as long to import as all of fabric's own modules for a build of Node functions.
    from packaging.requirements import InvalidRequirement, Requirement

    words = takewhile(lambda word: not word.startswith("-"), line.split(" "))
    try:
        return Requirement(" ".join(words))
    except InvalidRequirement:
        return None


def list_hashed_pins(selected: str) -> tuple[Pin, ...]:
    """Return the packages of the lines for a target, if every line has a version and SHA-256
    hashes, except for repositories."""
    lines = list_requirement_lines(selected)
    pins = [_parse_hashed_pin(line) for line in lines if parse_git_line(line) is None]
    found = tuple(pin for pin in pins if pin)
    names = {pin.name for pin in found}
    return found if len(pins) == len(found) == len(names) else ()


def _parse_hashed_pin(line: str) -> Pin | None:
    requirement = parse_requirement(line)
    options = [word for word in line.split() if word.startswith("-")]
    hashes = tuple(sorted(match[1].lower() for match in map(_HASH.fullmatch, options) if match))
    if requirement is None or not hashes or len(hashes) < len(options):
        return None
    if not _is_pinned_line(line) or str(requirement.specifier).startswith("==="):
        return None
    (specifier,) = requirement.specifier
    return Pin(normalize_package_name(requirement.name), specifier.version, hashes)


def has_hashes(text: str) -> bool:
    return "--hash=" in text


def list_requirement_lines(text: str) -> tuple[str, ...]:
    """Return logical lines without comments and without index options."""
    return tuple(line for line in _split_lines(text) if not _WHERE.match(line))


def list_numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines without comments, each with the number of its first line."""
    number, parts = 1, list[str]()
    for at, line in enumerate(text.splitlines(), 1):
        number = number if parts else at
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            joined = _remove_comment(" ".join(parts))
            parts = []
            if joined:
                yield number, joined


def find_line_problem(line: str) -> Problem | None:
    """Find what is wrong with a logical line of a requirements file."""
    if line.startswith("--no-binary"):
        message = f"`{line}` is not supported: fabric packs wheels and does not build sources"
        hint = "remove the option, and choose versions that have a wheel"
        return Problem("input/requirement-option", message, hint)
    is_other = line.startswith("-") or any(part in line for part in ("/", "${", "@", ".whl"))
    if is_other or _PLAIN_PIN.match(line) or parse_requirement(line) is not None:
        return None
    message = f"`{redact_userinfo(line)}` is not a valid requirement"
    return Problem("input/bad-requirement", message, "write it as NAME==VERSION, or remove it")


def list_index_lines(text: str) -> tuple[str, ...]:
    """Return the options that select package indexes."""
    return tuple(line for line in _split_lines(text) if _WHERE.match(line))


def list_index_variables(lines: Iterable[str]) -> frozenset[str]:
    """Return the environment variables that select indexes beside these index options, or in them.
    Variables in user names and passwords do not count."""
    named = (VARIABLE.findall(redact_userinfo(line)) for line in lines)
    return frozenset(_INDEX_SETTINGS).union(*named)


def hash_indexes(lines: Iterable[str], environment: Mapping[str, str]) -> str:
    """Hash index options of requirements and index settings of the environment, without user names
    and passwords."""
    redacted = map(redact_userinfo, lines)
    expanded = (
        VARIABLE.sub(lambda name: environment.get(name[1], name[0]), line) for line in redacted
    )
    settings = (
        f"{name}={' '.join(environment[name].split())}"
        for name in _INDEX_SETTINGS
        if environment.get(name)
    )
    return hash_fields(map(redact_userinfo, (*expanded, *settings)))


def format_constraint_line(line: str) -> str:
    """Format a line of a constraints file for a text with the requirements."""
    return f"{_CONSTRAINT}{line}\n"


def list_constraint_lines(text: str) -> tuple[str, ...]:
    """Return the lines that constrain versions without requiring a package."""
    lines = (line.removeprefix(_CONSTRAINT) for line in text.splitlines() if _is_constraint(line))
    return tuple(lines)


def list_constrained_names(text: str) -> frozenset[str]:
    """Return the packages whose versions a constraints file limits."""
    names = map(read_required_name, list_constraint_lines(text))
    return frozenset(map(normalize_package_name, names))


def _is_constraint(line: str) -> bool:
    return line.startswith(_CONSTRAINT)


def find_bare_names(text: str, among: Iterable[str]) -> tuple[str, ...]:
    """Return those of these packages that are required without a version or anything else."""
    wanted = frozenset(among)
    names = (parse_bare_name(line) for line in list_requirement_lines(text))
    return tuple(sorted({name for name in names if name in wanted}))


def parse_bare_name(line: str) -> str:
    """Return the package that a line requires in any version; empty for all other lines."""
    bare = _remove_comment(line)
    requirement = None if " -" in bare else parse_requirement(bare)
    if requirement is None or requirement.specifier or requirement.extras or requirement.url:
        return ""
    return normalize_package_name(requirement.name)


def remove_packages(text: str, names: Iterable[str]) -> str:
    """Return the text without the lines that require one of these in any version."""
    left_out = frozenset(names)
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if parse_bare_name(line) not in left_out)


def lock_name(without: Iterable[str], optional: OptionalDependencies = MAIN_ONLY) -> str:
    """Return the name of a lock. A lock without the provider's packages, or with optional ones,
    has a different name."""
    names = {"without": "-".join(without), "with": "-".join(map("-".join, optional.pairs))}
    parts = "".join(f".{kind}-{listed}" for kind, listed in names.items() if listed)
    return f"requirements{parts}.lock"


def _split_lines(text: str) -> Iterator[str]:
    joined = re.sub(r"\\\r?\n", " ", text)
    return filter(None, map(_remove_comment, joined.splitlines()))


def _remove_comment(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line).strip()


def list_required_names(text: str) -> frozenset[str]:
    names = map(read_required_name, list_requirement_lines(text))
    return frozenset(map(normalize_package_name, names))


def read_required_name(line: str) -> str:
    """Return the name of the required package. An invalid line has one too: pip might accept it."""
    requirement = parse_requirement(line)
    return requirement.name if requirement else re.split(r"[^\w.-]", line, maxsplit=1)[0]


def normalize_package_name(name: str) -> str:
    from packaging.utils import canonicalize_name

    return canonicalize_name(name)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError, also for texts that are nested too deeply."""
    import tomllib  # few projects have one: the others pay for no parser

    try:
        return tomllib.loads(text)
    except RecursionError:
        message = "nested too deeply"
        raise ValueError(message) from None


def read_project_requirements(pyproject: str) -> str:
    """Return `[project.dependencies]` as a requirements text. Raises ValueError for bad TOML."""
    if not pyproject:
        return ""
    dependencies = parse_toml(pyproject).get("project", {}).get("dependencies", [])
    return "".join(f"{item}\n" for item in dependencies)


def find_local_paths(text: str) -> tuple[str, ...]:
    """Return lines that name a directory or file in place of a package: `-e .`, `./libs/foo`."""
    return tuple(line for line in list_requirement_lines(text) if _LOCAL.match(line))


def find_local_path(line: str) -> str:
    """Return the path in a line that `find_local_paths` found; empty for other forms."""
    found = LOCAL_PATH.fullmatch(line)
    if found is None:
        return ""
    from urllib.parse import unquote

    return unquote(found["path"]) if found["scheme"] else found["path"]


def render_lock(
    source_name: str,
    source: str,
    pins: Iterable[Pin],
    targets: Iterable[str] = (),
    repositories: Iterable[str] = (),
) -> str:
    """Render a lock. Its versions and hashes were chosen for `targets`. `repositories` are lines
    without logins."""
    ordered = sorted(pins, key=lambda pin: (normalize_package_name(pin.name), pin.version))
    head = f"{_MADE_BY}{source_name} {_hash_source(source)}"
    return "\n".join(
        [head, _TARGETS + " ".join(sorted(targets)), *(pin.line for pin in ordered),
         *sorted(repositories), ""]
    )  # fmt: skip


def is_target_missing(text: str, target: str) -> bool:
    """Return whether a lock of fabric was made for other targets, so that its hashes are of other
    wheels."""
    if not is_own_lock(text):
        return False
    lines = (line for line in text.splitlines() if line.startswith(_TARGETS))
    return target not in next(lines, "").removeprefix(_TARGETS).split(" ")


def is_own_lock(text: str) -> bool:
    return text.startswith(_MADE_BY)


def lock_is_current(lock: str, sources: Iterable[tuple[str, str]]) -> bool:
    """Return whether a lock can be used. A lock of another tool always counts; fabric's only for
    its source text."""
    if not is_own_lock(lock):
        return True
    heads = {f"{_MADE_BY}{name} {_hash_source(text)}" for name, text in sources}
    return lock.partition("\n")[0] in heads


def _hash_source(source: str) -> str:
    # A digest of a password would be as good as the password to who tries them all.
    shown = redact_userinfo(source)
    lines = (
        *list_requirement_lines(shown),
        *map(format_constraint_line, list_constraint_lines(shown)),
    )
    return hash_bytes("\n".join(lines).encode())


def no_wheel_problem(requirement: str, target: PythonTarget, frame: str = "") -> Problem:
    """Build the problem for a requirement that the target cannot install."""
    machine = target.architecture or "x86_64"
    return Problem(
        "vendor/no-wheel",
        f"`{requirement}` has no wheel for Python {target.python} on Linux ({machine})",
        hint="choose a version with a wheel: source packages are not built",
        frame=frame,
    )
