"""Globs and ignore rules for directories: a small subset of gitignore syntax.

`*` and `?` match within a name, `[a-z]` is a class, `**` spans directories. A pattern that ends in
a plain name also matches everything below that directory.

Ignore rules: a rule without an inner `/` applies at any depth, and a leading `/` anchors it to the
directory. A trailing `/` matches only directories, and `!` re-includes a path. The last matching
rule decides. Unlike in git, a path below an ignored directory can be re-included.
"""

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Sequence

# Never sources: fabric's own folder, version control, installed packages, Python's byte code.
PRUNED = frozenset({".git", ".hg", ".svn", ".fabric", "node_modules", "__pycache__", ".venv"})

# At the head of ignore rules: what some tool finds in those folders counts as well, and what it
# finds behind links. The folders that are links are then among the names, with a `/` at the end.
NOTHING_PRUNED = "!"
LINKS_FOLLOWED = "!@"


_MARKS = (NOTHING_PRUNED, LINKS_FOLLOWED)


def list_files(folder: str, pattern: str, ignore: Sequence[str] = ()) -> tuple[str, ...]:
    """List the matching files below `folder`, as sorted relative paths."""
    fixed, rest = split_pattern(pattern)
    matches = _compile_pattern(pattern)
    if rest and "/" not in rest and "**" not in rest:
        names = (name for name in _list_names(folder, fixed) if matches.fullmatch(name))
        return tuple(sorted(name for name in names if not is_ignored(name, _drop_marks(ignore))))
    pruned = frozenset[str]() if NOTHING_PRUNED in ignore[:1] else PRUNED
    rules = _drop_marks(ignore)
    walk = _walk_links if LINKS_FOLLOWED in ignore[:2] else _walk
    names = (name for name in walk(folder, fixed, pruned) if matches.fullmatch(name))
    return tuple(sorted(name for name in names if not is_ignored(name, rules)))


def _drop_marks(ignore: Sequence[str]) -> list[str]:
    return [rule for rule in ignore if rule not in _MARKS]


def _list_names(folder: str, fixed: str) -> Iterator[str]:
    """List the files of one directory, for patterns that match nothing below it."""
    prefix = f"{fixed}/" if fixed else ""
    with contextlib.suppress(OSError), os.scandir(os.path.join(folder, fixed)) as entries:
        yield from (prefix + one.name for one in entries if not one.is_dir())


def is_match(pattern: str, name: str) -> bool:
    """Return whether a relative path matches a pattern."""
    return _compile_pattern(pattern).fullmatch(name) is not None


def split_pattern(pattern: str) -> tuple[str, str]:
    """Split a pattern into the directory before the first wildcard, and the rest."""
    parts = _clean(pattern).split("/")
    count = next((at for at, part in enumerate(parts) if re.search(r"[*?\[]", part)), len(parts))
    return "/".join(parts[:count]), "/".join(parts[count:])


def is_ignored(name: str, rules: Sequence[str]) -> bool:
    """Return whether the last rule that matches `name` excludes it."""
    for rule in reversed(rules):
        if _compile_rule(rule.removeprefix("!")).fullmatch(name):
            return not rule.startswith("!")
    return False


def read_rules(text: str) -> tuple[str, ...]:
    """Read the rules of an ignore file: one per line; `#` starts a comment line."""
    lines = (line.rstrip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _walk(folder: str, fixed: str, pruned: frozenset[str]) -> Iterator[str]:
    start = os.path.join(folder, fixed) if fixed else folder
    if os.path.isfile(start):
        yield fixed
        return
    for parent, folders, names in os.walk(start):
        folders[:] = sorted(name for name in folders if name not in pruned)
        inside = os.path.relpath(parent, folder)
        yield from (name if inside == "." else f"{inside}/{name}" for name in names)


def _walk_links(folder: str, fixed: str, pruned: frozenset[str]) -> Iterator[str]:
    """Walk linked directories too, except links back to a directory of the current walk."""
    start = os.path.join(folder, fixed)
    if os.path.isfile(start):
        yield fixed
        return
    yield from _walk_tree(start, f"{fixed}/" if fixed else "", pruned, {os.path.realpath(start)})


def _walk_tree(top: str, prefix: str, pruned: frozenset[str], above: set[str]) -> Iterator[str]:
    links: list[str] = []
    for parent, folders, names in os.walk(top):
        inside = os.path.relpath(parent, top)
        before = "" if inside == "." else f"{inside}/"
        folders[:] = sorted(name for name in folders if name not in pruned)
        linked = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        links += (before + name for name in linked)
        yield from (prefix + before + name for name in names)
    for name in links:
        yield f"{prefix}{name}/"
        real = os.path.realpath(os.path.join(top, name))
        if real not in above:
            # Installed packages link to each other in many ways: each is looked into once.
            above_it = above | {real} if pruned else above
            above_it.add(real)
            yield from _walk_tree(os.path.join(top, name), f"{prefix}{name}/", pruned, above_it)


def _clean(pattern: str) -> str:
    return pattern.removeprefix("./").rstrip("/")


@functools.lru_cache(4096)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    clean = _clean(pattern)
    if clean in {"", "."}:
        return re.compile("(?s:.*)")
    names_a_folder = not re.search(r"[*?\[]", clean.rpartition("/")[2])
    return re.compile(_build_regex(clean) + ("(?:/.*)?" if names_a_folder else ""), re.DOTALL)


@functools.lru_cache(4096)
def _compile_rule(rule: str) -> re.Pattern[str]:
    """Compile a rule to an expression for whole relative paths."""
    body = rule.strip("/")
    anchored = "/" in rule.rstrip("/")
    below = "/.*" if rule.endswith("/") else "(?:/.*)?"
    return re.compile(("" if anchored else "(?:.*/)?") + _build_regex(body) + below, re.DOTALL)


def _build_regex(glob: str) -> str:
    pieces = re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]]+\]|.", glob, re.DOTALL)
    return "".join(_convert_piece(piece) for piece in pieces)


def _convert_piece(piece: str) -> str:
    table = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in table:
        return table[piece]
    if piece.startswith("[") and len(piece) > 1:
        inner = piece[1:-1].replace("\\", "\\\\")
        return f"[^/{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(piece)
