"""The optional packages that a config needs in this environment: of its provider and backend, of
the shared cache, of the key of the state, and of traces."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.app.project.files import build_client_environment
from fabric.app.project.placement import Placement
from fabric.app.settings import Settings
from fabric.app.shared_cache import URL_VARIABLE
from fabric.model.backends import BackendKind
from fabric.model.catalog import find_provider_facts
from fabric.model.checks import Check, make_failed_check, make_warning_check
from fabric.model.distribution import MODULES, Extra, PackageNeed, find_extra
from fabric.model.problems import Problem
from fabric.providers.http_calls import require_cloud_extra
from fabric.remote.opening import list_url_packages
from fabric.state.backends.registry import list_backend_packages
from fabric.system import tracing
from fabric.system.value_seal import SEALED_NEED

_CACHE_CODE = "cache/remote-off"


class NeededPackages(Struct, frozen=True):
    """`is_for_real`: only real deploys need them. Without `is_required` a run continues."""

    need: PackageNeed
    modules: tuple[str, ...]
    is_for_real: bool = False
    is_required: bool = True

    def check(self, problem: Problem) -> Check:
        return (
            make_failed_check("packages", problem)
            if self.is_required
            else make_warning_check("packages", problem)
        )


def list_needed_packages(placement: Placement, settings: Settings) -> Iterator[NeededPackages]:
    facts = find_provider_facts(placement.provider_id)
    if facts and facts.packages:
        yield NeededPackages(require_cloud_extra(facts.id), facts.packages, is_for_real=True)
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
