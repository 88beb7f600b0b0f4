"""The API of a service on AWS, of either kind. A change of the kind replaces it."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fabric.providers.cloud1.core.client import ignore_codes
from fabric.providers.cloud1.core.http_settings import read_http_settings
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.events.event_sources import WiredNow
from fabric.providers.cloud1.functions.aliases import CutOver, StoredReleaseState, read_kept_state
from fabric.providers.cloud1.http.api_domain import check_domain, remove_domains
from fabric.providers.cloud1.http.gateway import (
    delete_gateways,
    find_gateways,
    has_api,
    is_gateway_current,
    read_api_endpoint,
    read_api_id,
    release_gateway,
    withdraw_gateway,
)
from fabric.providers.cloud1.http.gateway_calls import GatewayOrder
from fabric.providers.cloud1.http.rest_gateway import (
    PreparedApi,
    RestOrder,
    RestRelease,
    check_log_role,
    delete_rest_apis,
    find_rest_apis,
    has_rest_api,
    is_rest_current,
    prepare_rest_api,
    read_rest_endpoint,
    read_rest_id,
    release_rest_api,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.system.cloud1_account import REFUSED


class ServiceApis(Struct, frozen=True, kw_only=True):
    """Both kinds, of which at most one has routes."""

    http: GatewayOrder
    rest: RestOrder
    kept: StoredReleaseState

    @property
    def is_current(self) -> bool:
        if self.rest.wanted.document:
            return is_rest_current(self.rest.wanted, self.kept)
        return is_gateway_current(self.http.wanted, self.kept)


def check_service_api(apis: ServiceApis) -> None:
    """Raise before the first change if the domain belongs to another owner, or the account cannot
    write access logs."""
    if apis.is_current:
        return
    domain = apis.http.wanted.domain or apis.rest.wanted.domain
    if domain:
        check_domain(apis.http.work, apis.http.address, domain)
    if apis.rest.wanted.stage.log_group:
        check_log_role(apis.rest)


def prepare_service_api(apis: ServiceApis) -> PreparedApi | None:
    """Prepare what callers do not see before the release: only REST APIs have that."""
    if not apis.rest.wanted.document or apis.is_current:
        return None
    return prepare_rest_api(apis.rest, apis.kept)


def release_service_api(
    apis: ServiceApis, prepared: PreparedApi | None, cut: CutOver, now: WiredNow
) -> dict[str, str]:
    """Release the API of the wanted kind, then delete those of the other one. Return the values to
    store."""
    kept, work, address = apis.kept, apis.http.work, apis.http.address
    is_rest, is_http = bool(apis.rest.wanted.document), bool(apis.http.wanted.routes)
    old = _find_old_apis(apis, is_http=is_http, is_rest=is_rest)
    former = old.every | ({read_api_id(kept.texts), read_rest_id(kept.texts)} - {""})
    texts: dict[str, str] = {}
    if is_rest:
        closed = cut.fresh | now.unknown_to(read_rest_id(kept.texts))
        release = RestRelease(
            order=apis.rest,
            prepared=prepared,
            closed=closed & apis.rest.wanted.called_functions,
            kept=kept,
            former=former,
        )
        texts = release_rest_api(release)
    elif is_http:
        closed = cut.fresh | now.unknown_to(read_api_id(kept.texts))
        texts = release_gateway(apis.http, closed, kept, former)
    elif former or not kept.is_sure:
        remove_domains(work, address, kept, former)
    if old.http:
        withdraw_gateway(apis.http, old.http, kept)
        work.scope.watch.hear("deleted the HTTP API")
    if old.rest:
        delete_rest_apis(work, address, old.rest, kept)
        work.scope.watch.hear("deleted the REST API")
    return texts


def read_service_endpoint(texts: Mapping[str, str]) -> str:
    return read_rest_endpoint(texts) or read_api_endpoint(texts)


class _FoundApis(Struct, frozen=True):
    http: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()

    @property
    def every(self) -> frozenset[str]:
        return self.http | self.rest


def _find_old_apis(apis: ServiceApis, *, is_http: bool, is_rest: bool) -> _FoundApis:
    """Find the APIs of the service of kinds that are not wanted: those of the state, and by their
    tags if it is not sure."""
    work, address, kept = apis.http.work, apis.http.address, apis.kept
    http = rest = frozenset[str]()
    if not is_http:
        known = frozenset((read_api_id(kept.texts),)) - {""}
        http = known if kept.is_sure else find_gateways(work, address, kept)
    if not is_rest:
        known = frozenset((read_rest_id(kept.texts),)) - {""}
        rest = known if kept.is_sure else _find_possible_rest_apis(work, address, kept)
    return _FoundApis(http, rest)


def _find_possible_rest_apis(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> frozenset[str]:
    """Find REST APIs. A user whose services never had one needs no permission for that."""
    if read_rest_id(kept.texts) or read_http_settings(address).is_rest:
        return find_rest_apis(work, address, kept)
    found: list[str] = []
    with ignore_codes(REFUSED):
        found.extend(find_rest_apis(work, address, kept))
    return frozenset(found)


def remove_service_apis(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> None:
    """Delete the APIs of the service, also those missing in state. An API with a domain cannot be
    deleted, so its mappings are deleted first."""
    known, rest = frozenset((read_api_id(kept.texts),)) - {""}, frozenset[str]()
    # A list of all APIs is read only if the state can lack one.
    http = known if known and kept.is_sure else find_gateways(work, address, kept)
    is_possible = read_rest_id(kept.texts) or read_http_settings(address).is_rest
    if is_possible or not kept.is_sure:
        rest = _find_possible_rest_apis(work, address, kept)
    remove_domains(work, address, kept, http | rest)
    delete_gateways(work, http)
    # The functions are deleted afterwards, with their permissions.
    delete_rest_apis(work, address, rest, StoredReleaseState({}))


def find_missing_apis(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    """Yield the APIs of the last release that no longer exist."""
    texts = read_kept_state(address).texts
    api, rest = read_api_id(texts), read_rest_id(texts)
    if api and not has_api(work, api):
        yield f"the HTTP API `{api}`"
    if rest and not has_rest_api(work, rest):
        yield f"the REST API `{rest}`"
