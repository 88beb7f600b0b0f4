"""The texts of all problems, by area, so that a change of wording is reviewed as a diff.

`python -m tests.support.problem_list` writes `tests/messages/` again.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

_FABRIC = Path(__file__).parents[2] / "fabric"
FOLDER = Path(__file__).parents[1] / "messages"
_FIELDS = ("code", "message", "hint")
_Texts = Mapping[str, list[str]]


def problem_files() -> dict[str, str]:
    """Name and content of each file: an area of codes, with every message and hint."""
    found: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for path in sorted(_FABRIC.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "Problem(" not in source:
            continue
        for codes, message, hint in _problems(ast.parse(source)):
            for code in codes:
                found[code.partition("/")[0]][code].add((message, hint))
    return {f"{area}.txt": _listed(codes) for area, codes in sorted(found.items())}


def _listed(codes: Mapping[str, set[tuple[str, str]]]) -> str:
    lines = []
    for code, texts in sorted(codes.items()):
        lines.append(code)
        for message, hint in sorted(texts):
            lines.append(f"  {message}")
            lines += [f"    hint: {hint}"] if hint else []
        lines.append("")
    return "\n".join(lines)


def _problems(tree: ast.Module) -> Iterator[tuple[list[str], str, str]]:
    module = _assigned(tree.body)
    for scope in ast.walk(tree):
        if isinstance(scope, ast.FunctionDef):
            calls = [one for one in ast.walk(scope) if _is_problem(one)]
            local = {**module, **_assigned(scope.body)} if calls else {}
            for call in calls:
                yield from _texts_of(call, local)


def _is_problem(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem"


def _texts_of(call: ast.Call, known: _Texts) -> Iterator[tuple[list[str], str, str]]:
    given = dict(zip(_FIELDS, call.args, strict=False))
    given |= {one.arg: one.value for one in call.keywords if one.arg}
    codes, messages, hints = (_shown(given.get(name), known) for name in _FIELDS)
    plain = [code for code in codes if "/" in code and "{" not in code]
    if plain:
        yield plain, " | ".join(messages), " | ".join(hints)


def _assigned(body: list[ast.stmt]) -> dict[str, list[str]]:
    """Texts by the names that they are assigned to, at any depth."""
    found: dict[str, list[str]] = defaultdict(list)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] += _shown(node.value, {})
    return found


def _shown(node: ast.expr | None, known: _Texts) -> list[str]:
    """The literal that an expression is, or the ways that it can be; else its source in braces."""
    match node:
        case None | ast.Constant() | ast.JoinedStr():
            return [_literal(node)]
        case ast.IfExp(body=one, orelse=other):
            return [*_shown(one, known), *_shown(other, known)]
        case ast.BoolOp(values=values):
            return [text for one in values for text in _shown(one, known)]
        case ast.Name(id=name) if known.get(name):
            return list(dict.fromkeys(known[name]))
        case _:
            return [f"{{{ast.unparse(node)}}}"]


def _literal(node: ast.expr | None) -> str:
    match node:
        case ast.JoinedStr(values=values):
            return "".join(_literal(one) for one in values)
        case ast.FormattedValue(value=value):
            return f"{{{ast.unparse(value)}}}"
        case ast.Constant(value=str(text)):
            return text
        case _:
            return ""


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name, text in problem_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
