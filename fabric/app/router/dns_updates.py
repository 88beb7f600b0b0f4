"""DNS updates as tasks of a deploy graph."""

import contextlib
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.records.deploy_work import DeployWork, find_config_file
from fabric.app.records.scope import DnsSyncFactory
from fabric.app.request import RouterTargets, Where
from fabric.app.router.scope import RouterRequest, RouterScope, open_router
from fabric.app.router.sync import DnsChange, Synced, find_last_entry, sync_router
from fabric.model.names import Digest
from fabric.model.records.record import Record, RecordRef
from fabric.model.task_inputs import DnsSyncInputs
from fabric.router.settings import ChangeConsent
from fabric.tasks.deploy_tools import NameStanding, NameSynced

RecordOf = Callable[[RecordRef], Record | None]
# That it was deployed is the reason.
_DEPLOYED = DnsChange("dns-sync", "deploy", consent=ChangeConsent("deployed"))


class DnsUpdateRequest(Struct, frozen=True):
    """The selected services, the DNS change, and the result callback."""

    where: Where
    lock_timeout: float
    change: DnsChange
    told: Callable[[Synced], None]


class RunDnsUpdates:
    """DNS updates of a run. `record` returns this run's releases before they are written."""

    def __init__(self, work: DeployWork, record: RecordOf, asked: DnsUpdateRequest) -> None:
        self._work = work
        self._record = record
        self._asked = asked

    def standing(self, inputs: DnsSyncInputs) -> NameStanding:
        with self._open_scope(inputs) as scope:
            missing = tuple(one.label for one in scope.targets if not one.host)
            if missing:
                return NameStanding(Digest(""), "", missing)
            last = find_last_entry(scope)
            wanted = scope.compute_routing(scope.weights()).digest
            return NameStanding(wanted, last.desired if last else "")

    def sync(self, inputs: DnsSyncInputs) -> NameSynced:
        with self._open_scope(inputs) as scope:
            done = sync_router(scope, self._asked.change, self._work.settings)
            wanted = scope.compute_routing(tuple(done.outcome.weights.items())).digest
        shares = ", ".join(f"{label} {share} %" for label, share in done.outcome.weights.items())
        self._asked.told(done)
        return NameSynced(wanted, f"{done.outcome.hostname}: {shares}", done.warnings)

    @contextlib.contextmanager
    def _open_scope(self, inputs: DnsSyncInputs) -> Iterator[RouterScope]:
        own = RecordRef(inputs.service, inputs.stage, inputs.provider)
        where = replace(self._asked.where, stage=inputs.stage, provider="", router=RouterTargets())
        if where.compose:
            file = str(find_config_file(self._work, own))
            where = Where(file, stage=inputs.stage, params=where.params)
        asked = RouterRequest("router dns-sync", where, self._asked.lock_timeout)
        together = (one for one in self._work.placements if one.service == inputs.service)
        known = {one.provider: self._record(one) for one in together}
        with open_router(asked, self._work.settings, known) as scope:
            yield scope


def make_dns_factory(
    where: Where,
    lock_timeout: float = 0.0,
    change: DnsChange = _DEPLOYED,
    told: Callable[[Synced], None] = lambda _: None,
) -> DnsSyncFactory:
    """Build the DNS factory for a run over `where`. `told` receives each result."""
    asked = DnsUpdateRequest(where, lock_timeout, change, told)
    return lambda work, record: RunDnsUpdates(work, record, asked)
