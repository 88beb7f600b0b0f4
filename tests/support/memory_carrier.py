"""A shared cache in memory, and machines that read and write it: no server, no process."""

import datetime
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.engine.shared.learning import Learned
from fabric.engine.shared.link import MAIN, HeadTexts, SharedLink
from fabric.engine.shared.publishing import Offer, Publishing
from fabric.engine.shared.shared_cache import SharedCache
from fabric.engine.shared.stored_segments import StoredSegments
from fabric.graph.traces import ListingTrace, Trace, compute_full_key, compute_static_hash
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.model.task import Output, OutputFile, Task
from fabric.model.task_id import build_task_id
from fabric.model.task_inputs import BuildInputs
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.seal import parse_seal_keys
from fabric.system.clock import Clock
from tests.support.shared_caches import KEY

NOW = 1_800_000_000


@dataclass
class SetClock(Clock):
    """A clock that only tests move."""

    seconds: float = float(NOW)

    def monotonic(self) -> float:
        return self.seconds

    def now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.seconds, datetime.UTC)


@dataclass
class MemoryCarrier:
    """Objects by name. A failure is raised by calls such as `("get", ObjectKind.PACK)`."""

    place: str = "memory"
    objects: dict[ObjectName, bytes] = field(default_factory=dict)
    failures: dict[tuple[str, ObjectKind], Exception] = field(default_factory=dict)
    calls: list[tuple[str, ObjectKind]] = field(default_factory=list)
    # Calls wait for it.
    open: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.open.set()

    def get(self, name: ObjectName) -> bytes | None:
        self._begin("get", name)
        return self.objects.get(name)

    def put(self, name: ObjectName, content: bytes) -> None:
        self._begin("put", name)
        self.objects[name] = content

    def _begin(self, verb: str, name: ObjectName) -> None:
        self.calls.append((verb, name.kind))
        self.open.wait(30)
        if failure := self.failures.get((verb, name.kind)):
            raise failure

    def close(self) -> None:
        return

    def names(self, kind: ObjectKind) -> list[ObjectName]:
        return [one for one in self.objects if one.kind is kind]


def link(key: str = KEY, **changes: Any) -> SharedLink:
    """A readable and writable cache, different where a test says so."""
    made = SharedLink(
        keys=parse_seal_keys(key),
        cache="cache",
        scope=MAIN,
        tool="0.1",
        reads=True,
        writes=True,
        wait_s=30.0,
        upload_s=30.0,
    )
    return replace(made, **changes)


def words(commit: str = "c") -> HeadTexts:
    return HeadTexts(commit, (f"commit/{commit}", "branch/main"), (f"commit/{commit}",))


def task(name: str = "one") -> Task:
    inputs = BuildInputs("shop", name, ".", f"{name}.py", "python3.11")
    return Task(build_task_id("build", "shop", name), inputs)


def offer(name: str, *contents: bytes, source: str = "source") -> Offer:
    """A build of one source file with these output files."""
    made = tuple(
        OutputFile(f"{number}.js", hash_bytes(one), len(one)) for number, one in enumerate(contents)
    )
    of = task(name)
    entries = of.inputs.entries()
    static = compute_static_hash(of.kind, entries)
    files = ((f"{name}.py", hash_fields((source,))),)
    trace = Trace(
        static=static,
        entries=entries,
        files=files,
        absent=(),
        listings=(ListingTrace("src", "*.py", (), hash_fields(("names",))),),
        upstream=(),
        links=(),
        key=compute_full_key(static, files, ()),
        output=Output(hash_fields(one.digest for one in made), made),
        ms=1500,
    )
    return Offer(of, trace)


def contents_of(*contents: bytes) -> Mapping[Digest, bytes]:
    return {hash_bytes(one): one for one in contents}


@dataclass
class Machine:
    """One command at one machine."""

    carrier: MemoryCarrier
    link: SharedLink = field(default_factory=link)
    words: HeadTexts = field(default_factory=words)
    clock: SetClock = field(default_factory=SetClock)
    folder: Path | None = None

    def __post_init__(self) -> None:
        self.uploads = BackgroundUploads(lambda: self.carrier)
        self.stored = StoredSegments(self.folder)

    def cache(self) -> SharedCache:
        """A cache whose query has begun."""
        found = SharedCache(self.link, self.uploads, lambda: self.words, self.clock)
        found.begin(self.stored)
        return found

    def publish(
        self,
        offers: Sequence[Offer],
        contents: Mapping[Digest, bytes],
        learned: Learned | None = None,
    ) -> str:
        """Upload results after a query, and return why some are missing."""
        publishing = Publishing(self.link, self.uploads, self.clock, contents.get)
        for one in offers:
            publishing.offer(one)
        publishing.close(learned or Learned(self.words, {}, {}), self.link.upload_s)
        return publishing.failure


def published(*contents: bytes, carrier: MemoryCarrier | None = None) -> MemoryCarrier:
    """A shared cache with one result named `one` that has these output files."""
    found = carrier or MemoryCarrier()
    assert Machine(found).publish([offer("one", *contents)], contents_of(*contents)) == ""
    return found
