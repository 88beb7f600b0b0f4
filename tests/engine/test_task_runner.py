"""Content of what came before: from the store, from where people see it, or made once more."""

from pathlib import Path

import pytest

from fabric.engine.run_tools import RunTools, StopSign
from fabric.engine.task_runner import TaskRunner
from fabric.model.problems import FabricError
from fabric.model.task import OutputFile
from tests.support.fakes import Bench, join

LEFT = join("left", "a")


class Damaged:
    """A task that has run, whose result is neither in the store nor to be seen any more."""

    def __init__(self, root: Path) -> None:
        self.bench = Bench(root)
        self.bench.write(a="one")
        outcome = self.bench.run(LEFT).outcomes[0]
        assert outcome.output is not None
        (self.file,) = outcome.output.files
        self.stores = self.bench.stores()
        self.stores.blobs.drop(self.file.digest)
        self.shown = root / "out" / "left.txt"
        self.runner = TaskRunner(self.stores, {"join": self.bench.kind}, self.bench.clock)
        self.runner.know(LEFT, outcome)
        self.bench.kind.ran.clear()

    def content(self, file: OutputFile | None = None) -> bytes:
        tools = RunTools(self.runner, StopSign(), lambda _: None)
        return self.runner.contents.content(LEFT.id, file or self.file, tools)


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    return Damaged(tmp_path)


def test_build_output_is_reused_if_it_is_correct(damaged: Damaged) -> None:
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == []
    damaged.shown.unlink()
    assert damaged.content() == b"one", "it is in the store again"


def test_otherwise_output_is_rebuilt_once(damaged: Damaged) -> None:
    damaged.shown.write_text("other")
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == [LEFT.id]
    assert damaged.content() == b"one"
    assert damaged.bench.kind.ran == [LEFT.id], "but once"


def test_rebuild_with_different_bytes_is_not_accepted(damaged: Damaged) -> None:
    damaged.shown.unlink()
    damaged.bench.write(a="another")
    with pytest.raises(FabricError) as caught:
        damaged.content()
    assert caught.value.first.code == "cache/damaged"
    assert damaged.stores.trace_store.traces(LEFT.id) == (), "the next run makes it anew"
