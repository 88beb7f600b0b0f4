"""Counts of phrases that readers have to decode, in everything that users and contributors read.

`python -m tests.support.plain_words` prints where they are; with `--lower` it lowers the counts
that are stored in `tests/words.json`. A stored count is never raised.
"""

import ast
import gc
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

from fabric.cli.daemon.main import fabricd
from fabric.cli.main import build_root
from tests.support.function_names import function_names, is_participle, is_verb

REPO = Path(__file__).parents[2]
STORED = Path(__file__).parents[1] / "words.json"
_NOUN_PHRASES = r"is|are|was|were|has|have|may|can|it|a|an|the|you|runs?|goes|stands|keeps?"
# A phrase, and what to write in its place.
PHRASES = {
    r"(?<!there )\b(?:is|are|was|were|knows|takes|gives) no (?!longer\b|more\b)\w+": "is not",
    rf"(?:^|[.;:,(]\s*|\b(?:of|to|by|for|and|with|from)\s+)"
    rf"(?:what|who|whoever|whom)\s+(?:{_NOUN_PHRASES})\b": "a noun",
    r"\b(?:one|ones|those|that) (?:that|who|which)\b": "the noun again",
    r"\b(?:goes|gone|takes? away|taken away)\b": "is deleted, is removed, is missing",
    r"\b(?:says|said)\b": "prints, reports, contains",
    r"\b(?:tells?|told)\b": "prints, reports, shows, warns",
    r"\b(?:nobody|somebody|whoever)\b": "no user, another user, another process",
    r"\b(?:leads|led)\b": "routes to, points to, causes",
    r"\b(?:meets|met)\b": "reaches, receives",
    r"\b(?:stands|stood)\b": "is, is listed, appears",
    r"\b(?:lies|lie|lay)\b": "is stored in, is in",
    r"\bback ends?\b": "backend",
    r"\bplug-ins?\b": "plugin",
    r"\bways? back\b|\b(?:puts?|takes?|taken|goes|gone) (?:\w+ )?back\b": "restore, roll back",
    r"\bof (?:then|now)\b": "previous, current",
    r"\b(?:small|capital|\d+) letters\b": "lowercase, N characters",
    r"\b(?:any more|no more)\b": "no longer",
    r"\brights\b": "permissions",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair",
    r"\bas (?:it is |they are )?(?:wanted|asked)\b": "up to date, expected",
    r"\bso (?:long|many)\b(?! as)": "how long, up to N",
    r"\b(?:heed\w*|hears?|heard|hence)\b": "receives, reads",
    r"\b(?:of (?:its|your|their) own|by (?:itself|themselves))\b": "custom, separate",
}
_COMPILED = {re.compile(pattern, re.IGNORECASE): advice for pattern, advice in PHRASES.items()}
_PRODUCTS = "Kubernetes|Vercel|Netlify|Cloudflare|Node|Python|Google|Alibaba|Azure|X"
_SUMMARY, _OPTION, _MESSAGE, _HINT, _SENTENCE = 60, 90, 140, 160, 30


class Text(NamedTuple):
    where: str
    text: str


def sentences(text: str) -> list[str]:
    """Sentences of Markdown, without code blocks; code in a line counts as a word."""
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    blocks = re.split(r"\n\s*\n|\n(?=[#|*\-]|\d+\. )", text)
    cut = re.compile(r"(?<=[.!?])\s+|\s\|\s")
    found = (one.strip() for block in blocks for one in cut.split(block.replace("\n", " ")))
    return [one for one in found if len(one.split()) >= 4]


def _guides() -> Iterator[Text]:
    pages = [REPO / "README.md", REPO / "SECURITY.md", REPO / "CONTRIBUTING.md"]
    pages += sorted(REPO.glob("docs/**/*.md"))
    pages += sorted(REPO.glob("sdk/*/README.md"))
    for page in pages:
        for sentence in sentences(page.read_text(encoding="utf-8")):
            yield Text(str(page.relative_to(REPO)), sentence)


def _commands(group: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            if command := group.get_command(context, name):
                yield from _commands(command, f"{path} {name}")


def commands() -> list[tuple[str, click.Command]]:
    return [*_commands(build_root(), "fabric"), ("fabricd", fabricd)]


def _help_texts() -> Iterator[Text]:
    for path, command in commands():
        for sentence in sentences(command.help or ""):
            yield Text(path, sentence)
        for option in command.params:
            if isinstance(option, click.Option) and option.help:
                yield Text(f"{path} {option.opts[-1]}", option.help)


@cache
def _modules() -> tuple[tuple[Path, ast.Module], ...]:
    """They are kept, so a search for garbage among them, which doubles the time, finds nothing."""
    paths = sorted((REPO / "fabric").rglob("*.py"))
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        trees = tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)
    finally:
        if was_enabled:
            gc.enable()
    return trees


@cache
def _nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree))


def _docstring_nodes(tree: ast.Module) -> Iterator[tuple[int, ast.Constant]]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in _nodes(tree):
        if isinstance(node, kinds) and node.body and isinstance(node.body[0], ast.Expr):
            value = node.body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.lineno, value


def _text_of(node: ast.AST) -> str:
    """The text of a literal; placeholders are `X`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text_of(one) if isinstance(one, ast.Constant) else "X" for one in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _code_texts() -> Iterator[Text]:
    for path, tree in _modules():
        skipped = {id(node) for _, node in _docstring_nodes(tree)}
        skipped |= {
            id(one)
            for node in _nodes(tree)
            if isinstance(node, ast.JoinedStr)
            for one in node.values
        }
        for node in _nodes(tree):
            text = "" if id(node) in skipped else _text_of(node)
            if len(text.split()) >= 4 and isinstance(node, ast.Constant | ast.JoinedStr):
                yield Text(f"{path.relative_to(REPO)}:{node.lineno}", text)


def _docstrings() -> Iterator[Text]:
    for path, tree in _modules():
        for line, node in _docstring_nodes(tree):
            for sentence in sentences(str(node.value)):
                yield Text(f"{path.relative_to(REPO)}:{line}", sentence)


def _descriptions(value: object, where: str) -> Iterator[Text]:
    if isinstance(value, dict):
        text = value.get("description")
        if isinstance(text, str):
            yield Text(where, text)
        for one in value.values():
            yield from _descriptions(one, where)
    elif isinstance(value, list):
        for one in value:
            yield from _descriptions(one, where)


def _schema_texts() -> Iterator[Text]:
    seen = set()
    for path in sorted((REPO / "schemas").glob("*.json")):
        for one in _descriptions(json.loads(path.read_text(encoding="utf-8")), path.name):
            if one not in seen:
                seen.add(one)
                yield one


def _page_texts() -> Iterator[Text]:
    folder = REPO / "fabric/daemon/page/files"
    for path in sorted((*folder.glob("*.js"), *folder.glob("*.html"))):
        content = re.sub(r"//.*|/\*.*?\*/", "", path.read_text(encoding="utf-8"))
        for text in re.findall(r"\"([^\"\n]+)\"|`([^`]+)`|>([^<>{}]+)<", content):
            found = " ".join(text).strip()
            if len(found.split()) >= 4:
                yield Text(path.name, found)


@cache
def problem_texts() -> tuple[tuple[str, Text], ...]:
    """Messages and hints: literals of `Problem(...)`, or given to names called so."""
    return tuple(_problem_texts())


def _problem_texts() -> Iterator[tuple[str, Text]]:
    for path, tree in _modules():
        for node in _nodes(tree):
            pairs: list[tuple[str, ast.AST]] = []
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                pairs = [(node.targets[0].id, node.value)]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem":
                pairs = list(zip(("code", "message", "hint"), node.args, strict=False))
                pairs += [(one.arg or "", one.value) for one in node.keywords]
            for kind, value in pairs:
                text = _text_of(value)
                if kind in {"message", "hint"} and text:
                    yield kind, Text(f"{path.relative_to(REPO)}:{value.lineno}", text)  # type: ignore[attr-defined]


AREAS: dict[str, Callable[[], Iterable[Text]]] = {
    "help": _help_texts,
    "messages": lambda: (text for _, text in problem_texts()),
    "code": _code_texts,
    "schema": _schema_texts,
    "dashboard": _page_texts,
    "guides": _guides,
    "docstrings": _docstrings,
}


@cache
def found_in(area: str) -> list[tuple[Text, str]]:
    """Each text of an area with a phrase, and what to write in its place."""
    return [
        (one, advice)
        for one in AREAS[area]()
        for pattern, advice in _COMPILED.items()
        if pattern.search(one.text)
    ]


def _long(rule: str, texts: Iterable[Text], most: int) -> Iterator[tuple[str, Text]]:
    return ((f"{rule} over {most} characters", one) for one in texts if len(one.text) > most)


def _of_kind(kind: str) -> Iterator[Text]:
    return (text for found, text in problem_texts() if found == kind)


def shapes() -> list[tuple[str, Text]]:
    """Texts that are too long or have another form than their place asks for, with the rule."""
    single = [(path, one) for path, one in commands() if not isinstance(one, click.Group)]
    summaries = (Text(path, (one.help or "").split("\n\n")[0]) for path, one in single)
    options = (one for one in _help_texts() if " -" in one.where)
    capital = re.compile(rf"(?!{_PRODUCTS})[A-Z][a-z]")
    guides = [one for one in _guides() if len(one.text.split()) > _SENTENCE]
    return [
        *_long("command summary", summaries, _SUMMARY),
        *_long("option help", options, _OPTION),
        *_long("message", _of_kind("message"), _MESSAGE),
        *_long("hint", _of_kind("hint"), _HINT),
        *(
            ("message that begins with a capital", one)
            for one in _of_kind("message")
            if capital.match(one.text)
        ),
        *(("final period", one) for _, one in problem_texts() if one.text.endswith(".")),
        *((f"guide sentence over {_SENTENCE} words", one) for one in guides),
    ]


def names() -> dict[str, int]:
    """Function names by their form, in per cent of all, rounded down."""
    listed = [name for _, tree in _modules() for name in function_names(_nodes(tree))]
    return {
        "names that begin with no verb, %": 100 - 100 * sum(map(is_verb, listed)) // len(listed),
        "names that begin with a participle, %": 100
        * sum(map(is_participle, listed))
        // len(listed),
    }


def counts() -> dict[str, int]:
    found = {area: len(found_in(area)) for area in AREAS}
    return {**found, **Counter(rule for rule, _ in shapes()), **names()}


def stored() -> dict[str, int]:
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


def lower() -> None:
    now, before = counts(), stored()
    lowered = {rule: min(count, before.get(rule, 0)) for rule, count in now.items()}
    STORED.write_text(json.dumps(lowered, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    if "--lower" in sys.argv:
        lower()
        return
    areas = sys.argv[1:] or list(AREAS)
    lines = [
        f"{one.where}: {one.text[:120]}  -> {advice}"
        for area in areas
        for one, advice in found_in(area)
    ]
    lines += [f"{one.where}: {rule}: {one.text[:120]}" for rule, one in shapes()]
    sys.stdout.write("\n".join((*lines, json.dumps(counts(), indent=2))) + "\n")


if __name__ == "__main__":
    main()
