"""The target state of a router on disk, and its references to endpoints."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.model.outcomes.routed import RoutedEndpoint, TargetState
from fabric.model.problems import Problem
from fabric.model.records.record import RecordRef
from fabric.model.routing.routing import WHOLE
from fabric.system.files.disk import read_bytes


class _Led(Struct, frozen=True):
    hostname: str = ""


class _History(Struct, frozen=True):
    """Newest first."""

    entries: tuple[_Led, ...] = ()


TARGET_STATE = Decoder(TargetState)
_HISTORY = Decoder(_History)


def build_target_state_path(home: Path, stage: str) -> Path:
    return home / f"fabric-state-{stage}.json"


def build_history_path(home: Path, stage: str) -> Path:
    return home / f"router-sync-{stage}.json"


def find_router_references(project: Project, refs: Iterable[RecordRef]) -> Iterator[Problem]:
    """Warn of hostnames that point to deleted endpoints, or to endpoints about to be deleted.

    Unreadable states are reported by router commands.
    """
    gone = frozenset((ref.service, ref.provider) for ref in refs)
    for unit in project.units:
        home = Path(build_placement(unit, project.workspace, project.home).home)
        rows = _read_endpoints(home, unit.service, project.stage)
        led = [one for one in rows if one.weight and (unit.service, one.label) in gone]
        if led:
            listed = ", ".join(f"`{one.label}` with {one.weight} %" for one in led)
            message = f"{_name(home, project.stage)} still routes to removed endpoints: {listed}"
            yield Problem(
                "router/still-led",
                message,
                _suggest_router_command(rows, {one.label for one in led}),
            )


def _name(home: Path, stage: str) -> str:
    """Return the hostname of the last update. A removal reads no optional config values."""
    try:
        found = _HISTORY.decode(read_bytes(build_history_path(home, stage)))
    except (OSError, DecodeError, UnicodeDecodeError):
        return "the hostname of the router"
    name = next((one.hostname for one in found.entries if one.hostname), "")
    return f"`{name}`" if name else "the hostname of the router"


def _read_endpoints(home: Path, service: str, stage: str) -> tuple[RoutedEndpoint, ...]:
    try:
        found = TARGET_STATE.decode(read_bytes(build_target_state_path(home, stage)))
    except (OSError, DecodeError, UnicodeDecodeError):
        return ()
    return found.endpoints if (found.service, found.stage) == (service, stage) else ()


def _suggest_router_command(rows: Iterable[RoutedEndpoint], gone: set[str]) -> str:
    staying = [one.label for one in rows if one.label not in gone]
    if not staying:
        return "delete the DNS record at its DNS provider: no endpoint is left"
    # Each of the other endpoints keeps at least one percent.
    most = WHOLE - max(1, len(staying) - 1)
    return f"run: fabric router dns-shift --provider {staying[0]} --percent {most}"
