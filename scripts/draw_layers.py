"""Draws docs/layers.svg from the layers in pyproject.toml and the imports of the code itself."""

import sys
import tomllib
from html import escape
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "layers.svg"
WIDTH, ROW, GAP, HEIGHT, LEFT = 150, 64, 24, 36, 24


def layers() -> list[list[str]]:
    """The rows of the first contract, from the top down."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    rows = next(one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    return [[name.strip() for name in row.split("|")] for row in rows]


def arrows(names: set[str]) -> set[tuple[str, str]]:
    """Which layers import which, as far as it does not follow from others."""
    graph = grimp.build_graph("fabric", cache_dir=None)
    found: set[tuple[str, str]] = set()
    for module in graph.modules:
        parts = module.split(".")
        if len(parts) < 2 or parts[1] not in names:  # noqa: PLR2004
            continue
        others = {one.split(".")[1] for one in graph.find_modules_directly_imported_by(module)}
        found |= {(parts[1], other) for other in others & names - {parts[1]}}
    return _without_detours(found)


def _without_detours(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Arrows that follow from others are left out: who stands above may use all below."""
    whole = nx.DiGraph(sorted(found))
    return set(nx.transitive_reduction(whole).edges)


def drawing() -> str:
    rows = layers()
    widest = max(len(row) for row in rows)
    total = LEFT * 2 + widest * WIDTH + (widest - 1) * GAP
    place: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        width = len(row) * WIDTH + (len(row) - 1) * GAP
        for position, name in enumerate(row):
            x = (total - width) // 2 + position * (WIDTH + GAP)
            place[name] = (x, LEFT + number * ROW)
    height = LEFT * 2 + (len(rows) - 1) * ROW + HEIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-100 0 {total + 220} {height}" '
        'font-family="sans-serif" font-size="14">',
        "<title>The layers of fabric: every arrow runs down</title>",
        f'<rect x="-100" width="{total + 220}" height="{height}" fill="#fff"/>',
    ]
    for upper, lower in sorted(arrows(set(place))):
        (x1, y1), (x2, y2) = place[upper], place[lower]
        path = (
            _around(place[upper], place[lower], total)
            if y2 - y1 > ROW
            else f"M{x1 + WIDTH // 2} {y1 + HEIGHT} L{x2 + WIDTH // 2} {y2}"
        )
        lines.append(
            f'<path d="{path}" fill="none" stroke="#789" opacity="0.6">'
            f"<title>{upper} imports {lower}</title></path>"
        )
    for name, (x, y) in place.items():
        lines.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#eef3f8" '
            f'stroke="#456"/><text x="{x + WIDTH // 2}" y="{y + 23}" text-anchor="middle">'
            f"{escape(name)}</text>"
        )
    return "\n".join([*lines, "</svg>", ""])


def _around(upper: tuple[int, int], lower: tuple[int, int], total: int) -> str:
    """A wire past the rows between, on the side on which one of the two stands."""
    (x1, y1), (x2, y2) = upper, lower
    out = 16 * (1 + (y2 - y1) // ROW)
    if min(x1, x2) < (total - WIDTH) // 2:
        side, bend = 0, -out
    else:
        side, bend = WIDTH, total - LEFT + out
    middle, end = y1 + HEIGHT // 2, y2 + HEIGHT // 2
    return f"M{x1 + side} {middle} C{bend} {middle} {bend} {end} {x2 + side} {end}"


def main() -> int:
    """Writes the picture; with `--check` only says whether it is as the code is."""
    made = drawing()
    if "--check" in sys.argv:
        return int(not TARGET.exists() or TARGET.read_text() != made)
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
