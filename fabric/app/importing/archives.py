"""The contents of archives: files that only one of fabric and the other tool packs.

Code is left out, because fabric bundles it. What remains are files that a function reads while it
runs, such as templates and certificates.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec.structs import replace

from fabric.app.build import build
from fabric.app.request import Request, Where
from fabric.app.settings import Settings
from fabric.importing.row_values import normalize_name
from fabric.importing.template_rows import parse_function_name
from fabric.model.names import Verb
from fabric.model.outcomes.built import BuildOutcome
from fabric.model.outcomes.imported import ArchiveDifference
from fabric.model.problems import FabricError, Problem

Archives = Mapping[str, frozenset[str]]
_CODE = frozenset(
    ".js .mjs .cjs .jsx .ts .mts .cts .tsx .map .py .pyc .pyi .go .rs .java .class .rb .so".split()
)
_MODULES = re.compile(r"(?:^|/)(?:node_modules|__pycache__|[^/]+\.(?:dist|egg)-info)/")
# Files of the project that no function reads.
_PROJECT_FILES = re.compile(
    r"(?:^|/)\.|^(?:readme|license|changelog|makefile|dockerfile)|(?:^|/)package(?:-lock)?\.json$"
    r"|\.lock$|\.md$|^(?:serverless|template|samconfig|tsconfig|requirements|pyproject|pnpm)[^/]*$"
    r"|^(?:go\.(?:mod|sum)|bootstrap|fabric\.yml)$",
    re.IGNORECASE,
)
_LAMBDA = "AWS::Lambda::Function"
_FUNCTION = "AWS::Serverless::Function"


def list_packed_archives(template: Any, folder: Path, suffix: str) -> dict[str, frozenset[str]]:
    """List the files of the archives that the other tool has written into a directory."""
    found: dict[str, frozenset[str]] = {}
    for key, one in (template.get("Resources") or {}).items():
        code = (one.get("Properties") or {}).get("Code") if one.get("Type") == _LAMBDA else None
        place = code.get("S3Key") if isinstance(code, dict) else None
        path = folder / PurePosixPath(place).name if isinstance(place, str) else folder
        if path.suffix == ".zip" and zipfile.is_zipfile(path):
            name = parse_function_name(key, suffix)
            with zipfile.ZipFile(path) as archive:
                found[normalize_name(name)] = frozenset(archive.namelist())
    return found


def list_code_folders(source: Any, folder: Path) -> dict[str, frozenset[str]]:
    """List the files of the directories that `sam build` packs."""
    shared = ((source.get("Globals") or {}).get("Function") or {}).get("CodeUri")
    found: dict[str, frozenset[str]] = {}
    for key, one in (source.get("Resources") or {}).items():
        if one.get("Type") != _FUNCTION:
            continue
        place = (one.get("Properties") or {}).get("CodeUri", shared)
        top = (folder / place).resolve() if isinstance(place, str) else folder
        if isinstance(place, str) and top.is_dir() and top.is_relative_to(folder.resolve()):
            files = (path for path in top.rglob("*") if path.is_file())
            found[normalize_name(key)] = frozenset(
                path.relative_to(top).as_posix() for path in files
            )
    return found


def compare_archives(
    folder: Path, stage: str, other: Archives, settings: Settings
) -> tuple[tuple[ArchiveDifference, ...], tuple[Problem, ...]]:
    """Package the config in a directory, and compare the archives. A failed build is a warning."""
    if not other:
        return (), ()
    try:
        own = _package(folder, stage, settings)
    except FabricError as error:
        message = f"the contents of archives were not compared: {error.first.message}"
        return (), (Problem("import/archives-not-compared", message, error.first.hint),)
    return tuple(_list_differences(own, other)), ()


def _package(folder: Path, stage: str, settings: Settings) -> dict[str, frozenset[str]]:
    request = Request(Verb.PACKAGE, "package", Where(stage=stage))
    here = replace(settings, cwd=folder)
    report = build(request, here, lambda *_: ())
    if report.problems:
        raise FabricError(*report.problems)
    rows = report.outcome.artifacts if isinstance(report.outcome, BuildOutcome) else ()
    found: dict[str, frozenset[str]] = {}
    for one in rows:
        with zipfile.ZipFile(folder / one.path) as archive:
            found[normalize_name(one.function)] = frozenset(archive.namelist())
    return found


def _list_differences(own: Archives, other: Archives) -> Iterator[ArchiveDifference]:
    for name in sorted(own.keys() & other.keys()):
        mine, theirs = set(_list_data(own[name])), set(_list_data(other[name]))
        if mine != theirs:
            yield ArchiveDifference(
                function=name,
                only_other=tuple(sorted(theirs - mine)),
                only_fabric=tuple(sorted(mine - theirs)),
            )


def _list_data(files: Iterable[str]) -> Iterator[str]:
    for one in files:
        is_code = PurePosixPath(one).suffix in _CODE or _MODULES.search(one) is not None
        if not (is_code or one.endswith("/") or _PROJECT_FILES.search(one)):
            yield one
