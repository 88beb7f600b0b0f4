"""Versions of layers: when they are published, and which are deleted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.graph.decide import Action, Decision
from fabric.graph.plan import Known
from fabric.model.names import Digest
from fabric.model.problems import FabricError
from fabric.model.records.record import LayerRecord, Mode
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import TaskId
from fabric.model.task_inputs import LayerInputs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    Artifact,
    CallContext,
    DeploymentAddress,
    LayerOrder,
)
from fabric.tasks.layer import (
    LayerKind,
    build_layer_output,
    list_unused_layers,
    refuse_large_layers,
    resolve_layers,
)
from fabric.tasks.release import ReleaseKind
from fabric.tasks.remove import RemoveKind
from tests.support.function_archive import archive
from tests.support.records import function, record
from tests.tasks.deploys import Deploys, FakeDeployer, release, removal
from tests.tasks.tools import HeldRecord, QuietTools

INPUTS = LayerInputs("shop", "x", "cloud1-lambda", "dev", "real", (), (("runtimes", "a b"),))
ARCHIVE = TaskId("layer-archive:shop/x@cloud1-lambda")
TASK = Task(TaskId("layer:shop/x@cloud1-lambda"), INPUTS, (ARCHIVE,))
FILE = OutputFile("x.zip", Digest("f"), 3)


def packed(content: str = "one") -> Output:
    return Output(Digest(content), (FILE,), (("sha256", content), ("unpacked", "7")))


class LayerTools(QuietTools):
    def content(self, owner: TaskId, file: OutputFile) -> bytes:
        assert (owner, file) == (ARCHIVE, FILE)
        return b"zip"


@dataclass
class Publisher(FakeDeployer):
    """A provider that numbers the versions, and refuses to delete some."""

    published: list[LayerOrder] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    stuck: frozenset[str] = frozenset()

    def publish_layer(
        self, address: DeploymentAddress, order: LayerOrder, watch: CallContext = NO_CONTEXT
    ) -> str:
        self.published.append(order)
        return f"arn:{order.name}:{len(self.published)}"

    def delete_layers(
        self, address: DeploymentAddress, layers: Sequence[str], watch: CallContext = NO_CONTEXT
    ) -> Sequence[str]:
        self.deleted += layers
        return [one for one in layers if one not in self.stuck]


def version(address: str, name: str = "x", **changes: object) -> LayerRecord:
    return replace(LayerRecord(name, "k", address, "one", "sha", 10), **changes)


def shop(*layers: LayerRecord, used: str = "", mode: Mode = Mode.REAL) -> Deploys:
    functions = (function(layers=(used,) if used else ()),)
    held = record(mode=mode, functions=functions, layers=layers, release_key="key")
    return Deploys(HeldRecord(held), Publisher())


def publisher(deploys: Deploys) -> Publisher:
    assert isinstance(deploys.provider, Publisher)
    return deploys.provider


def publish(deploys: Deploys, content: str = "one", inputs: LayerInputs = INPUTS) -> None:
    LayerKind(deploys.tools()).run(
        replace(TASK, inputs=inputs), {ARCHIVE: packed(content)}, LayerTools()
    )


def judged(
    deploys: Deploys, content: str = "one", inputs: LayerInputs = INPUTS, *, force: bool = False
) -> Decision:
    kind, task = LayerKind(deploys.tools(force=force)), replace(TASK, inputs=inputs)
    return kind.judge(Known(task, kind.code(task), ((ARCHIVE, content),)))


def test_a_version_is_recorded_with_its_address() -> None:
    deploys = shop()
    assert judged(deploys).reason == "first publish"
    publish(deploys)
    row = deploys.held.record.layer("x")
    assert row
    assert (row.address, row.content, row.artifact_sha256, row.unpacked) == (
        *("arn:x:1", "one", "one", 7),
    )
    [order] = publisher(deploys).published
    assert (order.mark, order.runtimes) == (row.key[:32], ("a", "b"))


def test_a_published_version_is_up_to_date_until_files_or_settings_change() -> None:
    deploys = shop()
    publish(deploys)
    row = deploys.held.record.layer("x")
    assert row
    assert judged(deploys).output == build_layer_output(row)
    assert judged(deploys, "two").reason == "files of the layer changed"
    other = replace(INPUTS, settings=(("description", "d"),))
    assert judged(deploys, inputs=other).reason == "settings of the layer changed"
    assert judged(deploys, force=True).reason == "--force was given"


def test_a_layer_is_pending_while_its_archive_is_unknown() -> None:
    kind = LayerKind(shop().tools())
    decision = kind.judge(Known(TASK, kind.code(TASK), None, (ARCHIVE,)))
    assert (decision.action, decision.reason) == (Action.WAIT, f"known after {ARCHIVE}")


def test_files_of_an_earlier_version_attach_it_again_without_a_call() -> None:
    deploys = shop()
    for content in ("one", "two", "one"):
        publish(deploys, content)
    assert len(publisher(deploys).published) == 2
    assert resolve_layers(("x", "arn:other:1"), deploys.held.record) == ("arn:x:1", "arn:other:1")


def test_a_changed_retain_is_recorded_without_a_call() -> None:
    deploys = shop()
    publish(deploys)
    keep = replace(INPUTS, retain=True)
    assert judged(deploys, inputs=keep).reason == "setting retain changed"
    publish(deploys, inputs=keep)
    assert len(publisher(deploys).published) == 1
    assert judged(deploys, inputs=keep).action is Action.SKIP


def test_a_deployer_without_layers_is_an_error() -> None:
    with pytest.raises(FabricError, match="which only built-in deploys publish"):
        publish(Deploys(HeldRecord(record()), FakeDeployer()))


def test_versions_of_functions_and_of_the_history_are_in_use() -> None:
    before = record(functions=(function(layers=("a",)),), history=())
    past = record(functions=(function(layers=("b",)),))
    rows = (*map(version, "abcd"), version("kept", retain=True))
    now = replace(past, functions=(function(layers=("c",)),), layers=rows)
    assert [one.address for one in list_unused_layers(before, now)] == ["d"]


def test_a_release_deletes_unused_versions() -> None:
    deploys = shop(version("old"), version("used"), used="used")
    ReleaseKind(deploys.tools()).run(release("hello"), {}, QuietTools())
    assert publisher(deploys).deleted == ["old"]
    assert [one.address for one in deploys.held.record.layers] == ["used"]


def test_a_version_that_cannot_be_deleted_does_not_fail_the_release() -> None:
    deploys = shop(version("old"))
    publisher(deploys).stuck = frozenset({"old"})
    ReleaseKind(deploys.tools()).run(release("hello"), {}, QuietTools())
    assert [one.address for one in deploys.held.record.layers] == ["old"]
    assert deploys.held.record.release_key


def test_a_removal_deletes_all_versions_except_retained_ones() -> None:
    deploys = shop(version("used"), version("kept", retain=True), used="used")
    RemoveKind(deploys.tools()).run(removal(), {}, QuietTools())
    assert publisher(deploys).deleted == ["used"]
    assert not deploys.held.record.functions


def test_a_removal_of_one_function_keeps_the_layers() -> None:
    deploys = shop(version("used"), used="used")
    RemoveKind(deploys.tools()).run(removal("hello"), {}, QuietTools())
    assert publisher(deploys).deleted == []


def test_a_removal_fails_if_a_version_is_left() -> None:
    deploys = shop(version("used"))
    publisher(deploys).stuck = frozenset({"used"})
    with pytest.raises(FabricError, match="layer versions could not be deleted: used"):
        RemoveKind(deploys.tools()).run(removal(), {}, QuietTools())
    assert [one.address for one in deploys.held.record.layers] == ["used"]


def test_code_and_layers_that_are_too_large_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(archive(index_js="x" * 100))
    artifact = Artifact(path, "", 0, "", "")
    held = record(layers=(version("a", unpacked=262_144_000 - 100), version("b", unpacked=1)))
    refuse_large_layers(artifact, ["a"], held)
    refuse_large_layers(artifact, ["arn:other:1"], held)
    with pytest.raises(FabricError, match="have 262,144,001 bytes unpacked; the maximum is"):
        refuse_large_layers(artifact, ["a", "b"], held)


def test_a_task_of_another_kind_is_an_error() -> None:
    with pytest.raises(TypeError, match="is not a task of kind `layer`"):
        LayerKind(shop().tools()).claim(removal())
