"""The benchmark's own graph: services in eight levels, tasks that copy, zip and publish in process.

The same tree and the same graph are given to the peers (see peers.py).
"""

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import ClassVar
from zipfile import ZipFile, ZipInfo

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.task import InputEntry, Lane, Output, Task
from fabric.model.task_id import TaskId
from fabric.runtimes.contract import InputTrace
from fabric.tasks.contract import Registry, TaskResult, TaskTools, WrittenFile

LEVELS = 8
LIBS = tuple(f"lib/lib_{number}.txt" for number in range(10))


class Shape(Struct, frozen=True):
    services: int
    functions: int

    @property
    def tasks(self) -> int:
        return self.services * (self.functions + 2)


def upstream_of(services: int) -> list[list[int]]:
    """Two services of the level below for each service; the same for every tool."""
    chance = random.Random(7)
    levels = min(LEVELS, services)
    level = [number * levels // services for number in range(services)]
    members: dict[int, list[int]] = {}
    for number, depth in enumerate(level):
        members.setdefault(depth, []).append(number)
    return [
        sorted(chance.sample(members[depth - 1], min(2, len(members[depth - 1])))) if depth else []
        for depth in level
    ]


def folder(service: int) -> str:
    return f"services/svc-{service:05d}"


def write_tree(root: Path, shape: Shape) -> None:
    """The sources: 2 KB a function, ten 5 KB library files that every build reads."""
    for name in LIBS:
        _write(root / name, _text(name, 5000))
    for service in range(shape.services):
        (root / folder(service) / "dist").mkdir(parents=True, exist_ok=True)
        for function in range(shape.functions):
            path = root / folder(service) / "src" / f"fn_{function}.txt"
            _write(path, _text(f"{service}.{function}", 2000))


def _text(seed: str, length: int) -> str:
    line = hashlib.sha256(seed.encode()).hexdigest() + "\n"
    return (line * (length // len(line) + 1))[:length]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class CopyInputs(Struct, frozen=True):
    kind: ClassVar[str] = "copy"
    lane: ClassVar[Lane] = Lane.CPU
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False
    service: str
    function: str
    root: str

    @property
    def shown_in(self) -> str:
        return f"{self.root}/dist"

    def entries(self) -> tuple[InputEntry, ...]:
        return ()


class ZipInputs(Struct, frozen=True):
    kind: ClassVar[str] = "zip"
    lane: ClassVar[Lane] = Lane.CPU
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False
    service: str
    root: str
    function: str = ""

    @property
    def shown_in(self) -> str:
        return self.root

    def entries(self) -> tuple[InputEntry, ...]:
        return ()


class PublishInputs(Struct, frozen=True):
    kind: ClassVar[str] = "publish"
    lane: ClassVar[Lane] = Lane.IO
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False
    service: str
    root: str
    function: str = ""

    @property
    def shown_in(self) -> str:
        return self.root

    def entries(self) -> tuple[InputEntry, ...]:
        return ()


class Copy:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        del upstream
        inputs = task.inputs
        assert isinstance(inputs, CopyInputs)
        source = f"{inputs.root}/src/{inputs.function}.txt"
        # What stands after a form feed is a note: an edit of it gives the same output.
        content = _read(shop, source).partition(b"\f")[0] + _read(shop, LIBS[0])
        return _made(f"{inputs.function}.out", content, (source, *LIBS))


class Zip:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        inputs = task.inputs
        assert isinstance(inputs, ZipInputs)
        packed = BytesIO()
        with ZipFile(packed, "w") as archive:
            for owner, output in upstream.items():
                for one in output.files:
                    archive.writestr(ZipInfo(one.path), shop.content(owner, one))
        return _made("pkg.zip", packed.getvalue(), ())


class Publish:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return ()

    def run(self, task: Task, upstream: Mapping[TaskId, Output], shop: TaskTools) -> TaskResult:
        del upstream, shop
        inputs = task.inputs
        assert isinstance(inputs, PublishInputs)
        content = b'{"service":"%s"}' % inputs.service.encode()
        return _made("deploy.json", content, ())


def _read(shop: TaskTools, path: str) -> bytes:
    with open(shop.workspace / path, "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def _made(name: str, content: bytes, read: tuple[str, ...]) -> TaskResult:
    trace = InputTrace(files=read)
    return TaskResult(hash_bytes(content), (WrittenFile(name, content),), seen=trace)


REGISTRY: Registry = {"copy": Copy(), "zip": Zip(), "publish": Publish()}
KINDS = {"copy": CopyInputs, "zip": ZipInputs, "publish": PublishInputs}


def tasks(shape: Shape) -> Iterable[Task]:
    for service, needs in enumerate(upstream_of(shape.services)):
        yield from _service_tasks(service, needs, shape.functions)


def _service_tasks(service: int, needs: Sequence[int], functions: int) -> Iterable[Task]:
    name, root = f"svc-{service:05d}", folder(service)
    copies = tuple(TaskId(f"copy:{name}/fn_{number}") for number in range(functions))
    for number, task_id in enumerate(copies):
        yield Task(task_id, CopyInputs(name, f"fn_{number}", root))
    yield Task(TaskId(f"zip:{name}"), ZipInputs(name, root), copies)
    above = tuple(TaskId(f"publish:svc-{need:05d}") for need in needs)
    yield Task(
        TaskId(f"publish:{name}"), PublishInputs(name, root), (TaskId(f"zip:{name}"), *above)
    )
