"""The parts of tsconfig.json that affect lookups: the `extends` chain, `baseUrl` and `paths`.

All candidate files of a chain are recorded, and all directories that `paths` can start from. The
bundler decides which one is used. An extra lookup costs a build; a missing one would give a stale
archive.
"""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from fabric.runtimes.nodejs import export_maps
from fabric.system.files.disk import read_bytes

# Strings are matched first, so that `//` inside one is no comment.
_TOKENS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_CONFIG_FOLDER = "${configDir}"
# A chain that goes in a circle is the compiler's to refuse.
_DEEPEST = 16


class Alias(Struct, frozen=True):
    """One pattern of `paths`, or `baseUrl` as a whole (`*`), with its possible targets."""

    pattern: str
    targets: tuple[str, ...]

    def candidates(self, specifier: str) -> tuple[str, ...]:
        before, star, after = self.pattern.partition("*")
        if not star:
            return self.targets if specifier == before else ()
        if not (specifier.startswith(before) and specifier.endswith(after)):
            return ()
        middle = specifier[len(before) : len(specifier) - len(after)]
        return tuple(os.path.normpath(target.replace("*", middle)) for target in self.targets)


class TsSettings(Struct, frozen=True):
    """The settings of a chain."""

    # All paths checked for it, found or not.
    tried: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()


class _Part(Struct, frozen=True):
    """One file of a chain."""

    # Its real directory, to which its paths are relative.
    folder: str
    document: dict[str, Any]

    def option(self, name: str) -> Any:
        options = self.document.get("compilerOptions")
        return options.get(name) if isinstance(options, dict) else None

    @property
    def extends(self) -> tuple[str, ...]:
        named = self.document.get("extends")
        names = named if isinstance(named, list) else [named]
        return tuple(name for name in names if isinstance(name, str) and name)


def read_settings(path: str) -> TsSettings:
    """Read a tsconfig with everything that it extends. An invalid file counts as empty."""
    tried = [path]
    parts: dict[str, _Part] = {}
    waiting = [path]
    while waiting:
        real = os.path.realpath(waiting.pop())
        if real in parts:
            continue
        parts[real] = part = _Part(os.path.dirname(real), read_jsonc(real))
        tried.append(real)
        for name in part.extends:
            configs = tuple(_list_config_files(part.folder, name))
            tried += [*configs, *_list_manifests(part.folder, name)]
            waiting += filter(os.path.isfile, configs)
    return TsSettings(
        tuple(tried), tuple(_list_aliases(os.path.dirname(path), list(parts.values())))
    )


def read_options(path: str, depth: int = 0) -> dict[str, Any]:
    """Read the compiler options of a tsconfig and of its base configs; the nearest take
    precedence."""
    if depth > _DEEPEST:
        return {}
    real = os.path.realpath(path)
    part = _Part(os.path.dirname(real), read_jsonc(real))
    options: dict[str, Any] = {}
    for name in part.extends:
        found = next(filter(os.path.isfile, _list_config_files(part.folder, name)), None)
        options |= read_options(found, depth + 1) if found else {}
    own = part.document.get("compilerOptions")
    return options | own if isinstance(own, dict) else options


def read_jsonc(path: str) -> dict[str, Any]:
    """Read JSON with comments and trailing commas; anything except an object counts as empty."""
    try:
        text = read_bytes(path).decode("utf-8-sig", "replace")
        # A comment first, then the comma that stood before it.
        bare = _TOKENS.sub(lambda match: match[1] or " ", text)
        plain = _TOKENS.sub(lambda match: match[1] or " ", bare)
        # Of two equal keys the bundler takes the first.
        document = json.loads(plain, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _list_aliases(config_folder: str, parts: list[_Part]) -> Iterator[Alias]:
    """Combine `baseUrl` and `paths`, which can be in different files."""
    bases = [
        os.path.join(part.folder, _fill_config_dir(base, config_folder))
        for part in parts
        if isinstance(base := part.option("baseUrl"), str)
    ]
    for part in parts:
        paths = part.option("paths")
        for pattern, targets in (paths if isinstance(paths, dict) else {}).items():
            names = [
                _fill_config_dir(name, config_folder) for name in targets if isinstance(name, str)
            ]
            starts = (*bases, part.folder)
            led = [os.path.join(start, name) for start in starts for name in names]
            yield Alias(pattern, tuple(dict.fromkeys(map(os.path.normpath, led))))
    for base in dict.fromkeys(bases):
        yield Alias("*", (os.path.normpath(os.path.join(base, "*")),))


def _fill_config_dir(name: str, config_folder: str) -> str:
    """Replace `${configDir}`, the directory of the first file of the chain."""
    if not name.startswith(_CONFIG_FOLDER):
        return name
    return os.path.normpath(f"{config_folder}/{name.removeprefix(_CONFIG_FOLDER)}")


def _list_config_files(folder: str, name: str) -> Iterator[str]:
    """Yield the files that a name in `extends` can mean, never a package's manifest."""
    if not _is_package(name):
        yield from _list_forms(os.path.normpath(os.path.join(folder, name)))
        return
    for modules in _list_module_folders(folder):
        yield from _list_exported(f"{modules}/{package_name(name)}", name)
        yield from _list_forms(os.path.normpath(f"{modules}/{name}"))


def _list_exported(package: str, name: str) -> Iterator[str]:
    """Yield the targets in a package's manifest: its `tsconfig` field and its `exports`."""
    document = read_jsonc(f"{package}/package.json")
    if isinstance(field := document.get("tsconfig"), str):
        yield from _list_forms(os.path.normpath(os.path.join(package, field)))
    subpath = export_maps.find_subpath(name, package_name(name))
    for target in export_maps.list_targets(document.get("exports"), subpath):
        yield os.path.normpath(f"{package}/{target}")


def _list_manifests(folder: str, name: str) -> Iterator[str]:
    """Yield the manifests that decide which file a package name means."""
    for modules in _list_module_folders(folder) if _is_package(name) else ():
        yield f"{modules}/{package_name(name)}/package.json"


def _list_module_folders(folder: str) -> Iterator[str]:
    above = (
        parent for parent in list_ancestors(folder) if os.path.basename(parent) != "node_modules"
    )
    return (os.path.join(parent, "node_modules") for parent in above)


def _is_package(name: str) -> bool:
    return not name.startswith((".", "/"))


def _list_forms(path: str) -> tuple[str, ...]:
    return path, f"{path}.json", os.path.join(path, "tsconfig.json")


def package_name(specifier: str) -> str:
    parts = specifier.split("/")
    return "/".join(parts[: 2 if specifier.startswith("@") else 1])


def list_ancestors(folder: str) -> Iterator[str]:
    """Yield the directory itself, then each parent."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent
