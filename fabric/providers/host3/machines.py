"""The machines of an app: list, create, start, lease and delete them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.providers.core.whole_service import WholeOwner, count_marks
from fabric.providers.host3.client import Host3Work
from fabric.providers.host3.documents import (
    CLOCK,
    COUNT,
    LIVE,
    MARK,
    NUMBER,
    OWNER,
    PARTS,
    ROLE,
    MachinePlan,
)
from fabric.system.retry import TransientError

_STARTED, _GONE = "started", frozenset(("destroying", "destroyed", "replaced", "migrated"))
_RESTING = frozenset(("stopped", "suspended"))
_PASSING = "passing"
_CONFLICT = 409
_NONCE = "fly-machine-lease-nonce"
# New machines appear in lists after this time, in seconds.
_LIST_SECONDS = 3.0
# A lease outlives the pauses of a release by this.
_LEASE_SECONDS = 30


class _ExitEvent(Struct, frozen=True):
    exit_code: int | None = None
    oom_killed: bool = False
    requested_stop: bool = False


class _EventRequest(Struct, frozen=True):
    exit_event: _ExitEvent | None = None


class MachineEvent(Struct, frozen=True):
    # In milliseconds.
    timestamp: int = 0
    request: _EventRequest | None = None


class _Check(Struct, frozen=True):
    status: str = ""


class _Config(Struct, frozen=True):
    image: str = ""
    metadata: dict[str, str] | None = None
    services: tuple[object, ...] | None = None


class MachineRow(Struct, frozen=True):
    """A machine in a response."""

    ident: str = field(name="id", default="")
    state: str = ""
    # In UTC, as text in one format.
    created_at: str = ""
    config: _Config | None = None
    checks: tuple[_Check, ...] | None = None
    events: tuple[MachineEvent, ...] | None = None
    # Only in the responses of newer versions of the API.
    cordoned: bool | None = None

    @property
    def image(self) -> str:
        return self.config.image if self.config else ""

    @property
    def texts(self) -> dict[str, str]:
        return (self.config.metadata if self.config else None) or {}

    @property
    def mark(self) -> str:
        return self.texts.get(MARK, "")

    @property
    def number(self) -> str:
        return self.texts.get(NUMBER, "")

    @property
    def is_there(self) -> bool:
        return self.state not in _GONE

    @property
    def has_services(self) -> bool:
        return bool(self.config and self.config.services)

    @property
    def is_clock(self) -> bool:
        """Whether it calls functions at their schedules, and serves no requests."""
        return self.texts.get(ROLE) == CLOCK

    @property
    def is_running_clock(self) -> bool:
        return self.is_clock and self.is_started

    @property
    def is_live(self) -> bool:
        """Whether the proxy can send requests to it, or its clock runs."""
        if self.is_clock:
            return self.texts.get(LIVE) == "true" and self.state not in _RESTING
        return self.texts.get(LIVE) == "true" if self.cordoned is None else not self.cordoned

    @property
    def is_started(self) -> bool:
        return self.state == _STARTED

    @property
    def state_word(self) -> str:
        words = [one.status for one in self.checks or ()]
        return f"{self.state}, checks {', '.join(words)}" if words else self.state

    @property
    def is_ready(self) -> bool:
        checks = self.checks or ()
        if self.is_clock:
            return self.is_started
        return self.is_started and bool(checks) and all(one.status == _PASSING for one in checks)

    @property
    def is_resting(self) -> bool:
        """Whether it was stopped while it was idle, also before its release."""
        return self.state in _RESTING and not self.is_failed

    @property
    def is_failed(self) -> bool:
        return self.state == "failed" or not self.is_there or self._failed_exit is not None

    @property
    def _failed_exit(self) -> _ExitEvent | None:
        """The last end of its process, if it was not requested and nothing passed since."""
        if any(one.status == _PASSING for one in self.checks or ()):
            return None
        if self.is_running_clock:
            return None
        ends = [one for one in self.events or () if one.request and one.request.exit_event]
        newest = max(ends, key=lambda one: one.timestamp, default=None)
        last = newest.request.exit_event if newest and newest.request else None
        is_wanted = last is None or last.requested_stop or not last.exit_code
        return None if is_wanted else last

    @property
    def error_message(self) -> str | None:
        last = self._failed_exit
        if last is None:
            return None
        if last.oom_killed:
            return "it ran out of memory"
        words = f"its process ended with exit code {last.exit_code}"
        words += "" if self.is_clock else " before its first response"
        return f"{words}: `fly logs` shows its output"

    def is_of(self, owner: WholeOwner) -> bool:
        return self.texts.get(OWNER) == owner.digest

    def count_in(self, function: str, mark: str) -> int:
        return count_marks(self.texts.get(PARTS, ""), function, mark)


def list_machines(work: Host3Work) -> tuple[MachineRow, ...] | None:
    """List all machines of the app, oldest first; None if the app does not exist."""
    return work.patient(lambda: _list_once(work))


def _list_once(work: Host3Work) -> tuple[MachineRow, ...] | None:
    call = ProviderCall("GET", work.path("/machines"))
    rows = work.look_once(call, tuple[MachineRow, ...])
    if rows is None:
        return None
    there = (one for one in rows if one.is_there and one.ident)
    return tuple(sorted(there, key=lambda one: (one.created_at, one.ident)))


def list_own(work: Host3Work) -> list[MachineRow]:
    return [one for one in list_machines(work) or () if one.is_of(work.owner)]


def pick_by_number(rows: Sequence[MachineRow], mark: str) -> dict[str, MachineRow]:
    """Pick the machines of a version, one per number: a lost response can leave another one."""
    found: dict[str, MachineRow] = {}
    for one in rows:
        if one.mark == mark:
            found.setdefault(one.number, one)
    return found


def is_complete(rows: Sequence[MachineRow], mark: str) -> bool:
    """Return whether a version has all its machines, and none of them failed."""
    there = pick_by_number(rows, mark).values()
    counts = {one.texts.get(COUNT, "") for one in there}
    return counts == {str(len(there))} and not any(one.is_failed for one in there)


def fetch_machine(work: Host3Work, ident: str) -> MachineRow:
    """Fetch a machine. A machine created a moment ago can be missing."""

    def act() -> MachineRow:
        try:
            return work.send(ProviderCall("GET", work.path(f"/machines/{ident}")), MachineRow)
        except RefusedCallError as error:
            if error.is_gone:
                raise TransientError(f"the machine {ident} does not exist yet") from error
            raise

    return work.patient(act)


def create_machine(
    work: Host3Work, plan: MachinePlan, number: int, secrets_version: int
) -> MachineRow:
    """Create a machine, unless an earlier try with a lost response did."""
    document = plan.build_document(number, secrets_version)
    call = build_json_call("POST", work.path("/machines"), document)
    is_first = True

    def look() -> MachineRow | None:
        rows = [one for one in _list_once(work) or () if one.is_of(work.owner)]
        return pick_by_number(rows, plan.ident).get(str(number))

    def act() -> MachineRow:
        nonlocal is_first
        if not is_first:
            brief = replace(work.waiting, most=min(work.waiting.most, _LIST_SECONDS))
            found = poll_until(look, brief, work.watch)
            if found is not None:
                return found
        is_first = False
        made = work.send(call, MachineRow)
        if not made.ident:
            raise TransientError(f"invalid response to `{call.title}`")
        return made

    return work.patient(act)


def act_on_machine(work: Host3Work, row: MachineRow, action: str, nonce: str = "") -> None:
    call = ProviderCall("POST", work.path(f"/machines/{row.ident}/{action}"))
    work.ask(replace(call, headers=((_NONCE, nonce),) if nonce else ()), object)


def stop_machine(work: Host3Work, row: MachineRow, nonce: str) -> None:
    """Stop a machine. Its `stop_config` limits the time of its last requests."""
    path = work.path(f"/machines/{row.ident}/stop")
    call = build_json_call("POST", path, {"signal": "SIGTERM"})
    work.ask(replace(call, headers=((_NONCE, nonce),)), object)


def note_live(work: Host3Work, row: MachineRow, nonce: str, *, is_live: bool) -> None:
    """Note in the metadata whether a machine receives traffic."""
    path = work.path(f"/machines/{row.ident}/metadata/{LIVE}")
    call = build_json_call("POST", path, {"value": "true" if is_live else "false"})
    work.ask(replace(call, headers=((_NONCE, nonce),)), object)


def delete_machines(work: Host3Work, rows: Sequence[MachineRow]) -> None:
    run_parallel(lambda one: _delete_machine(work, one), rows)


def _delete_machine(work: Host3Work, row: MachineRow) -> None:
    call = ProviderCall("DELETE", work.path(f"/machines/{row.ident}?force=true"))
    with work.convert_errors(f"the machine {row.ident}"), ignore_missing():
        work.ask(call, object)


class _LeaseData(Struct, frozen=True):
    nonce: str = ""
    description: str = ""


class _Lease(Struct, frozen=True):
    """A lease: the client has it in an envelope, the API description without one."""

    nonce: str = ""
    description: str = ""
    data: _LeaseData | None = None

    @property
    def inner(self) -> _LeaseData:
        return self.data or _LeaseData(self.nonce, self.description)


@contextmanager
def leased(work: Host3Work, rows: Sequence[MachineRow]) -> Iterator[dict[str, str]]:
    """Hold the leases of machines: no other client changes them meanwhile. Yields the nonce of each
    machine."""
    nonces: dict[str, str] = {}
    try:
        for row in rows:
            nonces[row.ident] = _acquire(work, row)
        yield nonces
    finally:
        for ident, nonce in nonces.items():
            path = work.path(f"/machines/{ident}/lease")
            with ignore_missing():
                work.ask(ProviderCall("DELETE", path, headers=((_NONCE, nonce),)), object)


def _acquire(work: Host3Work, row: MachineRow) -> str:
    seconds = _LEASE_SECONDS + 2 * round(work.own.settle_seconds)
    title = f"fabric releases {work.owner.name}"
    path = work.path(f"/machines/{row.ident}/lease")
    call = build_json_call("POST", path, {"ttl": seconds, "description": title})

    def act() -> str:
        try:
            return work.send(call, _Lease).inner.nonce
        except RefusedCallError as error:
            if error.status != _CONFLICT:
                raise
            # That of an interrupted run is still ours: the lock of the state keeps others away.
            there = work.look_once(ProviderCall("GET", path), _Lease)
            if there is not None and there.inner.description == title and there.inner.nonce:
                return there.inner.nonce
            raise TransientError(work.quoted(error.words)) from error

    nonce = work.patient(act)
    if not nonce:
        message = f"the response to `{call.title}` contains no lease"
        raise FabricError(Problem("provider/refused", message, "run the command again"))
    return nonce
