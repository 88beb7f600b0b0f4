"""What is remembered decides what is made again, never where files go or which of them go away."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fabric.engine.memory.disk_memo import DiskMemo
from tests.support.in_process import project, typescript
from tests.support.project import PYTHON_SOURCES, Project
from tests.support.seals import seal_of_home

Change = Callable[[dict[str, Any]], None]


def rewritten(made: Project, change: Change) -> None:
    """Every remembered run of the project says something else, under a seal that is right."""
    memo = DiskMemo(made.root / ".fabric" / "cache" / "memo", seal_of_home(made.home))
    rows = memo.get_range("t:")
    assert rows
    fresh = {}
    for key, content in rows.items():
        traces = json.loads(content)
        for trace in traces:
            change(trace)
        fresh[key] = json.dumps(traces).encode()
    assert memo.put_all(fresh)
    memo.close()
    for kept in (made.root / ".fabric" / "cache" / "answers").iterdir():
        kept.unlink()


def shown_elsewhere(trace: dict[str, Any]) -> None:
    trace |= {"view": "precious", "whole": True, "shown_in": "precious", "owns_folder": True}


def named_elsewhere(trace: dict[str, Any]) -> None:
    trace["made"] = [["../../../../precious/file", *row[1:]] for row in trace["made"]]


def named_absolutely(trace: dict[str, Any]) -> None:
    trace["made"] = [["/" + row[0], *row[1:]] for row in trace["made"]]


def stored_elsewhere(trace: dict[str, Any]) -> None:
    trace["made"] = [[row[0], "../../../../precious/file", *row[2:]] for row in trace["made"]]


def of_other_shapes(trace: dict[str, Any]) -> None:
    trace["files"] = [[1, None] for _ in trace["files"]]
    trace["facts"] = {"handler": 3}


@pytest.mark.parametrize(
    "change",
    [shown_elsewhere, named_elsewhere, named_absolutely, stored_elsewhere, of_other_shapes],
)
def test_nothing_outside_of_the_outputs_is_written_or_deleted(
    tmp_path: Path, change: Change
) -> None:
    made = project(tmp_path)
    made.write({"precious/file": "mine", "precious/more/file": "mine too"})
    assert made.fabric("package").code == 0
    before, outputs = made.tree("precious"), made.outputs()
    rewritten(made, change)
    for words in (("package",), ("cache", "verify"), ("build",)):
        assert made.fabric(*words).code == 0
        assert made.tree("precious") == before
    assert made.outputs() == outputs


def test_outputs_are_not_written_through_links(tmp_path: Path) -> None:
    """A checkout may bring a link where outputs are shown: what it leads to is not swept."""
    made = typescript(tmp_path)
    made.write({"precious/hello/file": "mine"})
    own = made.root / ".fabric" / "build"
    own.mkdir(parents=True)
    (own / "shop").symlink_to(made.root / "precious")
    done = made.json("build")
    assert done.error["code"] == "disk/led-away"
    assert ".fabric/build/shop" in done.error["message"]
    assert list(made.tree("precious")) == ["hello", "hello/file"]
    (own / "shop").unlink()
    assert made.fabric("build").code == 0


def test_an_edit_after_foreign_rows_is_built(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    rewritten(made, shown_elsewhere)
    made.write({"src/two.py": PYTHON_SOURCES["src/two.py"] + "# edited\n"})
    assert made.json("build").result["summary"]["ran"] == 1
