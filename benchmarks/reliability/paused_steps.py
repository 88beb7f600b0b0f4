"""A holder that is stopped before or after any of its calls of the store, past its lease."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as made_by
from pathlib import Path
from urllib.parse import unquote

from benchmarks.reliability.field import REF, Field, new_field
from fabric.model.backends import BackendKind
from fabric.model.records.record import Record
from fabric.state.backends.registry import open_backend
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import RecordStore
from tests.support.project import Done, ended
from tests.support.servers.gcs import Gcs, serving

_LEASE = "0.5"
_TOOL = '#!/bin/sh\necho \'{"endpoint": "https://live.example"}\'\n'


@dataclass
class _Stops:
    """Stops a process at one of its steps, lets somebody else deploy, and lets it go on.

    Beats come when they come: of the writes of locks only the first is a step.
    """

    field: Field
    number: int
    at: int
    first: subprocess.Popen[str] | None = None
    second: Done | None = None
    steps: int = 0
    locked: bool = False
    guard: threading.Lock = made_by(default_factory=threading.Lock)
    ready: threading.Event = made_by(default_factory=threading.Event)

    def watch(self, method: str, url: str) -> None:
        self.ready.wait()
        with self.guard:
            if self.second is not None or not self._is_step(method, unquote(url)):
                return
            self.steps += 1
            if self.steps != self.at or self.first is None or self.first.poll() is not None:
                return
            self.second = Done(-1, "", "")
        os.kill(self.first.pid, signal.SIGSTOP)
        self.field.edit("f00", f"taken over {self.number}")
        words = ("deploy", "--lock-timeout", "30s")
        self.second = self.field.made.json(*words, env=self.field.env)
        os.kill(self.first.pid, signal.SIGCONT)

    def _is_step(self, method: str, url: str) -> bool:
        if method == "GET" or ".locks/" not in url:
            return True
        # Each call is heard of twice: before and after.
        seen, self.locked = self.locked, True
        return not seen


def rounds(count: int, folder: Path) -> Iterator[str]:
    """One step after the other; behind the last of a deploy it begins again with the first."""
    gcs = Gcs()
    with serving(gcs):
        made = _field(folder, gcs)
        made.made.json("deploy", env=made.env)
        at = 0
        for number in range(count):
            at += 1
            stops = _Stops(made, number, at)
            gcs.watch = stops.watch
            yield from (f"round {number}, step {at}: {one}" for one in _round(stops))
            gcs.watch = lambda _method, _url: None
            if stops.second is None:
                at = 0


def _field(folder: Path, gcs: Gcs) -> Field:
    made, tool = new_field(folder / "field", 2), folder / "tool"
    tool.write_text(_TOOL)
    tool.chmod(0o755)
    config = made.made.root / "fabric.yml"
    backend = f"backend: {{kind: objstore2, objstore2Bucket: {gcs.bucket}}}\n"
    config.write_text(config.read_text() + backend)
    made.env = {
        "OBJSTORE2_ACCESS_TOKEN": gcs.token,
        "OBJSTORE2_ENDPOINT_URL": gcs.endpoint,
        "FABRIC_CLOUD1_REAL_DEPLOY": "1",
        "FABRIC_CLOUD1_DEPLOY_CMD": str(tool),
        "FABRIC_LOCK_LEASE": _LEASE,
    }
    return made


def _round(stops: _Stops) -> Iterator[str]:
    made = stops.field
    made.edit("f00", f"paused {stops.number}")
    stops.first = made.made.start("deploy", "--json", env=made.env)
    stops.ready.set()
    first = ended(stops.first)
    if stops.second is not None and stops.second.code != 0:
        yield f"the second deploy ended with {stops.second.code}: {stops.second.out}"
    if first.code != 0 and _codes(first) != {"state/lock-lost"}:
        yield f"the first ended with {first.code}: {first.out}{first.err}"
    yield from _wrong(made, stops, lost=first.code != 0)


def _codes(done: Done) -> set[str]:
    return {problem["code"] for problem in json.loads(done.out)["error"]["problems"]}


def _wrong(made: Field, stops: _Stops, *, lost: bool) -> Iterator[str]:
    record = _record(made)
    function = record.function("f00") if record else None
    if record is None or function is None or record.pending or record.lifecycle != "deployed":
        yield f"the record is not whole: {record}"
        return
    source = made.source(function)
    fits = [f"taken over {stops.number}"] if stops.second else []
    fits += [] if lost else [f"paused {stops.number}"]
    if not any(one in source for one in fits):
        yield f"the record says {source!r}, not {fits}"
    (entry,) = json.loads((made.home / "dev.json").read_text())["deployments"]
    if entry["artifacts"] != {one.name: one.artifact_sha256 for one in record.functions}:
        yield "the receipt is not that of the record"


def _record(made: Field) -> Record | None:
    kind, settings = BackendKind.OBJSTORE2, {"objstore2Bucket": "state"}
    stores = open_backend(kind, settings, made.env, made.home)
    try:
        return read_unlocked(RecordStore(made.home, stores), REF)
    finally:
        stores.close()
