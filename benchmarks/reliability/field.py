"""The project that campaigns run over, and what has to hold of it after every round."""

import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.reliability.warm import Place
from fabric.model.problems import FabricError
from fabric.model.records.record import FunctionRecord, Record, RecordRef
from fabric.model.records.record_json import decode
from fabric.state.backends.local import Local
from fabric.state.contract import build_state_key, lock_key
from fabric.state.locks.document import decode_lock
from fabric.state.records.transaction import read_unlocked
from fabric.state.store import BackEndPair, RecordStore
from fabric.system.process.process_identity import is_surely_dead
from tests.support.project import Project, handler, project

REF = RecordRef("shop", "dev", "cloud1-lambda")
_HEAD = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\nfunctions:\n"


@dataclass(slots=True)
class Field:
    """`versions` is what each function's source says now."""

    made: Project
    env: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        return Place(self.made.root, self.made.home, self.env)

    @property
    def home(self) -> Path:
        return self.made.root / ".fabric"

    @property
    def record_store(self) -> RecordStore:
        local = Local(self.home / "state")
        return RecordStore(self.home, BackEndPair(local, local))

    def edit(self, name: str, version: str) -> None:
        self.versions[name] = version
        self.made.write({f"src/{name}.py": handler(f"{name} {version}")})

    # What has to hold at any moment, also in the middle of a run that died.

    def unreadable(self) -> Iterator[str]:
        """Everything that claims to be JSON is, and the state has its checksum."""
        for path in self._documents():
            try:
                json.loads(path.read_bytes())
            except ValueError as error:
                yield f"{path.relative_to(self.made.root)} cannot be read: {error}"
        try:
            read_unlocked(self.record_store, REF)
        except FabricError as error:
            yield f"the state is damaged: {error}"

    def _documents(self) -> Iterator[Path]:
        for below in ("state", "deploy", "errored"):
            yield from sorted((self.home / below).rglob("*.json"))
            yield from sorted((self.home / below).rglob("*.bak"))
        yield from sorted(self.home.glob("*.json"))

    def record(self) -> Record | None:
        return read_unlocked(self.record_store, REF)

    def live(self, name: str) -> str:
        """The version that the record says is live: read out of the archive that is kept for it."""
        record = self.record()
        found = record.function(name) if record else None
        return self.source(found) if found else ""

    def source(self, found: FunctionRecord) -> str:
        with zipfile.ZipFile(self.home / "archives" / f"{found.artifact_sha256}.zip") as archive:
            return archive.read(f"src/{found.name}.py").decode()

    def lost(self, names: Iterable[str]) -> Iterator[str]:
        """Functions whose newest version was said to be live, and is not in the record."""
        named = [one for name in names for one in ([name] if name else self.versions)]
        for name in named:
            if self.versions[name] not in self.live(name):
                yield f"{name} was acknowledged at {self.versions[name]}, the record says otherwise"

    # What has to hold once a run was left alone.

    def unsettled(self) -> Iterator[str]:
        record = self.record()
        if record is None:
            yield "there is no record"
            return
        if record.pending or record.lifecycle != "deployed":
            yield f"the record is {record.lifecycle}, {len(record.pending)} intents are open"
        yield from self.lost(self.versions)
        yield from (f"left over: {path}" for path in self.made.leftovers())
        if record != self._stored():
            yield "a log knows more than the state"
        stored = self.record_store.stores.locks.read(lock_key(REF))
        holder = decode_lock(stored.content) if stored else None
        # One that a killed run left is free: the next to come sees that its holder is dead.
        if holder and not is_surely_dead(holder.process):
            yield "the lock is still held"
        yield from self._wrong_receipt(record)

    def _stored(self) -> Record | None:
        stored = self.record_store.stores.state.read(build_state_key(REF))
        return decode(stored.content, "the state") if stored else None

    def _wrong_receipt(self, record: Record) -> Iterator[str]:
        entries = json.loads((self.home / "dev.json").read_text())["deployments"]
        own = [
            one
            for one in entries
            if (one.get("service"), one.get("provider")) == (REF.service, REF.provider)
        ]
        wanted = {one.name: one.artifact_sha256 for one in record.functions}
        if [one.get("artifacts") for one in own] != [wanted]:
            yield "the receipt is not that of the record"


def new_field(folder: Path, functions: int = 12) -> Field:
    names = [f"f{number:02}" for number in range(functions)]
    rows = "".join(f"  - {{name: {one}, entry: src/{one}.handler}}\n" for one in names)
    made = Field(project(folder, _HEAD + rows, {}))
    for name in names:
        made.edit(name, "v0")
    return made


def acknowledged(events: Path) -> tuple[str, ...]:
    """The deploys that a run said were done: functions, or `""` for the service as a whole."""
    text = events.read_text() if events.exists() else ""
    # A killed run may have torn its last line.
    return tuple(_deployed(text.rpartition("\n")[0].splitlines()))


def _deployed(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        event = json.loads(line)
        kind, _, rest = str(event.get("task", "")).partition(":")
        if (event["type"], kind, event.get("status")) == ("task_ended", "deploy", "ran"):
            yield rest.partition("@")[0].partition("/")[2]
