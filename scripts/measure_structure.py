"""How the code is laid out, as numbers: `python scripts/measure_structure.py [CHECKOUT]`.

For each package with files of its own: these files, the imports between them, and how many stand
on each other at most. Then class names that mean two things, and how often a type is `Any`.
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_MANY = 10


def report(checkout: Path) -> Iterator[str]:
    sources = {path: path.read_text() for path in sorted((checkout / "fabric").rglob("*.py"))}
    imports = {_module(checkout, path): set(_imported(text)) for path, text in sources.items()}
    yield "package                         files  imports  levels"
    for package, members in sorted(_packages(imports).items()):
        if len(members) >= _MANY:
            inner = {one: imports[one] & members - {one} for one in members}
            count = sum(map(len, inner.values()))
            yield f"{package:<30} {len(members):>6} {count:>8} {_levels(inner):>7}"
    lines = sum(text.count("\n") for text in sources.values())
    anys = sum(len(re.findall(r"\bAny\b", text)) for text in sources.values())
    yield f"class names that mean two things: {_homonyms(sources)}"
    yield f"Any: {anys} in {lines:,} lines, {1000 * anys / lines:.1f} in 1,000"


def _module(checkout: Path, path: Path) -> str:
    return ".".join(path.relative_to(checkout).with_suffix("").parts)


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def _packages(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module in imports:
        package, _, name = module.rpartition(".")
        if name != "__init__":
            found.setdefault(package, set()).add(module)
    return found


def _levels(imports: Mapping[str, set[str]]) -> int:
    """How many files stand on each other; what imports itself in a circle counts once."""
    height: dict[str, int] = {}

    def of(module: str, above: frozenset[str]) -> int:
        if module not in height:
            below = imports[module] - above
            height[module] = 1 + max((of(one, above | {module}) for one in below), default=0)
        return height[module]

    return max(of(module, frozenset({module})) for module in imports)


def _homonyms(sources: Mapping[Path, str]) -> int:
    found: dict[str, int] = {}
    for text in sources.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")] = found.get(node.name.lstrip("_"), 0) + 1
    return sum(count > 1 for count in found.values())


if __name__ == "__main__":
    lines = report(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    sys.stdout.writelines(f"{line}\n" for line in lines)
