"""Saved plans: they are refused if an input changed, and the error names it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from fabric.app.deploy.plan_file import read_seal, refuse_moved, seal
from fabric.app.preview import Preview
from fabric.app.session import Session
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.graph.traces import ABSENT, ListingTrace, Trace
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.model.task import EntryKind, InputEntry, Output, Task
from tests.app.deploy.scopes import compiled
from tests.support.plans import KEY, build, plan_of

TASKS = [build("build:shop/hello"), build("build:shop/world")]
STATE = "shop/dev/cloud1-lambda"


@dataclass
class Files:
    """The files of a checkout as hashes."""

    digests: dict[str, str] = field(default_factory=lambda: {"a.ts": "a", "b.ts": "b"})
    names: str = "listed"
    links: dict[str, str] = field(default_factory=dict)
    folders_above: int = 0

    def digest(self, path: str) -> str:
        return self.digests.get(path, ABSENT)

    def listing(self, folder: str, pattern: str, ignore: tuple[str, ...]) -> str:
        return self.names

    def real(self, path: str) -> str:
        return self.links.get(path, path)


@dataclass
class Checkout:
    """A workspace with a plan of it."""

    folder: Path
    files: Files = field(default_factory=Files)
    version: str = "1"
    plan: Plan = field(default_factory=lambda: traced())
    serials: dict[str, int] = field(default_factory=lambda: {STATE: 4})

    @property
    def file(self) -> Path:
        return self.folder / "plan.json"

    @property
    def session(self) -> Session:
        entry = InputEntry(EntryKind.CODE, "node", self.version)
        memory = SimpleNamespace(code=lambda task: (entry,))
        found = SimpleNamespace(
            runner=SimpleNamespace(workspace=self.folder, memory=memory),
            stores=SimpleNamespace(files=self.files),
            registry={"build": None},
        )
        return cast("Session", found)

    @property
    def seen(self) -> Preview:
        work = replace(compiled(self.plan.graph.tasks), serials=self.serials)
        return Preview(work, self.plan)

    def save(self) -> None:
        sealed = seal(self.session, self.seen, self.file)
        document = {"formatVersion": 1, "command": "plan", "plan": {}, "seal": sealed}
        self.file.write_text(json.dumps(document))

    def moved(self) -> str:
        """Why the saved plan is out of date; empty if it is not."""
        try:
            refuse_moved(self.file, self.session, self.seen)
        except FabricError as error:
            return error.first.message.removeprefix("the saved plan is out of date: ")
        return ""


def traced(tasks: list[Task] = TASKS, links: tuple[tuple[str, str], ...] = ()) -> Plan:
    """A plan of builds that are up to date, each with the files that it read."""
    trace = Trace(
        key=KEY,
        static=hash_fields(()),
        entries=(),
        ms=1,
        files=(("a.ts", "a"), ("b.ts", "b")),
        upstream=(),
        output=Output(KEY),
        absent=("c.ts",),
        listings=(ListingTrace("src", "*.ts", (), "listed"),),
        links=links,
    )
    made = plan_of(tasks, {task.id: Action.SKIP for task in tasks})
    return Plan(made.graph, tuple(replace(one, trace=trace) for one in made.decisions))


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    found = Checkout(tmp_path)
    found.save()
    return found


def test_an_unchanged_checkout_fits_its_plan(checkout: Checkout) -> None:
    assert checkout.moved() == ""


@pytest.mark.parametrize(
    ("digests", "message"),
    [
        ({"a.ts": "x", "b.ts": "b"}, "a.ts changed"),
        ({"a.ts": "a"}, "b.ts was deleted"),
        ({"a.ts": "a", "b.ts": "b", "c.ts": "c"}, "c.ts is new"),
        ({"a.ts": "x"}, "a.ts changed, b.ts was deleted"),
        ({"a.ts": "a", "b.ts": "b", "other.ts": "o"}, ""),
    ],
)
def test_a_changed_input_file_is_named(
    checkout: Checkout, digests: dict[str, str], message: str
) -> None:
    checkout.files.digests = digests
    assert checkout.moved() == message


def test_a_file_that_matches_a_search_is_an_input(checkout: Checkout) -> None:
    checkout.files.names = "more"
    assert checkout.moved() == "the files of src/*.ts changed"


def test_a_link_to_another_file_with_the_same_content_is_named(checkout: Checkout) -> None:
    checkout.files.links = {"a.ts": "shared/a.ts"}
    assert checkout.moved() == "the link target of a.ts changed"


def test_a_link_of_a_directory_is_an_input(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, Files(links={"lib": "packages/lib"}))
    checkout.plan = traced(links=(("lib", "packages/lib"),))
    checkout.save()
    assert checkout.moved() == ""
    checkout.files.links = {"lib": "packages/other"}
    assert checkout.moved() == "the link target of lib changed"


def test_another_version_of_a_tool_is_named_for_each_task(checkout: Checkout) -> None:
    checkout.version = "2"
    assert checkout.moved() == (
        "the tools of build:shop/hello changed, the tools of build:shop/world changed"
    )


@pytest.mark.parametrize(
    ("serials", "message"),
    [
        ({STATE: 5}, f"the state of {STATE} was updated"),
        ({}, f"the state of {STATE} was deleted"),
        ({STATE: 4, "z/dev/p": 1}, "the state of z/dev/p was created"),
    ],
)
def test_a_changed_state_is_named(
    checkout: Checkout, serials: dict[str, int], message: str
) -> None:
    checkout.serials = serials
    assert checkout.moved() == message


def test_changed_tasks_are_named(checkout: Checkout) -> None:
    other = replace(TASKS[0], needs=(TASKS[1].id,))
    checkout.plan = traced([other, TASKS[1], build("build:shop/new")])
    assert checkout.moved() == ("build:shop/new is new, the config of build:shop/hello changed")
    checkout.plan = traced(TASKS[:1])
    assert checkout.moved() == "build:shop/world was removed"


def test_at_most_ten_changes_are_named(checkout: Checkout) -> None:
    checkout.plan = traced([*TASKS, *(build(f"build:shop/f{number:02}") for number in range(12))])
    assert checkout.moved().endswith("build:shop/f09 is new and 2 more")


def test_the_plan_itself_is_not_an_input(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    checkout.files.digests["plan.json"] = "p"
    checkout.save()
    checkout.files.digests["plan.json"] = "q"
    assert checkout.moved() == ""


def refused(path: Path, content: str | None) -> Problem:
    if content is not None:
        path.write_text(content)
    with pytest.raises(FabricError) as caught:
        read_seal(path)
    return caught.value.first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "`plan.json` cannot be read: no such file or directory"),
        ("{", "`plan.json` is not valid JSON"),
        ("[]", "`plan.json` is not a plan saved by this version of fabric"),
        ('{"formatVersion": 2, "seal": {}}', "`plan.json` is not a plan saved by"),
        ('{"formatVersion": 1}', "`plan.json` is not a plan saved by"),
    ],
)
def test_a_file_that_is_not_a_plan_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    problem = refused(tmp_path / "plan.json", content)
    assert problem.code == "input/bad-plan"
    assert problem.message.startswith(message)


def test_a_damaged_plan_is_refused(checkout: Checkout) -> None:
    document: dict[str, Any] = json.loads(checkout.file.read_text())
    document["seal"]["serials"] = {STATE: "four"}
    assert "is damaged" in refused(checkout.file, json.dumps(document)).message
