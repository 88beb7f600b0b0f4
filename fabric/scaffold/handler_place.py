"""Where the handler of a new function goes: beside those that are there, named as they are."""

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from msgspec import Struct

from fabric.scaffold.templates import Language

_SUFFIXES = {
    ".ts": (".ts", Language.TYPESCRIPT),
    ".tsx": (".ts", Language.TYPESCRIPT),
    ".mts": (".mts", Language.TYPESCRIPT),
    ".cts": (".ts", Language.TYPESCRIPT),
    ".js": (".js", Language.JAVASCRIPT),
    ".jsx": (".js", Language.JAVASCRIPT),
    ".mjs": (".mjs", Language.JAVASCRIPT),
    ".cjs": (".js", Language.JAVASCRIPT),
    ".py": (".py", Language.PYTHON),
}
Found = TypeVar("Found", bound=Hashable)
_FOLDER = PurePosixPath("src")


class KnownHandler(Struct, frozen=True):
    """A function that is there, the path of its file, and the export that its entry names."""

    function: str
    path: str
    export: str = ""


class HandlerPlace(Struct, frozen=True):
    path: str
    entry: str
    language: Language


def handler_place(name: str, known: Sequence[KnownHandler], default: Language) -> HandlerPlace:
    """`default` is the language where no handler tells one; another runtime's do not count."""
    fitting = [one for one in known if _fits(one, default)]
    suffix, language = _most([_SUFFIXES[_path(one).suffix] for one in fitting]) or (
        f".{default.value}",
        default,
    )
    path = _folder_and_stem(_stem(name, language), fitting)
    file = f"{path.as_posix()}{suffix}"
    names_export = bool(fitting) and all(one.export for one in fitting)
    return HandlerPlace(file, f"{path.as_posix()}.handler" if names_export else file, language)


def hides_a_module(place: HandlerPlace) -> str:
    """The module of Python's own that a file at the top of the archive would stand in for."""
    path = PurePosixPath(place.path)
    is_top = place.language is Language.PYTHON and path.parent == PurePosixPath()
    return path.stem if is_top and path.stem in sys.stdlib_module_names else ""


def _fits(one: KnownHandler, default: Language) -> bool:
    found = _SUFFIXES.get(_path(one).suffix)
    return found is not None and found[1].runtime == default.runtime


def _path(one: KnownHandler) -> PurePosixPath:
    return PurePosixPath(one.path)


def _stem(name: str, language: Language) -> str:
    """A module of Python is called so that it can be imported."""
    return name.replace("-", "_") if language is Language.PYTHON else name


def _folder_and_stem(stem: str, known: Sequence[KnownHandler]) -> PurePosixPath:
    """`src/<function>`, or `functions/<function>/index` where each has a folder of its own."""
    own = [one for one in known if _has_own_folder(one)]
    if own and 2 * len(own) > len(known):
        folder = _most([_path(one).parent.parent for one in own]) or _FOLDER
        return folder / stem / (_most([_path(one).stem for one in own]) or "index")
    folder = _most([_path(one).parent for one in known]) or _FOLDER
    return folder / stem


def _has_own_folder(one: KnownHandler) -> bool:
    names = {one.function, one.function.replace("-", "_")}
    return _path(one).parent.name in names and _path(one).stem not in names


def _most(found: Sequence[Found]) -> Found | None:
    """The most frequent one, the latest of equals; None of none."""
    counts = Counter(reversed(found))
    return counts.most_common(1)[0][0] if counts else None
