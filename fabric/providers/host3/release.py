"""Release on Fly: route requests to the machines of a version, and away from the others."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import quote

from msgspec import Struct

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.core.errors import ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.release_state import ReleaseState, read_kept_texts
from fabric.providers.core.retry import sleep_interruptibly
from fabric.providers.core.triggers import build_outputs
from fabric.providers.core.whole_service import (
    build_function_name,
    list_deployed,
    list_recorded_rows,
    parse_version,
    require_one_version,
)
from fabric.providers.host3.client import Host3Work
from fabric.providers.host3.functions import (
    await_machine,
    delete_resource,
    delete_secrets,
    format_machines,
    require_own_app,
    set_secrets,
)
from fabric.providers.host3.images import delete_unused_images
from fabric.providers.host3.machines import (
    MachineRow,
    act_on_machine,
    delete_machines,
    fetch_machine,
    leased,
    list_machines,
    list_own,
    note_live,
    pick_by_number,
    stop_machine,
)

APP, VERSION, ADDRESSES, HOSTNAME = "app", "version", "addresses", "hostname"
ONE_VERSION = "an app shows one"
# Both are free. An app that the API created has none.
_ADDRESSES = "ADDRESSES"
_ADDRESS_TYPES = ("shared_v4", "v6")


def release_service(
    work: Host3Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> Released:
    functions = list_deployed(functions)
    ident = require_one_version(address, functions, "version", ONE_VERSION)
    noted = read_kept_texts(address)
    own = require_own_app(work, list_machines(work) or ())
    new = [*pick_by_number(own, ident).values()]
    if not new:
        message = f"the version {ident} has no machines in the app `{work.app}`"
        hint = "deploy again with `--force`: the machines were deleted outside fabric"
        raise FabricError(Problem("deploy/incomplete", message, hint))
    _open_addresses(work, noted)
    hostname = _move_hostname(work, noted)
    picked = {one.ident for one in new}
    old = [one for one in own if one.ident not in picked]
    _switch_traffic(work, new, old, is_sure=noted.is_sure)
    _delete_unused(work, address, new, old)
    endpoint = f"https://{hostname}" if hostname else work.api.account.url
    outputs = build_outputs(endpoint, functions, partial(build_function_name, address))
    left = {APP: work.app, VERSION: ident, ADDRESSES: "yes", HOSTNAME: hostname}
    return Released(endpoint, outputs, tuple((name, text) for name, text in left.items() if text))


def _switch_traffic(
    work: Host3Work, new: Sequence[MachineRow], old: Sequence[MachineRow], *, is_sure: bool
) -> None:
    """Open the new machines, then close and stop the old ones. The new clock starts last, so that
    no schedule runs twice. An interrupted switch is completed by the next run: each step can be
    repeated."""
    opening = [one for one in new if not (is_sure and one.is_live)]
    # An interrupted switch can leave a clock running that is no longer noted as live.
    closing = [one for one in old if one.is_live or not is_sure or one.is_running_clock]
    if not opening and not closing:
        return
    serving = [one for one in opening if not one.is_clock]
    for row in serving:
        _start(work, row)
    with leased(work, (*opening, *closing)) as nonces:
        for row in serving:
            note_live(work, row, nonces[row.ident], is_live=True)
            act_on_machine(work, row, "uncordon", nonces[row.ident])
        if closing:
            _close(work, closing, nonces)
        for row in (one for one in opening if one.is_clock):
            _start(work, row, nonces[row.ident])
            note_live(work, row, nonces[row.ident], is_live=True)
    work.watch.hear(f"the version {new[0].mark} receives all traffic at {work.api.account.url}")


def _close(work: Host3Work, rows: Sequence[MachineRow], nonces: Mapping[str, str]) -> None:
    """Close and stop machines, each step once the proxy knows the one before."""
    _settle(work)
    for row in rows:
        if not row.is_clock:
            act_on_machine(work, row, "cordon", nonces[row.ident])
        note_live(work, row, nonces[row.ident], is_live=False)
    running = [one for one in rows if one.is_started]
    if running:
        _settle(work)
    for row in running:
        stop_machine(work, row, nonces[row.ident])


def _start(work: Host3Work, row: MachineRow, nonce: str = "") -> None:
    """Start a machine that does not run, and wait for its checks."""
    there = fetch_machine(work, row.ident)
    if not there.is_started and not there.is_failed:
        act_on_machine(work, row, "start", nonce)
        there = fetch_machine(work, row.ident)
        if there.is_resting:
            there = MachineRow(ident=row.ident, state="starting", config=row.config)
    await_machine(work, there)


def _settle(work: Host3Work) -> None:
    """Wait until the proxy knows the change."""
    sleep_interruptibly(work.own.settle_seconds, work.waiting, work.watch)


def _delete_unused(
    work: Host3Work,
    address: DeploymentAddress,
    new: Sequence[MachineRow],
    old: Sequence[MachineRow],
) -> None:
    """Delete machines that no rollback needs, with their secrets and images."""
    ident = new[0].mark
    recorded = {
        parse_version(one.resource_id).ident for one in list_recorded_rows(address.previous)
    }
    unused = [one for one in old if one.mark not in recorded or one.mark == ident]
    delete_machines(work, unused)
    delete_unused_images(work, unused, (*new, *(one for one in old if one not in unused)))
    marks = {one.mark for one in unused} - recorded - {ident}
    if marks:
        ends = tuple(f"{work.owner.secret_prefix}{mark[:8].upper()}_" for mark in marks)
        delete_secrets(work, [one for one in _list_secrets(work) if one.startswith(ends)])


class _Secret(Struct, frozen=True):
    name: str = ""


class _Secrets(Struct, frozen=True):
    secrets: tuple[_Secret, ...] | None = None


def _list_secrets(work: Host3Work) -> list[str]:
    """List the names of the secrets of the service."""
    found = work.look(ProviderCall("GET", work.path("/secrets")), _Secrets) or _Secrets()
    prefix = work.owner.secret_prefix
    return [one.name for one in found.secrets or () if one.name.startswith(prefix)]


class _Address(Struct, frozen=True):
    ip: str = ""
    shared: bool = False

    @property
    def kind(self) -> str:
        return "v6" if ":" in self.ip else "shared_v4"


class _Addresses(Struct, frozen=True):
    ips: tuple[_Address, ...] | None = None


def _open_addresses(work: Host3Work, noted: ReleaseState) -> None:
    """Assign shared addresses to an app without an address, so that its hostname resolves."""
    if noted.sure(ADDRESSES):
        return
    marker = work.owner.marker(_ADDRESSES)
    there = work.patient(lambda: _list_addresses(work))
    if there and (len(there) >= len(_ADDRESS_TYPES) or marker not in _list_secrets(work)):
        return
    if not there:
        set_secrets(work, {marker: work.owner.name})
    missing = set(_ADDRESS_TYPES) - {one.kind for one in there}
    for kind in sorted(missing):
        _assign_address(work, kind)


def _assign_address(work: Host3Work, kind: str) -> None:
    call = build_json_call("POST", work.path("/ip_assignments"), {"type": kind})
    tries = itertools.count()

    def act() -> None:
        """Assign an address, unless an earlier try with a lost response did."""
        if next(tries) == 0 or kind not in {one.kind for one in _list_addresses(work)}:
            work.send(call, object)

    work.patient(act)


def _list_addresses(work: Host3Work) -> tuple[_Address, ...]:
    return work.send(ProviderCall("GET", work.path("/ip_assignments")), _Addresses).ips or ()


def _delete_addresses(work: Host3Work) -> None:
    """Delete the addresses that fabric assigned. A dedicated one is not deleted."""
    for one in work.patient(lambda: _list_addresses(work)):
        if one.shared or one.kind == "v6":
            delete_resource(work, f"/ip_assignments/{quote(one.ip, safe='')}")


class _Requirements(Struct, frozen=True):
    a: tuple[str, ...] | None = None
    aaaa: tuple[str, ...] | None = None
    cname: str | None = None

    @property
    def words(self) -> str:
        rows = [("CNAME", (self.cname,) if self.cname else ()), ("A", self.a), ("AAAA", self.aaaa)]
        return ", or ".join(f"{kind} {' '.join(found)}" for kind, found in rows if found)


class _Certificate(Struct, frozen=True):
    dns_requirements: _Requirements | None = None


def _move_hostname(work: Host3Work, noted: ReleaseState) -> str:
    """Request the certificate of the hostname, and delete that of an earlier one."""
    wanted, there = work.own.hostname, noted.texts.get(HOSTNAME, "")
    if there and there != wanted:
        _delete_certificate(work, there, _list_secrets(work))
    if wanted and (noted.sure(HOSTNAME) or "") != wanted:
        look = ProviderCall("GET", work.path(f"/certificates/{wanted}"))
        if work.look(look, _Certificate) is None:
            # Shows later that fabric requested it, also if the response is lost.
            set_secrets(work, {_build_marker(work, wanted): wanted})
            call = build_json_call("POST", work.path("/certificates/acme"), {"hostname": wanted})
            found = work.patient(
                lambda: work.look_once(look, _Certificate) or work.send(call, _Certificate)
            )
            needs = found.dns_requirements or _Requirements()
            work.watch.hear(f"create this DNS record for {wanted}: {work.quoted(needs.words)}")
    return wanted


def _build_marker(work: Host3Work, hostname: str) -> str:
    return work.owner.marker(f"HOST_{hash_bytes(hostname.encode())[:8].upper()}")


def _delete_certificate(work: Host3Work, hostname: str, secrets: Sequence[str]) -> None:
    """Delete a certificate that fabric requested."""
    marker = _build_marker(work, hostname)
    if marker in secrets:
        delete_resource(work, f"/certificates/{hostname}")
        delete_resource(work, f"/secrets/{marker}")


def delete_service(
    work: Host3Work, address: DeploymentAddress, _functions: Sequence[LiveFunction]
) -> None:
    """Delete the machines, secrets and certificate of the service, and an app that fabric
    created."""
    rows = list_machines(work)
    if rows is None:
        return
    own = [one for one in rows if one.is_of(work.owner)]
    delete_machines(work, own)
    secrets = _list_secrets(work)
    noted = read_kept_texts(address).texts.get(HOSTNAME, "")
    for hostname in sorted({noted, work.own.hostname} - {""}):
        _delete_certificate(work, hostname, secrets)
    marker = work.owner.marker("APP")
    if work.owner.marker(_ADDRESSES) in secrets and marker not in secrets:
        _delete_addresses(work)
    delete_secrets(work, [one for one in secrets if one != marker])
    if marker in secrets and len(own) == len(rows):
        # Deleted last: an interrupted removal still finds the marker.
        with ignore_missing():
            work.ask(ProviderCall("DELETE", work.path()), object)
        work.watch.hear(f"deleted the app {work.app}")
        return
    delete_unused_images(work, own, ())
    if own:
        work.watch.hear(f"deleted {format_machines(own)}; the app {work.app} was not deleted")


def find_missing(work: Host3Work, address: DeploymentAddress) -> Iterator[str]:
    ident = read_kept_texts(address).texts.get(VERSION, "")
    own = list_own(work)
    live = [one for one in own if one.mark == ident]
    if ident and not any(one.is_live for one in live if not one.is_clock):
        yield f"the machines of the version `{ident}`"
    if any(not one.is_live for one in live if one.is_clock):
        yield f"the running clock of the version `{ident}`"
