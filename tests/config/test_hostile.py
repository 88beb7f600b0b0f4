"""Input made to hurt is refused in little time and memory, and never ends the process."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from fabric.config.load import ConfigText, load_config
from fabric.config.yaml.reader import read
from fabric.model.problems import FabricError
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.config_texts import problems

_LETTERS = "abcdefghi"
_LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in pairwise(_LETTERS)
)
_MERGES = "a0: &a0 {k0: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}], k{i}: 1}}\n" for i in range(1, 24)
)
_TOWER = "a0: &a0 [1]\n" + "".join(
    f"a{i}: &a{i} {'[' * 50}*a{i - 1}{']' * 50}\n" for i in range(1, 30)
)
_WIDE_MERGE = (
    "a: &a {"
    + ", ".join(f"k{i}: 1" for i in range(600))
    + "}\n"
    + "".join(f"b{i}: {{<<: *a}}\n" for i in range(40))
)

HOSTILE: dict[str, bytes] = {
    "brackets": b"[" * 100_000 + b"]" * 100_000,
    "open brackets": b"[" * 100_000,
    "braces": b"{" * 100_000,
    "braces with keys": b"{a: " * 100_000,
    "dashes": b"- " * 100_000,
    "questions": b"? " * 100_000,
    "block nesting": b"".join(b" " * i + b"a:\n" for i in range(300)),
    "billion laughs": _LAUGHS.encode(),
    "merge doubling": _MERGES.encode(),
    "wide merges": _WIDE_MERGE.encode(),
    "tower of aliases": _TOWER.encode(),
    "recursive list": b"a: &a [*a]",
    "recursive map": b"a: &a {b: *a}",
    "recursive root": b"&a {b: *a}",
    "unknown alias": b"a: *nobody",
    "alias as key": b"a: &a b\n*a : c",
    "merge of a list of text": b"<<: [a, b]",
    "merge of text": b"<<: a",
    "long integer": b"a: " + b"9" * 5_000,
    "long hex": b"a: 0x" + b"f" * 200_000,
    "long octal": b"a: 0o" + b"7" * 200_000,
    "long float": b"a: 1." + b"1" * 200_000,
    "huge flat list": b"a: [" + b"1," * 2_000_000 + b"1]",
    "huge flat map": b"".join(b"k%d: 1\n" % i for i in range(400_000)),
    "only line breaks": b"\n" * 8_000_000,
    "only comments": b"#" * 8_000_000,
    "many comments": b"#\n" * 4_000_000,
    "nine megabytes": b"a" * (9 << 20),
    "duplicate keys": b"a: 1\n" * 200_000,
    "unknown keys": b"".join(b"servic%d: 1\n" % i for i in range(40_000)),
    "tag directives": b"%TAG !a! x\n" * 50_000 + b"--- a",
    "yaml directive twice": b"%YAML 1.2\n%YAML 1.2\n--- a",
    "python tag": b"a: !!python/object/apply:os.system [ls]",
    "own tag": b"a: !mine b",
    "tag on a map": b"!!map {a: b}",
    "tag on a list": b"a: !!seq [b]",
    "verbatim tag": b"a: !<tag:yaml.org,2002:str> b",
    "binary tag": b"a: !!binary aGVsbG8=",
    "half a pair": b'a: "\\ud800"',
    "pair of escapes": b'a: "\\ud83d\\ude00"',
    "encoded surrogate": b"a: \xed\xa0\x80",
    "not utf-8": b"a: b\nc: \xff",
    "overlong": b"a: \xc0\xaf",
    "nul": b"a: b\x00",
    "control sign": b"a: \x1b[31m",
    "utf-16 little": "a: b".encode("utf-16-le").join([b"\xff\xfe", b""]),
    "utf-16 big": b"\xfe\xff" + "a: b".encode("utf-16-be"),
    "utf-32": b"\xff\xfe\x00\x00" + "a: b".encode("utf-32-le"),
    "two documents": b"a: 1\n---\nb: 1\n",
    "document after an end": b"a: 1\n...\nb: 1\n",
    "tab for indent": b"a:\n\tb: 1",
    "unclosed quote": b'a: "b',
    "unclosed list": b"a: [b",
    "unclosed map": b"a: {b",
    "bad escape": b'a: "\\q"',
    "bad indent": b"a: b\n  c: d",
    "map as key": b"{a: b}: c",
    "list as key": b"? [a]\n: c",
    "escape too big": b'a: "\\UFFFFFFFF"',
    "nothing": b"",
    "only a mark": b"\xef\xbb\xbf",
    "a word": b"hello",
    "a list": b"- a\n- b",
    "null": b"~",
    "many anchors": b"".join(b"- &a%d x\n" % i for i in range(200_000)),
    "deep bindings": b"service: '" + b"${env:A," * 5_000 + b"}" * 5_000 + b"'",
    "open bindings": b"service: '" + b"${env:A" * 100_000 + b"'",
    "secrets of secrets": b"service: ${secret:A0}\nsecrets:\n"
    + b"".join(b"  A%d: '%s'\n" % (i, b"${secret:A%d}" % (i + 1) * 500) for i in range(8))
    + b"  A8: x\n",
    "secret loop": b"service: ${secret:A}\nsecrets: {A: 'secret://B', B: 'secret://A'}",
    "self secret": b"service: ${secret:A}\nsecrets: {A: '${secret:A}'}",
    "foreign bindings": b"service: '" + b"".join(b"${x%d:}" % i for i in range(100_000)) + b"'",
}

# The limits are those of one process that reads one file: its own memory counts, too.
_RUN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from tests.config.test_hostile import HOSTILE
from fabric.config.load import ConfigText, load_config
from fabric.model.problems import FabricError
from tests.support.config_texts import problems
raw = HOSTILE[sys.argv[1]]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load_config(ConfigText("fabric.yml", raw, {}, "dev"))
except FabricError as error:
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(after - before)
"""
_HUNGRY = (
    "brackets",
    "billion laughs",
    "merge doubling",
    "huge flat list",
    "huge flat map",
    "only line breaks",
    "many comments",
    "unknown keys",
    "secrets of secrets",
)


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_input_is_refused_with_problems(name: str) -> None:
    with pytest.raises(FabricError) as caught:
        load_config(ConfigText("fabric.yml", HOSTILE[name], {}, "dev"))
    assert caught.value.exit_code == 65
    assert all(problem.where and problem.where.file for problem in caught.value.problems)
    assert len(caught.value.problems) <= 400


@pytest.mark.slow
@pytest.mark.parametrize("name", _HUNGRY)
def test_hostile_input_takes_under_200_megabytes(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, name],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env=ENVIRONMENT,
        timeout=60,
    )
    assert int(done.stdout) < 200 * 1024


_MANY = "- a\n" * 60_010
COUNTED: dict[str, tuple[str, str, int]] = {
    "a list": (f"x:\n{_MANY}", "config/too-big", 59_999),
    "a list in brackets": ("x: [" + "a,\n" * 60_010 + "]", "config/too-big", 59_998),
    "a map": ("".join(f"k{n}: 1\n" for n in range(30_010)), "config/too-big", 30_000),
    "a tag before them": (f"x: !!str a\ny:\n{_MANY}", "config/tag", 1),
    "an alias before them": (f"x: *nobody\ny:\n{_MANY}", "config/too-big", 59_999),
    "documents before them": (f"--- 1\n--- 2\n--- x\n{_MANY}", "config/documents", 2),
    "aliases": ("x: &a 1\ny:\n" + "- *a\n" * 200_010, "config/alias-limit", 200_003),
    "damage before them": (f"x: a: b\ny:\n{_MANY}", "config/syntax", 1),
}


@pytest.mark.parametrize("case", list(COUNTED))
def test_too_many_values_are_reported_at_the_first_excess_value(case: str) -> None:
    """Faults that only show once something is made of what stands before come after that."""
    text, code, line = COUNTED[case]
    with pytest.raises(FabricError) as caught:
        read("fabric.yml", text.encode())
    where = caught.value.first.where
    assert (caught.value.first.code, where and where.line) == (code, line)


def test_as_many_values_as_there_may_be_are_read() -> None:
    read("fabric.yml", ("x:\n" + "- a\n" * 59_997).encode())


def test_a_key_may_be_anchored_and_its_text_used_again() -> None:
    head = b"service: &a shop\nprovider: {name: host1, runtime: nodejs}\n"
    text = head + b"&key functions: [{name: *a, entry: *key}]\n"
    config = load_config(ConfigText("fabric.yml", text, {}, "dev"))
    assert (config.functions[0].name, config.functions[0].entry) == ("shop", "functions")


def test_the_pure_loader_refuses_half_a_surrogate_pair_as_well() -> None:
    with pytest.raises(FabricError) as caught:
        read("fabric.yml", HOSTILE["half a pair"], yaml.SafeLoader)
    assert caught.value.first.code == "config/encoding"


def test_the_pure_loader_refuses_an_escape_beyond_unicode() -> None:
    with pytest.raises(FabricError) as caught:
        read("fabric.yml", HOSTILE["escape too big"], yaml.SafeLoader)
    assert caught.value.first.code == "config/syntax"


def test_a_file_that_is_too_big_is_not_blamed_on_its_encoding() -> None:
    (found,) = problems("#" * (3 << 20))
    assert found.code == "config/too-big"
    assert found.hint
    assert "UTF-8" not in found.hint
