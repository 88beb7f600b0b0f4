"""Run pip in a child as if on the target: only built-ins and pip, so that any Python can start it.

pip's flags choose wheels for another machine. But pip evaluates environment markers, also of
transitive requirements, for its own Python. Here they are evaluated for the target.
"""

import importlib
import json
import re
import runpy
import sys
import zipfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

MISSING = "missing"
_MARKERS = "pip._vendor.packaging.markers"
_REQUIREMENTS = "pip._vendor.packaging.requirements"
_PROBE = "platform_machine == 'target' and python_version == '0.0'"


def override_markers(environment: dict[str, str]) -> None:
    """Evaluate markers for this environment from now on; exits if this pip does not support it."""
    markers = importlib.import_module(_MARKERS)
    told = {**environment, "platform_machine": "target", "python_version": "0.0"}
    markers.default_environment = lambda: dict(told)  # type: ignore[attr-defined]
    if not markers.Marker(_PROBE).evaluate():
        sys.exit("install another version of pip: this one does not accept a target environment")
    told.clear()
    told.update(environment)


def find_unmet_dependencies(folder: Path, requirements: str) -> list[tuple[str, str]]:
    """Return the unmet dependencies of wheels in a directory, each with its first dependent."""
    extras = dict(_parse_extras(requirements))
    needs = [need for wheel in sorted(folder.glob("*.whl")) for need in _list_needs(wheel, extras)]
    there = {_normalize_name(wheel.name.partition("-")[0]) for wheel in folder.glob("*.whl")}
    found: dict[str, str] = {}
    for owner, name in needs:
        if name not in there:
            found.setdefault(name, owner)
    return sorted(found.items())


def _parse_extras(requirements: str) -> Iterator[tuple[str, frozenset[str]]]:
    for line in requirements.splitlines():
        if match := re.match(r"\s*([\w.-]+)\s*\[([^\]]*)\]", line):
            yield _normalize_name(match[1]), frozenset(part.strip() for part in match[2].split(","))


def _list_needs(wheel: Path, extras: dict[str, frozenset[str]]) -> Iterator[tuple[str, str]]:
    made: Any = importlib.import_module(_REQUIREMENTS).Requirement
    metadata = _read_metadata(wheel)
    owner = _normalize_name(wheel.name.partition("-")[0])
    for text in metadata.get_all("Requires-Dist") or []:
        requirement = made(text)
        if _is_applicable(requirement.marker, ("", *extras.get(owner, ()))):
            yield owner, _normalize_name(requirement.name)


def _read_metadata(wheel: Path) -> Any:
    with zipfile.ZipFile(wheel) as bundle:
        names = bundle.namelist()
        name = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return HeaderParser().parsestr(bundle.read(name).decode("utf-8", "replace"))


def _is_applicable(marker: Any, extras: Iterable[str]) -> bool:
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def _normalize_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main(environment: str, command: str, *arguments: str) -> None:
    override_markers(json.loads(environment))
    if command == MISSING:
        sys.stdout.write(json.dumps(find_unmet_dependencies(Path(arguments[0]), sys.stdin.read())))
        return
    sys.argv = ["pip", command, *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
