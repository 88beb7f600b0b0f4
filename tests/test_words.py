"""One name means one thing in the whole house."""

import ast
from collections import defaultdict
from pathlib import Path

FABRIC = Path(__file__).parents[1] / "fabric"


def class_names() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(FABRIC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(str(path.relative_to(FABRIC)))
    return found


def test_no_class_name_means_two_things() -> None:
    assert {name: places for name, places in class_names().items() if len(places) > 1} == {}
