"""Schedules of functions: their stored texts, and the changes from the last release."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.work import ApiWork

# In the stored values, before the name of a function.
CLOCKS = "clocks:"


class DesiredSchedule(Protocol):
    """A desired schedule. `digest` is a hash of all its settings and identifies earlier
    versions."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def number(self) -> int:
        """The number of the config trigger."""


Schedule = TypeVar("Schedule", bound=DesiredSchedule)


class ScheduleCalls(Struct, Generic[Schedule], frozen=True):
    """The calls for the schedules of one function. `kind` is the provider's noun of a schedule."""

    kind: str
    list_existing: Callable[[], Iterable[str]]
    put: Callable[[Schedule], None]
    delete: Callable[[str], None]


def format_schedules(wanted: Mapping[str, DesiredSchedule]) -> str:
    return " ".join(sorted(f"{one.id}={one.digest}" for one in wanted.values()))


def parse_schedules(text: str) -> dict[str, str]:
    """Map the ids of stored schedules to their digests."""
    return {pair.rpartition("=")[0]: pair.rpartition("=")[2] for pair in text.split()}


def list_stored_schedules(texts: Mapping[str, str], kind: str = CLOCKS) -> list[str]:
    """List the ids of all schedules in the stored values."""
    stored = (text for name, text in texts.items() if name.startswith(kind))
    return [ident for text in stored for ident in parse_schedules(text)]


def update_schedules(
    work: ApiWork[object],
    function: str,
    wanted: Mapping[str, Schedule],
    stored: str | None,
    calls: ScheduleCalls[Schedule],
) -> None:
    """Create, update and delete schedules. `stored` is the text of the last release, or None if it
    cannot be trusted."""
    if stored == format_schedules(wanted):
        return
    then = parse_schedules(stored or "")
    existing = set(calls.list_existing()) if stored is None else set(then)
    for schedule in wanted.values():
        if then.get(schedule.id) != schedule.digest:
            whose = f"function `{function}`, {schedule.title}"
            with attach_error_spot(function, schedule.number), work.convert_errors(whose):
                calls.put(schedule)
            work.watch.hear(f"{function}: created the {calls.kind} {schedule.id}")
    for ident in sorted(existing - set(wanted)):
        calls.delete(ident)
