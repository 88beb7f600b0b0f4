"""A rotten piece of what the last run left costs time, and never an answer."""

import marshal
from pathlib import Path

import pytest

from fabric import manifest
from fabric.engine.memory.pieces import SUFFIX
from tests.support.in_process import project
from tests.support.project import Project, handler
from tests.support.seals import seal_of_home

NAMES = ("one", *(f"other{number}" for number in range(12)))
ROWS = "".join(f"  - {{name: {name}, entry: {name}.py}}\n" for name in NAMES)
CONFIG = f"""\
service: shop
provider: {{name: cloud1-lambda, runtime: python3.11}}
functions:
{ROWS}"""
PARTS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)


def built(folder: Path) -> Project:
    made = project(folder, CONFIG, sources={f"{name}.py": handler(name) for name in NAMES})
    for words in ((), ("--json",)):
        assert made.fabric("build", *words).code == 0
        assert made.fabric("build", *words).code == 0
    return made


def rot(made: Project, part: float) -> int:
    """One bit in each file of pieces is another one, and no time of the file tells."""
    count, seal = 0, seal_of_home(made.home)
    for pieces in (made.root / ".fabric").rglob(f"*{SUFFIX}"):
        before, content = manifest.stats_of([str(pieces)]), bytearray(pieces.read_bytes())
        content[int(len(content) * part)] ^= 4
        pieces.write_bytes(content)
        head = pieces.with_suffix(".warm")
        known = marshal.loads(seal.unseal(head.name, head.read_bytes()) or b"")  # noqa: S302
        after = manifest.stats_of([str(pieces)])
        assert before in known
        fields = tuple(after if one == before else one for one in known)
        head.write_bytes(seal.seal(head.name, marshal.dumps(fields)))
        count += 1
    return count


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_an_edit_is_built_though_pieces_are_rotten(
    tmp_path: Path, words: tuple[str, ...], part: float
) -> None:
    made = built(tmp_path)
    assert rot(made, part)
    made.write({"one.py": handler("11")})
    done = made.fabric("build", *words)
    assert done.code == 0, done.err
    assert made.json("build").result["summary"]["ran"] == 0


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_failing_edit_is_reported_despite_damaged_pieces(
    tmp_path: Path, words: tuple[str, ...], part: float
) -> None:
    made = built(tmp_path)
    assert rot(made, part)
    made.write({"one.py": "def handler(:\n"})
    done = made.fabric("build", *words)
    assert done.code == 2
    assert "cache/damaged" not in done.out + done.err
    assert "build/" in done.out + done.err
