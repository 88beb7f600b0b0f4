"""Requirements of a deploy: credentials, a deployer for its mode, and the state backend."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.access import missing_credentials
from fabric.app.deploy.back_ends import BackEnds
from fabric.app.deploy.deploy_work import options_of
from fabric.app.deploy.placed_deployers import PlacedDeployers
from fabric.app.deploy.scope import deployers_that_look
from fabric.app.doctor.needed_packages import needed_packages
from fabric.app.project.files import calling_environment
from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.catalog import ProviderFacts, facts_of, titled
from fabric.model.checks import Check, failed, passed, warned
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.providers.connections import Connections
from fabric.providers.contract import Identified
from fabric.state.dev_journal import wired_problem
from fabric.state.locks.conditional_writes import refuse_unconditional
from fabric.state.locks.document import LockHolder, held_problem
from fabric.state.records.listing import holder_of
from fabric.state.records.missing import missing_problem
from fabric.state.records.transaction import peek
from fabric.state.records.unwritten import unwritten_problem
from fabric.state.store import RecordStore
from fabric.system.optional_packages import missing_modules, not_installed


class ServiceUnderTest(Struct, frozen=True):
    """One service as this machine would deploy it."""

    unit: ServiceUnit
    placement: Placement
    settings: Settings

    @property
    def env(self) -> Mapping[str, str]:
        return calling_environment(self.placement.env_place, self.settings.env)

    @property
    def facts(self) -> ProviderFacts | None:
        return facts_of(self.placement.provider_id)


def credential_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that credentials are set. Only an API call can verify their values."""
    if where.facts is None:
        return
    problems = tuple(missing_credentials(where.placement, where.env))
    yield from (_by_mode("credentials", one, where) for one in problems)
    if not problems:
        yield passed("credentials", f"all credentials of {titled(where.facts.id)} are set")


def package_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """The optional packages that this config and environment need."""
    needed = tuple(needed_packages(where.placement, where.settings))
    missing = [one for one in needed if missing_modules(one.modules)]
    for one in missing:
        problem = not_installed(one.need, *missing_modules(one.modules))
        yield _by_mode("packages", problem, where) if one.is_for_real else one.check(problem)
    if not missing:
        names = dict.fromkeys(name for one in needed for name in one.modules)
        listed = ", ".join(f"`{name}`" for name in names)
        yield passed("packages", f"{listed} installed" if names else "no optional package required")


def _by_mode(name: str, problem: Problem, where: ServiceUnderTest) -> Check:
    """Grade a problem: an error if real deploys are enabled, otherwise a warning."""
    mode = where.placement.mode
    if mode == Mode.REAL:
        return failed(name, problem)
    message = f"{problem.message} (not required for {mode} deploys)"
    return warned(name, replace(problem, message=message))


def account_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that the provider accepts the credentials, for real deploys by fabric itself."""
    placement = where.placement
    if placement.mode != Mode.REAL:
        return
    with _looking(where) as deployers:
        try:
            deployer = deployers.deployer(placement.ref, Mode.REAL)
        except FabricError:  # told by the check of the deployer
            return
        if not isinstance(deployer, Identified):
            return
        try:
            who = deployer.identity(deployers.address(placement.ref))
        except FabricError as error:
            yield from (failed("account", problem) for problem in error.problems)
        else:
            yield passed("account", f"credentials of {titled(placement.provider_id)}: {who}")


@contextlib.contextmanager
def _looking(where: ServiceUnderTest) -> Iterator[PlacedDeployers]:
    with contextlib.closing(Connections()) as connections:
        units, settings = (where.unit,), where.settings
        yield deployers_that_look((where.placement,), lambda: units, settings, connections)


def deployer_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that a deployer exists for this mode, for deploys and removals."""
    placement, facts = where.placement, where.facts
    try:
        with _looking(where) as deployers:
            deployers.deployer(placement.ref, Mode(placement.mode))
    except FabricError as error:
        yield from (failed("deployer", problem) for problem in error.problems)
        return
    command = facts.destroy_command_variable if facts else ""
    if placement.mode == Mode.COMMAND and not where.env.get(command):
        yield warned("deployer", _no_destroy(placement, command))
    else:
        yield passed("deployer", f"{titled(placement.provider_id)} in {placement.mode} mode")


def _no_destroy(placement: Placement, command: str) -> Problem:
    return Problem(
        "deploy/no-destroy-command",
        f"{titled(placement.provider_id)} has a custom deploy command, but {command} is not set",
        hint=f"set {command} to the command that removes a deployment",
    )


def back_end_check(where: ServiceUnderTest) -> Check:
    """Check that the backend responds."""
    back_ends = BackEnds(where.settings)
    try:
        return _answering(back_ends.record_store(where.placement), where)
    except FabricError as error:
        return failed("backend", error.first)
    finally:
        back_ends.close()


def _answering(record_store: RecordStore, where: ServiceUnderTest) -> Check:
    state = record_store.stores.state
    state.list(f"{where.placement.service}/{where.placement.stage}/")
    return passed("backend", f"{state.kind}: `{state.place}` is reachable")


def state_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """Check the record, as far as its backend is reachable."""
    back_ends = BackEnds(where.settings)
    try:
        record_store = back_ends.record_store(where.placement)
        answering = _answering(record_store, where)
        holder = holder_of(record_store, where.placement.ref)
        yield answering
        yield from _conditions(record_store)
        yield _record(record_store, where.placement)
        yield _lock(where, holder)
        yield _errored(record_store, where.placement)
        yield from _wired(record_store, where.placement)
    except FabricError as error:
        yield from (failed("backend", problem) for problem in error.problems)
    finally:
        back_ends.close()


def _conditions(record_store: RecordStore) -> Iterator[Check]:
    """Test conditional writes in remote stores. Local directories use file locks."""
    if record_store.is_own_folder:
        return
    try:
        refuse_unconditional(record_store.stores.state, secrets.token_hex(8))
    except FabricError as error:
        yield from (failed("conditional-writes", problem) for problem in error.problems)
    else:
        yield passed("conditional-writes", "the backend supports conditional writes")


def _record(record_store: RecordStore, placement: Placement) -> Check:
    try:
        record = peek(record_store, placement.ref)
    except FabricError as error:
        return failed("record", error.first)
    if record is None:
        lost = missing_problem(record_store, placement.ref)
        return failed("record", lost) if lost else passed("record", "not deployed yet")
    return passed("record", f"{record.lifecycle}, serial {record.serial}")


def _lock(where: ServiceUnderTest, holder: LockHolder | None) -> Check:
    if holder is None:
        return passed("lock", "the state is not locked")
    config = Path(where.placement.folder, Path(where.unit.config.file).name)
    options = options_of(where.placement.ref, config, where.settings)
    return warned("lock", held_problem(where.placement.ref, holder, where.settings.clock, options))


def _errored(record_store: RecordStore, placement: Placement) -> Check:
    problem = unwritten_problem(record_store.home, placement.ref)
    if problem is None:
        return passed("errored-state", "no state is waiting to be pushed")
    return failed("errored-state", problem)


def _wired(record_store: RecordStore, placement: Placement) -> Iterator[Check]:
    """Report routes that point to a tunnel, only if there are any."""
    problem = wired_problem(record_store.home, placement.ref)
    if problem is not None:
        yield failed("dev-stream", problem)
