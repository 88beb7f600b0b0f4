"""Requirements of a deploy: credentials, a deployer for its mode, and the state backend."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.caching.shared_cache import URL_VARIABLE
from fabric.app.checks.access import find_missing_credentials
from fabric.app.project.files import build_client_environment
from fabric.app.project.placement import Placement
from fabric.app.records.backends import BackEnds
from fabric.app.records.deploy_work import format_record_options
from fabric.app.records.placed_deployers import PlacedDeployers
from fabric.app.records.scope import build_read_only_deployers
from fabric.app.settings import Settings
from fabric.graph.service_unit import ServiceUnit
from fabric.model.backends import BackendKind
from fabric.model.catalog import ProviderFacts, find_provider_facts, format_provider_title
from fabric.model.checks import Check, make_failed_check, make_passed_check, make_warning_check
from fabric.model.distribution import MODULES, Extra, PackageNeed, find_extra
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode
from fabric.providers.core.contract import Identified
from fabric.providers.core.http_calls import require_cloud_extra
from fabric.providers.core.provider import Connections
from fabric.remote.opening import list_url_packages
from fabric.state.backends.registry import list_backend_packages
from fabric.state.dev_journal import find_diversion_problem
from fabric.state.locks.conditional_writes import refuse_unconditional
from fabric.state.locks.document import LockHolder, lock_conflict_problem
from fabric.state.records.listing import read_lock_holder
from fabric.state.records.missing import find_missing_problem
from fabric.state.records.transaction import read_unlocked
from fabric.state.records.unsure import find_unwritten_problem
from fabric.state.store import RecordStore
from fabric.system import tracing
from fabric.system.crypto.value_seal import SEALED_NEED
from fabric.system.optional_packages import find_missing_modules, missing_packages_problem

_CACHE_CODE = "cache/remote-off"


class ServiceUnderTest(Struct, frozen=True):
    """One service as this machine would deploy it."""

    unit: ServiceUnit
    placement: Placement
    settings: Settings

    @property
    def env(self) -> Mapping[str, str]:
        return build_client_environment(self.placement.env_place, self.settings.env)

    @property
    def facts(self) -> ProviderFacts | None:
        return find_provider_facts(self.placement.provider_id)


def check_credentials(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that credentials are set. Only an API call can verify their values."""
    if where.facts is None:
        return
    problems = tuple(find_missing_credentials(where.placement, where.env))
    yield from (_grade_by_mode("credentials", one, where) for one in problems)
    if not problems:
        yield make_passed_check(
            "credentials", f"all credentials of {format_provider_title(where.facts.id)} are set"
        )


def package_checks(where: ServiceUnderTest) -> Iterator[Check]:
    """The optional packages that this config and environment need."""
    needed = tuple(_list_needed_packages(where.placement, where.settings))
    missing = [one for one in needed if find_missing_modules(one.modules)]
    for one in missing:
        problem = missing_packages_problem(one.need, *find_missing_modules(one.modules))
        yield _grade_by_mode("packages", problem, where) if one.is_for_real else one.check(problem)
    if not missing:
        names = dict.fromkeys(name for one in needed for name in one.modules)
        listed = ", ".join(f"`{name}`" for name in names)
        yield make_passed_check(
            "packages", f"{listed} installed" if names else "no optional package required"
        )


def _grade_by_mode(name: str, problem: Problem, where: ServiceUnderTest) -> Check:
    """Grade a problem: an error if real deploys are enabled, otherwise a warning."""
    mode = where.placement.mode
    if mode == Mode.REAL:
        return make_failed_check(name, problem)
    message = f"{problem.message} (not required for {mode} deploys)"
    return make_warning_check(name, replace(problem, message=message))


def check_accounts(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that the provider accepts the credentials, for real deploys by fabric itself."""
    placement = where.placement
    if placement.mode != Mode.REAL:
        return
    with _open_deployers(where) as deployers:
        try:
            deployer = deployers.deployer(placement.ref, Mode.REAL)
        except FabricError:  # told by the check of the deployer
            return
        if not isinstance(deployer, Identified):
            return
        try:
            who = deployer.identity(deployers.address(placement.ref))
        except FabricError as error:
            yield from (make_failed_check("account", problem) for problem in error.problems)
        else:
            yield make_passed_check(
                "account", f"credentials of {format_provider_title(placement.provider_id)}: {who}"
            )


@contextlib.contextmanager
def _open_deployers(where: ServiceUnderTest) -> Iterator[PlacedDeployers]:
    with contextlib.closing(Connections()) as connections:
        units, settings = (where.unit,), where.settings
        yield build_read_only_deployers((where.placement,), lambda: units, settings, connections)


def check_deployers(where: ServiceUnderTest) -> Iterator[Check]:
    """Check that a deployer exists for this mode, for deploys and removals."""
    placement, facts = where.placement, where.facts
    try:
        with _open_deployers(where) as deployers:
            deployers.deployer(placement.ref, Mode(placement.mode))
    except FabricError as error:
        yield from (make_failed_check("deployer", problem) for problem in error.problems)
        return
    command = facts.destroy_command_variable if facts else ""
    if placement.mode == Mode.COMMAND and not where.env.get(command):
        yield make_warning_check("deployer", _no_destroy_problem(placement, command))
    else:
        yield make_passed_check(
            "deployer", f"{format_provider_title(placement.provider_id)} in {placement.mode} mode"
        )


def _no_destroy_problem(placement: Placement, command: str) -> Problem:
    return Problem(
        "deploy/no-destroy-command",
        f"{format_provider_title(placement.provider_id)} has a custom deploy command, but "
        f"{command} is not set",
        hint=f"set {command} to the command that removes a deployment",
    )


def back_end_check(where: ServiceUnderTest) -> Check:
    """Check that the backend responds."""
    back_ends = BackEnds(where.settings)
    try:
        return _check_store_answers(back_ends.record_store(where.placement), where)
    except FabricError as error:
        return make_failed_check("backend", error.first)
    finally:
        back_ends.close()


def _check_store_answers(record_store: RecordStore, where: ServiceUnderTest) -> Check:
    state = record_store.stores.state
    state.list(f"{where.placement.service}/{where.placement.stage}/")
    return make_passed_check("backend", f"{state.kind}: `{state.place}` is reachable")


def check_state(where: ServiceUnderTest) -> Iterator[Check]:
    """Check the record, as far as its backend is reachable."""
    back_ends = BackEnds(where.settings)
    try:
        record_store = back_ends.record_store(where.placement)
        answering = _check_store_answers(record_store, where)
        holder = read_lock_holder(record_store, where.placement.ref)
        yield answering
        yield from _check_store_conditions(record_store)
        yield _record(record_store, where.placement)
        yield _lock(where, holder)
        yield _check_errored_state(record_store, where.placement)
        yield from _check_diverted_routes(record_store, where.placement)
    except FabricError as error:
        yield from (make_failed_check("backend", problem) for problem in error.problems)
    finally:
        back_ends.close()


def _check_store_conditions(record_store: RecordStore) -> Iterator[Check]:
    """Test conditional writes in remote stores. Local directories use file locks."""
    if record_store.is_own_folder:
        return
    try:
        refuse_unconditional(record_store.stores.state, secrets.token_hex(8))
    except FabricError as error:
        yield from (make_failed_check("conditional-writes", problem) for problem in error.problems)
    else:
        yield make_passed_check("conditional-writes", "the backend supports conditional writes")


def _record(record_store: RecordStore, placement: Placement) -> Check:
    try:
        record = read_unlocked(record_store, placement.ref)
    except FabricError as error:
        return make_failed_check("record", error.first)
    if record is None:
        lost = find_missing_problem(record_store, placement.ref)
        return (
            make_failed_check("record", lost)
            if lost
            else make_passed_check("record", "not deployed yet")
        )
    return make_passed_check("record", f"{record.lifecycle}, serial {record.serial}")


def _lock(where: ServiceUnderTest, holder: LockHolder | None) -> Check:
    if holder is None:
        return make_passed_check("lock", "the state is not locked")
    config = Path(where.placement.folder, Path(where.unit.config.document.file).name)
    options = format_record_options(where.placement.ref, config, where.settings)
    return make_warning_check(
        "lock", lock_conflict_problem(where.placement.ref, holder, where.settings.clock, options)
    )


def _check_errored_state(record_store: RecordStore, placement: Placement) -> Check:
    problem = find_unwritten_problem(record_store.home, placement.ref)
    if problem is None:
        return make_passed_check("errored-state", "no state is waiting to be pushed")
    return make_failed_check("errored-state", problem)


def _check_diverted_routes(record_store: RecordStore, placement: Placement) -> Iterator[Check]:
    """Report routes that point to a tunnel, only if there are any."""
    problem = find_diversion_problem(record_store.home, placement.ref)
    if problem is not None:
        yield make_failed_check("dev-stream", problem)


# The optional packages that a config needs in this environment: of its provider and backend, of
# the shared cache, of the key of the state, and of traces.


class NeededPackages(Struct, frozen=True):
    """Without `is_required` a run continues."""

    need: PackageNeed
    modules: tuple[str, ...]
    # Only real deploys need them.
    is_for_real: bool = False
    is_required: bool = True

    def check(self, problem: Problem) -> Check:
        return (
            make_failed_check("packages", problem)
            if self.is_required
            else make_warning_check("packages", problem)
        )


def _list_needed_packages(placement: Placement, settings: Settings) -> Iterator[NeededPackages]:
    facts = find_provider_facts(placement.provider_id)
    if facts and facts.access.packages:
        yield NeededPackages(require_cloud_extra(facts.id), facts.access.packages, is_for_real=True)
    env = build_client_environment(placement.env_place, settings.env)
    of_state = list_backend_packages(BackendKind(placement.backend), dict(placement.settings), env)
    if of_state:
        user = f"the state backend `{placement.backend}` requires"
        need = PackageNeed(user, find_extra(of_state[0]), "backend/not-installed")
        yield NeededPackages(need, of_state)
    if settings.state_key.reveal() is not None:
        yield NeededPackages(SEALED_NEED, MODULES[Extra.SEALED])
    of_cache = list_url_packages(settings.env.get(URL_VARIABLE, ""))
    if of_cache:
        need = PackageNeed("the shared cache requires", find_extra(of_cache[0]), _CACHE_CODE)
        yield NeededPackages(need, of_cache, is_required=False)
    if tracing.is_wanted(settings.env):
        yield NeededPackages(tracing.NEED, MODULES[Extra.OTEL], is_required=False)
