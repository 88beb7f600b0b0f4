"""An entry goes into a config, and every byte that was there stays."""

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from fabric.config.resolve.stages import list_named_entries
from fabric.config.yaml.nodes import Mapping, find_child
from fabric.config.yaml.reader import read
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError
from fabric.scaffold.yaml_edit import with_addition
from fabric.scaffold.yaml_places import Addition
from fabric.scaffold.yaml_text import build_tree, parse_leaf
from tests.support.config_files import config_file

ENTRIES: dict[str, dict[str, Json]] = {
    "functions": {
        "entry": "src/new.ts",
        "triggers": [{"type": "eventbus", "pattern": {"source": ["a.b", "c: d"]}}],
    },
    "resources": {"type": "database", "connectionEnv": "DB2"},
    "addons": {"version": "1.10", "options": {"sender": "it's #1", "*": "no", "on": True}},
}
DOCUMENTS = 2_000
BATCH = 50
# The one thing that is replaced: a word for nothing.
NULL = re.compile(rb": (?:~|null)(?!\w)")
HELLO: dict[str, Json] = {
    "entry": "src/hi.ts",
    "triggers": [{"type": "http", "route": "GET:/hi/{id}"}],
}


def added(raw: bytes, section: str, entry: dict[str, Json], name: str = "brand-new") -> bytes:
    node = build_tree(entry)
    assert isinstance(node, Mapping)
    return with_addition("fabric.yml", raw, Addition(section, name, node))


def is_within(old: bytes, new: bytes) -> bool:
    """Whether the old bytes stand in the new ones, in their order."""
    rest = iter(new)
    return all(byte in rest for byte in old)


def oracle(raw: bytes) -> Any:
    """What ruamel reads; a tab before a comment, which it refuses, is a blank."""
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(raw.decode("utf-8-sig").replace("\t#", " #"))


def expected(document: Any, section: str, entry: dict[str, Json]) -> list[Any]:
    """The old document with the entry at the end of its section, as either form has it."""
    held = document.get(section)
    item = {"name": "brand-new", **entry}
    found = []
    if not isinstance(held, dict):
        found.append({**document, section: [*(held or []), item]})
    if not isinstance(held, list):
        found.append({**document, section: {**(held or {}), "brand-new": entry}})
    return found


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("first", range(0, DOCUMENTS, BATCH))
def test_another_reader_finds_the_old_document_and_the_new_entry(first: int) -> None:
    for seed in range(first, first + BATCH):
        raw = config_file(seed)
        section = list(ENTRIES)[seed % 3]
        new = added(raw, section, ENTRIES[section])
        assert oracle(new) in moved_up(expected(oracle(raw), section, ENTRIES[section])), seed
        assert is_within(NULL.sub(b":", raw), new), seed


def moved_up(documents: list[Any]) -> list[Any]:
    """Also with the new entry before the last one: a text at the very end gets no line break."""
    found = list(documents)
    for document in documents:
        for section, held in document.items():
            is_new = section in ENTRIES and isinstance(held, list) and len(held) > 1
            if is_new and held[-1].get("name") == "brand-new":
                found.append({**document, section: [*held[:-2], held[-1], held[-2]]})
    return found


@pytest.mark.parametrize("seed", range(200))
def test_second_entry_is_added_after_the_first(seed: int) -> None:
    once = added(config_file(seed), "functions", HELLO, "one")
    twice = added(once, "functions", HELLO, "two")
    names = [name for name, _ in list_named_entries(find_child(read("", twice).root, "functions"))]
    assert {"one", "two"} <= set(names)


SHAPES = {
    "a list": (
        "functions:\n  - name: a\n    entry: a.ts  # first\n    # of a\n# tail\nenv: {}\n",
        "functions:\n  - name: a\n    entry: a.ts  # first\n    # of a\n"
        "  - name: brand-new\n    entry: src/hi.ts\n    triggers:\n"
        "      - type: http\n        route: GET:/hi/{id}\n# tail\nenv: {}\n",
    ),
    "a list without indentation": (
        "functions:\n- name: a\n  triggers:\n  - {type: cron}\n",
        "functions:\n- name: a\n  triggers:\n  - {type: cron}\n"
        "- name: brand-new\n  entry: src/hi.ts\n  triggers:\n  - type: http\n"
        "    route: GET:/hi/{id}\n",
    ),
    "entries with blank lines between": (
        "functions:\n  - {name: a}\n\n  - {name: b}\n\n# next\nenv: {}\n",
        "functions:\n  - {name: a}\n\n  - {name: b}\n\n"
        '  - {name: brand-new, entry: src/hi.ts, triggers: [{type: http, route: "GET:/hi/{id}"}]}\n'
        "\n# next\nenv: {}\n",
    ),
    "a map": (
        "functions:\n    a:\n        entry: 'a.ts'\n",
        "functions:\n    a:\n        entry: 'a.ts'\n    brand-new:\n        entry: src/hi.ts\n"
        "        triggers:\n          - type: http\n            route: GET:/hi/{id}\n",
    ),
    "a map of entries in braces": (
        "functions:\n  a: { entry: a.ts }\n",
        "functions:\n  a: { entry: a.ts }\n  brand-new: "
        '{ entry: src/hi.ts, triggers: [{ type: http, route: "GET:/hi/{id}" }] }\n',
    ),
    "one line": (
        "functions: [{name: a}, ]  # all\n",
        "functions: [{name: a}, {name: brand-new, entry: src/hi.ts, triggers: [{type: http, "
        'route: "GET:/hi/{id}"}]} ]  # all\n',
    ),
    "a bracket at the end of the last entry's line": (
        "functions: [\n  {name: a}]\n",
        "functions: [\n  {name: a},\n  {name: brand-new, entry: src/hi.ts, triggers: [{type: http, "
        'route: "GET:/hi/{id}"}]}]\n',
    ),
    "a bracket after the last comma": (
        "functions: [\n  {name: a},]\n",
        "functions: [\n  {name: a},\n  {name: brand-new, entry: src/hi.ts, triggers: [{type: http, "
        'route: "GET:/hi/{id}"}]},]\n',
    ),
    "no last line break": (
        "functions:\n  - {name: a}",
        "functions:\n  - {name: a}\n  - {name: brand-new, entry: src/hi.ts, "
        'triggers: [{type: http, route: "GET:/hi/{id}"}]}',
    ),
    "a text at the very end": (
        "functions:\n  - name: a\n    x: |\n      last",
        "functions:\n  - name: brand-new\n    entry: src/hi.ts\n    triggers:\n      - type: http\n"
        "        route: GET:/hi/{id}\n  - name: a\n    x: |\n      last",
    ),
    "colons in quotes": (
        "functions:\n  - triggers:\n      - route: 'GET:/a'\n",
        "functions:\n  - triggers:\n      - route: 'GET:/a'\n  - name: brand-new\n"
        "    entry: src/hi.ts\n    triggers:\n      - type: http\n        route: 'GET:/hi/{id}'\n",
    ),
    "an alias among the entries": (
        "x-a: &a {name: a}\nfunctions:\n  - *a\n",
        "x-a: &a {name: a}\nfunctions:\n  - *a\n  - name: brand-new\n    entry: src/hi.ts\n"
        "    triggers:\n      - type: http\n        route: GET:/hi/{id}\n",
    ),
    "lines that end in a carriage return alone": (
        "functions:\r  - {name: a}\renv: {}\r",
        "functions:\r  - {name: a}\r  - {name: brand-new, entry: src/hi.ts, triggers: [{type: http,"
        ' route: "GET:/hi/{id}"}]}\renv: {}\r',
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_new_entry_matches_the_style_of_existing_ones(shape: str) -> None:
    old, new = SHAPES[shape]
    assert added(old.encode(), "functions", HELLO).decode() == new


NEW_SECTIONS = {
    "none": ("service: a\n", "service: a\nresources:\n  - name: brand-new\n    type: cache\n"),
    "none, and the last text is kept whole": (
        "service: a\nx: |+\n  b\n\n",
        "service: a\nx: |+\n  b\n\nresources:\n  - name: brand-new\n    type: cache\n",
    ),
    "none, and the last text has no line break": (
        "service: a\nx: |\n  b",
        "service: a\nresources:\n  - name: brand-new\n    type: cache\nx: |\n  b",
    ),
    "none beside a map": (
        "functions:\n  a:\n    entry: a.ts\n",
        "functions:\n  a:\n    entry: a.ts\nresources:\n  brand-new:\n    type: cache\n",
    ),
    "before the end of the document": (
        "---\nservice: a\n...\n# over\n",
        "---\nservice: a\nresources:\n  - name: brand-new\n    type: cache\n...\n# over\n",
    ),
    "nothing": (
        "resources: # none\nservice: a\n",
        "resources: # none\n  - name: brand-new\n    type: cache\nservice: a\n",
    ),
    "null": (
        "resources: ~  # none\nservice: a\n",
        "resources:  # none\n  - name: brand-new\n    type: cache\nservice: a\n",
    ),
    "an anchor on null": (
        "resources: &r null\nservice: a\n",
        "resources: &r \n  - name: brand-new\n    type: cache\nservice: a\n",
    ),
    "null in braces": (
        "{service: a, resources: null}\n",
        "{service: a, resources: [{name: brand-new, type: cache}]}\n",
    ),
    "nothing in braces": (
        "{resources: , service: a}\n",
        "{resources: [{name: brand-new, type: cache}] , service: a}\n",
    ),
    "none in braces": (
        '{"service": "a"}',
        '{"service": "a", "resources": [{"name": "brand-new", "type": "cache"}]}',
    ),
    "none in braces beside a map": (
        "{functions: {a: {entry: a.ts}}}",
        "{functions: {a: {entry: a.ts}}, resources: {brand-new: {type: cache}}}",
    ),
}


@pytest.mark.parametrize("case", NEW_SECTIONS)
def test_a_section_that_is_missing_or_empty_is_begun(case: str) -> None:
    old, new = NEW_SECTIONS[case]
    assert added(old.encode(), "resources", {"type": "cache"}).decode() == new


REFUSED = {
    "an alias": ("x-f: &f [{name: a}]\nfunctions: *f\n", "is an alias, `*f`", 2),
    "used elsewhere": ("functions: &f\n  - {name: a}\nx: *f\n", "has a YAML anchor", 1),
    "merged in": ("x-b: &b {functions: [{name: a}]}\n<<: *b\n", "comes from a YAML merge", 1),
    "a text": ("functions: none\n", "would change other values", 1),
    "no map": ("- functions\n", "not a plain mapping", 1),
    "a key alone": ("{functions}\n", "would change other values", 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_insertion_is_reported_with_its_place(case: str) -> None:
    text, why, line = REFUSED[case]
    with pytest.raises(FabricError) as caught:
        added(text.encode(), "functions", HELLO)
    problem = caught.value.first
    assert problem.code == "config/not-extended"
    assert why in problem.message
    assert problem.where is not None
    assert problem.where.line == line
    assert problem.frame


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("3", 3),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("010", "010"),
        ("1.10", "1.10"),
        ("yes", "yes"),
        ("", ""),
        ("a: b", "a: b"),
        ("{", "{"),
        ('"q"', '"q"'),
        ("NaN", "NaN"),
    ],
)
def test_scalars_are_parsed_as_numbers_or_booleans_like_json(word: str, value: object) -> None:
    assert parse_leaf(word).value == value
    assert type(parse_leaf(word).value) is type(value)


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a b",
        "it's",
        'say "x"',
        "a: b",
        "# no",
        "é",
        "\x85",
        "a\nb",
        "007",
        "1e3",
        "No",
        "-",
    ],
)
def test_any_text_is_read_as_it_was_meant(text: str, quote: str) -> None:
    for old in (f"a: {quote}b{quote}\n", f"{{a: {quote}b{quote}}}\n"):
        new = added(old.encode(), "addons", {"options": {"x": text, text or "k": 1}})
        held = oracle(new)["addons"][0]["options"]
        assert held["x"] == text
