"""tsconfig.json as far as look-ups care: the `extends` chain, `baseUrl` and `paths`."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fabric.system.disk import read_bytes

# Strings are matched first, so that `//` inside one is no comment.
_TOKENS = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Alias:
    """One pattern of `paths`, or the whole of `baseUrl` (`*`), and where it may lead."""

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


@dataclass(frozen=True, slots=True)
class Settings:
    """`tried` are all paths that were looked at for the chain, found or not."""

    tried: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()


def read_settings(path: str, depth: int = _DEPTH) -> Settings:
    """A tsconfig and all that it extends. What cannot be parsed says nothing."""
    document = read_jsonc(path)
    folder = os.path.dirname(path)
    own = Settings((path,), tuple(_aliases(folder, document)))
    bases = document.get("extends", ())
    names = [bases] if isinstance(bases, str) else [name for name in bases if isinstance(name, str)]
    return _joined([own, *(_extended(folder, name, depth) for name in names if depth)])


def read_jsonc(path: str) -> dict[str, Any]:
    """JSON with comments and trailing commas; anything else than an object is empty."""
    try:
        text = read_bytes(path).decode("utf-8-sig", "replace")
        # A comment first, then the comma that stood before it.
        bare = _TOKENS.sub(lambda match: match[1] or " ", text)
        document = json.loads(_TOKENS.sub(lambda match: match[1] or " ", bare))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _joined(parts: list[Settings]) -> Settings:
    return Settings(
        tuple(path for part in parts for path in part.tried),
        tuple(alias for part in parts for alias in part.aliases),
    )


def _aliases(folder: str, document: dict[str, Any]) -> Iterator[Alias]:
    options = document.get("compilerOptions")
    if not isinstance(options, dict):
        return
    base = options.get("baseUrl")
    start = os.path.join(folder, base) if isinstance(base, str) else folder
    paths = options.get("paths")
    for pattern, targets in (paths if isinstance(paths, dict) else {}).items():
        texts = [target for target in targets if isinstance(target, str)]
        yield Alias(pattern, tuple(os.path.normpath(os.path.join(start, text)) for text in texts))
    if isinstance(base, str):
        yield Alias("*", (os.path.normpath(os.path.join(start, "*")),))


def _extended(folder: str, name: str, depth: int) -> Settings:
    candidates = tuple(_extends_candidates(folder, name))
    found = next((path for path in candidates if os.path.isfile(path)), None)
    if found is None:
        return Settings(candidates)
    before = candidates[: candidates.index(found)]
    return _joined([Settings(before), read_settings(found, depth - 1)])


def _extends_candidates(folder: str, name: str) -> Iterator[str]:
    if name.startswith((".", "/")):
        yield from _forms(os.path.normpath(os.path.join(folder, name)))
        return
    for parent in ancestors(folder):
        modules = os.path.join(parent, "node_modules")
        yield os.path.join(modules, package_name(name), "package.json")
        yield from _forms(os.path.join(modules, name))


def _forms(path: str) -> tuple[str, ...]:
    return path, f"{path}.json", os.path.join(path, "tsconfig.json")


def package_name(specifier: str) -> str:
    parts = specifier.split("/")
    return "/".join(parts[: 2 if specifier.startswith("@") else 1])


def ancestors(folder: str) -> Iterator[str]:
    """The folder itself, then each one above it."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent
