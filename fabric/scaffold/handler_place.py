"""Choose the file of a new handler, beside existing ones and with the same naming."""

import sys
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import PurePosixPath
from typing import TypeVar

from msgspec import Struct

from fabric.scaffold.languages import Language

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
    """An existing function with its file and export."""

    function: str
    path: str
    export: str = ""


class HandlerPlace(Struct, frozen=True):
    path: str
    entry: str
    language: Language


def choose_handler_place(
    name: str, known: Sequence[KnownHandler], default: Language
) -> HandlerPlace:
    """Choose the place. `default` is the language without existing handlers; other runtimes are
    ignored."""
    fitting = [one for one in known if _is_matching_handler(one, default)]
    suffix, language = _find_most_frequent(
        [_SUFFIXES[_build_handler_path(one).suffix] for one in fitting]
    ) or (
        f".{default.value}",
        default,
    )
    path = _choose_folder(_choose_stem(name, language), fitting)
    file = f"{path.as_posix()}{suffix}"
    names_export = bool(fitting) and all(one.export for one in fitting)
    return HandlerPlace(file, f"{path.as_posix()}.handler" if names_export else file, language)


def find_hidden_module(place: HandlerPlace) -> str:
    """Return the Python standard module that a top-level file would hide."""
    path = PurePosixPath(place.path)
    is_top = place.language is Language.PYTHON and path.parent == PurePosixPath()
    return path.stem if is_top and path.stem in sys.stdlib_module_names else ""


def _is_matching_handler(one: KnownHandler, default: Language) -> bool:
    found = _SUFFIXES.get(_build_handler_path(one).suffix)
    return found is not None and found[1].runtime == default.runtime


def _build_handler_path(one: KnownHandler) -> PurePosixPath:
    return PurePosixPath(one.path)


def _choose_stem(name: str, language: Language) -> str:
    """Choose an importable module name."""
    return name.replace("-", "_") if language is Language.PYTHON else name


def _choose_folder(stem: str, known: Sequence[KnownHandler]) -> PurePosixPath:
    """Choose `src/<function>`, or `functions/<function>/index` if each handler has its own
    directory."""
    own = [one for one in known if _has_own_folder(one)]
    if own and 2 * len(own) > len(known):
        folder = (
            _find_most_frequent([_build_handler_path(one).parent.parent for one in own]) or _FOLDER
        )
        return (
            folder
            / stem
            / (_find_most_frequent([_build_handler_path(one).stem for one in own]) or "index")
        )
    folder = _find_most_frequent([_build_handler_path(one).parent for one in known]) or _FOLDER
    return folder / stem


def _has_own_folder(one: KnownHandler) -> bool:
    names = {one.function, one.function.replace("-", "_")}
    return (
        _build_handler_path(one).parent.name in names and _build_handler_path(one).stem not in names
    )


def _find_most_frequent(found: Sequence[Found]) -> Found | None:
    """Find the most frequent one; of equals the latest, None without any."""
    counts = Counter(reversed(found))
    return counts.most_common(1)[0][0] if counts else None
