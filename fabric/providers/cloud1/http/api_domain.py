"""The custom domain of an API: the domain name, its Route 53 records, and the mapping that points
it at a stage of the API.

A domain can serve several APIs. Only the service whose tags it has changes or deletes it.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert, to_builtins

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import CONFLICT, GONE, convert_client_errors, ignore_codes
from fabric.providers.cloud1.core.http_settings import Domain, read_http_settings
from fabric.providers.cloud1.core.versions import Cloud1Work, build_ownership_tags
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_kept_state
from fabric.providers.cloud1.http.api_records import (
    RecordSite,
    delete_aliases,
    fetch_records,
    has_aliases,
    put_aliases,
    read_alias,
)
from fabric.providers.cloud1.http.gateway_calls import (
    GATEWAY,
    REST_GATEWAY,
    create_new,
    fetch_row,
    list_pages,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import REFUSED

# The name of the stored value.
DOMAIN = "domain"
_AVAILABLE = "AVAILABLE"
Row = Mapping[str, Any]


class DomainOrder(Struct, frozen=True, kw_only=True):
    """A domain to point at a stage of an API. Mappings of `former` APIs of the service are
    replaced."""

    work: Cloud1Work
    address: DeploymentAddress
    domain: Domain | None
    api: str
    stage: str
    former: frozenset[str] = frozenset()


class StoredDomain(Struct, frozen=True, omit_defaults=True):
    """The domain of the last release. `target` is set if fabric created its records in `zone`."""

    name: str
    url: str = ""
    zone: str = ""
    target: str = ""

    @property
    def site(self) -> RecordSite:
        return RecordSite(self.zone, self.name)


_NO_DOMAIN = StoredDomain("")


def read_stored_domain(texts: Mapping[str, str]) -> StoredDomain:
    return convert(json.loads(texts[DOMAIN]), StoredDomain) if texts.get(DOMAIN) else _NO_DOMAIN


def check_domain(work: Cloud1Work, address: DeploymentAddress, domain: Domain) -> None:
    """Raise before the first change if the path or the records of the domain belong to another
    owner."""
    with convert_client_errors(f"the domain `{domain.name}`", work.scope.quoted):
        row = _fetch_domain(work, domain.name)
        mapping = _fetch_mapping(work, domain) if row else None
        if mapping and _is_foreign_api(work, address, mapping["ApiId"]):
            raise FabricError(_foreign_mapping_problem(domain, mapping["ApiId"]))
        if _wants_records(domain):
            stored = read_stored_domain(read_kept_state(address).texts)
            known = {stored.target if stored.name == domain.name else "", _read_target(row)}
            for record in fetch_records(work, RecordSite(domain.zone, domain.name)):
                if read_alias(record) not in known - {""}:
                    raise FabricError(_foreign_record_problem(domain, record["Type"]))


def release_domain(order: DomainOrder, kept: StoredReleaseState) -> dict[str, str]:
    """Create the domain, its records and last its mapping. Then remove the mappings that the
    config no longer contains. Return the values to store."""
    work, address, domain = order.work, order.address, order.domain
    stored, now = read_stored_domain(kept.texts), _NO_DOMAIN
    if domain is not None:
        with convert_client_errors(f"the domain `{domain.name}`", work.scope.quoted):
            now = _set_domain(order, domain, stored)
    if stored.target and stored.site != now.site:
        delete_aliases(work, stored.site, stored.target)
    apis = order.former | {order.api}
    for name in _list_domains(work, address, kept):
        path = domain.base_path if domain and domain.name == name else None
        _leave_domain(work, address, name, apis=apis, path=path)
    return {DOMAIN: json.dumps(to_builtins(now))} if domain else {}


def remove_domains(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState, apis: frozenset[str]
) -> None:
    """Delete the mappings of these APIs, and the records and domains that fabric created."""
    stored = read_stored_domain(kept.texts)
    if stored.target:
        delete_aliases(work, stored.site, stored.target)
    for name in _list_domains(work, address, kept):
        _leave_domain(work, address, name, apis=apis, path=None)


def _list_domains(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> list[str]:
    """List the domains that can have mappings of the service. After a failed release, these are
    also all with its tags, if the caller can list domains."""
    domain = read_http_settings(address).domain
    names = {read_stored_domain(kept.texts).name, domain.name if domain else ""}
    if not kept.is_sure:
        with ignore_codes(REFUSED):
            rows = list_pages(work.clients.of(GATEWAY), "get_domain_names", "Items")
            names |= {one["DomainName"] for one in rows if _is_own(one, address)}
    return sorted(names - {""})


def _leave_domain(
    work: Cloud1Work,
    address: DeploymentAddress,
    name: str,
    *,
    apis: frozenset[str],
    path: str | None,
) -> None:
    """Delete the mappings of these APIs, except that of `path`. A domain of fabric without other
    mappings is deleted, with its records."""
    row = _fetch_domain(work, name)
    if row is None:
        return
    mappings = _fetch_mappings(work, name)
    gone = [
        one for one in mappings if one["ApiId"] in apis and one.get("ApiMappingKey", "") != path
    ]
    for one in gone:
        with ignore_codes(GONE):
            ident = one["ApiMappingId"]
            work.clients.of(GATEWAY).delete_api_mapping(DomainName=name, ApiMappingId=ident)
    if path is not None or len(gone) < len(mappings) or not _is_own(row, address):
        return
    domain = read_http_settings(address).domain
    if domain and domain.name == name and _wants_records(domain):
        delete_aliases(work, RecordSite(domain.zone, name), _read_target(row))
    with ignore_codes(GONE):
        work.clients.of(GATEWAY).delete_domain_name(DomainName=name)
    work.scope.watch.hear(f"deleted the domain `{name}`")


def _set_domain(order: DomainOrder, domain: Domain, stored: StoredDomain) -> StoredDomain:
    work = order.work
    row = _ensure_domain(work, order.address, domain)
    now = StoredDomain(domain.name, domain.url)
    if _wants_records(domain):
        site, target = RecordSite(domain.zone, domain.name), _read_target(row)
        records = fetch_records(work, site)
        if not has_aliases(records, target):
            put_aliases(work, site, _read_configuration(row))
        # Equal records of a foreign domain were created by its owner. A secret is not stored.
        is_made = _is_own(row, order.address) or not records or stored.target
        if is_made and work.scope.quoted(domain.zone) == domain.zone:
            now = StoredDomain(domain.name, domain.url, domain.zone, target)
    _map_api(order, domain)
    return now


def _ensure_domain(work: Cloud1Work, address: DeploymentAddress, domain: Domain) -> Row:
    calls = work.clients.of(GATEWAY)
    settings = {
        "CertificateArn": domain.certificate,
        "EndpointType": "REGIONAL",
        "SecurityPolicy": "TLS_1_2",
    }
    asked = {"DomainName": domain.name, "DomainNameConfigurations": [settings]}
    row = _fetch_domain(work, domain.name)
    if row is None:
        with ignore_codes(CONFLICT):  # created by this call, whose response was lost
            calls.create_domain_name(**asked, Tags=build_ownership_tags(address))
        work.scope.watch.hear(f"created the domain `{domain.name}`")
    elif not _is_own(row, address):
        return row
    elif _read_configuration(row).get("CertificateArn") != domain.certificate:
        calls.update_domain_name(**asked)
    return _await_domain(work, domain.name)


def _await_domain(work: Cloud1Work, name: str) -> Row:
    def look() -> Row | None:
        row = _fetch_domain(work, name)
        is_ready = row and _read_configuration(row).get("DomainNameStatus") in (None, _AVAILABLE)
        return row if is_ready else None

    row = poll_until(look, work.scope.waiting, work.scope.watch)
    if row is None:
        message = f"timeout: the domain `{name}` is not ready"
        hint = "wait a few minutes, then run: fabric deploy"
        raise FabricError(Problem("provider/not-ready", message, hint))
    return row


def _map_api(order: DomainOrder, domain: Domain) -> None:
    """Point the path of the domain at the API, instead of a former API of the service."""
    work = order.work
    asked = {"ApiId": order.api, "DomainName": domain.name, "Stage": order.stage}
    found = _fetch_mapping(work, domain)
    if found is None:
        create = work.clients.of(GATEWAY).create_api_mapping
        if create_new(lambda: create(**asked, ApiMappingKey=domain.base_path)):
            work.scope.watch.hear(f"{domain.url} now points to the API")
            return
        found = _fetch_mapping(work, domain)  # created meanwhile, by this call or by others
    if found is None or found["ApiId"] == order.api:
        return
    if _is_foreign_api(work, order.address, found["ApiId"]):
        raise FabricError(_foreign_mapping_problem(domain, found["ApiId"]))
    work.clients.of(GATEWAY).update_api_mapping(**asked, ApiMappingId=found["ApiMappingId"])


def _fetch_domain(work: Cloud1Work, name: str) -> Row | None:
    return fetch_row(lambda: work.clients.of(GATEWAY).get_domain_name(DomainName=name))


def _fetch_mappings(work: Cloud1Work, name: str) -> list[Row]:
    """Return all mappings. The client has no paginator for them."""
    rows: list[Row] = []
    token: dict[str, str] = {}
    while True:
        page = work.clients.of(GATEWAY).get_api_mappings(DomainName=name, **token)
        rows += page["Items"]
        if not page.get("NextToken"):
            return rows
        token = {"NextToken": page["NextToken"]}


def _fetch_mapping(work: Cloud1Work, domain: Domain) -> Row | None:
    rows = _fetch_mappings(work, domain.name)
    return next((one for one in rows if one.get("ApiMappingKey", "") == domain.base_path), None)


def _is_foreign_api(work: Cloud1Work, address: DeploymentAddress, api: str) -> bool:
    """Return whether another owner has the API, of either kind. A deleted API is not foreign."""
    found = fetch_row(lambda: work.clients.of(GATEWAY).get_api(ApiId=api)) or fetch_row(
        lambda: work.clients.of(REST_GATEWAY).get_rest_api(restApiId=api)
    )
    return found is not None and not _is_own(found, address)


def _is_own(row: Row, address: DeploymentAddress) -> bool:
    tags = row.get("Tags") or row.get("tags") or {}
    return build_ownership_tags(address).items() <= tags.items()


def _read_configuration(row: Row) -> Row:
    found: Row = next(iter(row.get("DomainNameConfigurations") or ()), {})
    return found


def _read_target(row: Row | None) -> str:
    """Return the address that records of the domain point at."""
    return str(_read_configuration(row or {}).get("ApiGatewayDomainName", "")).rstrip(".").lower()


def _wants_records(domain: Domain) -> bool:
    return bool(domain.zone and domain.create_record)


def _foreign_mapping_problem(domain: Domain, api: str) -> Problem:
    message = f"{domain.url} already points to the API `{api}`, which is not of this service"
    hint = "choose another `basePath`, or delete the API mapping; nothing was changed"
    return Problem("deploy/foreign", message, hint)


def _foreign_record_problem(domain: Domain, kind: str) -> Problem:
    message = f"`{domain.name}` already has a record of type {kind}, which fabric did not create"
    hint = "delete the record, or set `createRecord: false`; nothing was changed"
    return Problem("deploy/foreign", message, hint)
