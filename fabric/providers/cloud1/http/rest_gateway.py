"""The REST API of a service on AWS: one document, immutable deployments, and a stage.

The API and a deployment are prepared before the release. Callers see nothing of them until the
stage points at the deployment.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import CONFLICT, GONE, MAX_PARALLEL, ONCE, ignore_codes
from fabric.providers.cloud1.core.permissions import (
    build_authorizer_permission,
    build_gateway_permission,
    let_in,
    parse_arn_home,
    shut_out,
)
from fabric.providers.cloud1.core.versions import (
    Cloud1Work,
    build_ownership_tags,
    retry_on_conflict,
)
from fabric.providers.cloud1.functions.aliases import StoredReleaseState
from fabric.providers.cloud1.functions.log_groups import prepare_log_group
from fabric.providers.cloud1.http.api_domain import DOMAIN, DomainOrder, release_domain
from fabric.providers.cloud1.http.authorizers import (
    AUTHORIZERS,
    LOG_DAYS,
    close_authorizer,
    encode_definitions,
)
from fabric.providers.cloud1.http.gateway_calls import (
    REST_GATEWAY,
    create_once,
    fetch_row,
    list_pages,
    require_created,
)
from fabric.providers.cloud1.http.rest_plan import DesiredRestApi, is_own_deployment
from fabric.providers.cloud1.http.rest_stage import (
    Patch,
    find_removed_settings,
    is_endpoint_patch,
    list_api_patches,
    list_stage_patches,
)
from fabric.providers.cloud1.http.rest_usage import USAGE, delete_usage, release_usage
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.retry import poll_until, run_parallel

# The names of the stored values.
API = "rest_api"
_ENDPOINT, _DIGEST, _DEPLOYMENTS = "rest_endpoint", "rest", "rest_deployments"
_METHODS, _ROUTED, _AUTHORIZING = "rest_methods", "rest_routed", "rest_authorizing"
_KEPT = (API, _ENDPOINT, _DIGEST, _DEPLOYMENTS, _METHODS, _ROUTED, _AUTHORIZING, USAGE)
_SHARED = (AUTHORIZERS, LOG_DAYS, DOMAIN)
# As many as a record has earlier deployments.
_HISTORY = 20
_PAGE = 500
_SUFFIXES = {"aws-cn": "amazonaws.com.cn"}
_INVALID = frozenset(("BadRequestException",))
Row = Mapping[str, Any]


class RestOrder(Struct, frozen=True):
    """One REST API with its desired configuration."""

    work: Cloud1Work
    address: DeploymentAddress
    wanted: DesiredRestApi
    id: str = ""

    @property
    def calls(self) -> Any:
        return self.work.clients.of(REST_GATEWAY)

    @property
    def single(self) -> Any:
        """A client without retries, for calls that would create a duplicate after a lost
        response."""
        return self.work.clients.of(REST_GATEWAY, ONCE)

    @property
    def stage(self) -> dict[str, str]:
        return {"restApiId": self.id, "stageName": self.wanted.stage.name}


class PreparedApi(Struct, frozen=True):
    """An API with the deployment that the release points the stage at. `known` are all of
    fabric's; `patches` take effect at once, so they wait for the release."""

    api: str
    deployment: str
    known: tuple[str, ...]
    patches: tuple[Patch, ...] = ()


def read_rest_id(kept: Mapping[str, str]) -> str:
    return kept.get(API, "")


def read_rest_endpoint(kept: Mapping[str, str]) -> str:
    return kept.get(_ENDPOINT, "")


def is_rest_current(wanted: DesiredRestApi, kept: StoredReleaseState) -> bool:
    """Return whether the last release has set all of this."""
    return bool(kept.sure(_DIGEST) == wanted.digest and kept.texts.get(API))


def prepare_rest_api(order: RestOrder, kept: StoredReleaseState) -> PreparedApi:
    """Create the API and the deployment. A deployment of the same document is used again."""
    row = _find_existing_api(order, read_rest_id(kept.texts)) or _create_api(order)
    order = replace(order, id=row["id"])
    there = {one["id"]: one.get("description") for one in _fetch_deployments(order)}
    own = [ident for ident, text in there.items() if is_own_deployment(text)]
    found = next((ident for ident in own if there[ident] == order.wanted.mark), "")
    if not found:
        body = order.wanted.document.encode()
        row = retry_on_conflict(
            order.work,
            lambda: order.calls.put_rest_api(restApiId=order.id, mode="overwrite", body=body),
        )
    patches = list_api_patches(row, order.wanted.attributes)
    _patch_api(order, [one for one in patches if not is_endpoint_patch(one)])
    if not found:
        found = _create_deployment(order)
        own.append(found)
        order.work.scope.watch.hear(f"created the deployment `{found}` of the REST API")
    return PreparedApi(order.id, found, tuple(own), tuple(filter(is_endpoint_patch, patches)))


def _patch_api(order: RestOrder, patches: Sequence[Patch]) -> None:
    if patches:
        retry_on_conflict(
            order.work,
            lambda: order.calls.update_rest_api(restApiId=order.id, patchOperations=patches),
        )


def check_log_role(order: RestOrder) -> None:
    """Raise if API Gateway cannot write logs in this account."""
    if not order.calls.get_account().get("cloudwatchRoleArn"):
        message = (
            "`accessLogs` of a REST API require a CloudWatch role of API Gateway, which this "
            "account does not have in this region"
        )
        hint = (
            "run: aws apigateway update-account --patch-operations "
            "op=replace,path=/cloudwatchRoleArn,value=ROLE_ARN"
        )
        raise FabricError(Problem("deploy/missing-source", message, hint))


def _find_existing_api(order: RestOrder, known: str) -> Row | None:
    found = fetch_row(lambda: order.calls.get_rest_api(restApiId=known)) if known else None
    return found or next(iter(_find_tagged_apis(order.work, order.address)), None)


def has_rest_api(work: Cloud1Work, api: str) -> bool:
    return fetch_row(lambda: work.clients.of(REST_GATEWAY).get_rest_api(restApiId=api)) is not None


def _find_tagged_apis(work: Cloud1Work, address: DeploymentAddress) -> list[Row]:
    wanted = build_ownership_tags(address).items()
    apis = list_pages(work.clients.of(REST_GATEWAY), "get_rest_apis", "items", limit=_PAGE)
    ours = (one for one in apis if wanted <= (one.get("tags") or {}).items())
    return sorted(ours, key=lambda one: str(one["id"]))


def _create_api(order: RestOrder) -> Row:
    attributes = order.wanted.attributes
    endpoint: dict[str, Any] = {"types": [attributes.endpoint_type]}
    if attributes.vpc_endpoints:
        endpoint["vpcEndpointIds"] = list(attributes.vpc_endpoints)

    def request() -> Row:
        made: Row = order.single.create_rest_api(
            name=order.wanted.name,
            endpointConfiguration=endpoint,
            tags=build_ownership_tags(order.address),
        )
        return made

    def create() -> Row | None:
        found = lambda: next(iter(_find_tagged_apis(order.work, order.address)), None)  # noqa: E731
        return create_once(request, found)

    made = poll_until(create, order.work.scope.waiting, order.work.scope.watch)
    return require_created(made, "a REST API")


def _fetch_deployments(order: RestOrder) -> Iterable[Row]:
    return list_pages(order.calls, "get_deployments", "items", restApiId=order.id, limit=_PAGE)


def _create_deployment(order: RestOrder) -> str:
    mark = order.wanted.mark

    def request() -> str:
        made = retry_on_conflict(
            order.work,
            lambda: order.single.create_deployment(restApiId=order.id, description=mark),
        )
        return str(made["id"])

    def look() -> str | None:
        rows = _fetch_deployments(order)
        return next((one["id"] for one in rows if one.get("description") == mark), None)

    made = poll_until(
        lambda: create_once(request, look), order.work.scope.waiting, order.work.scope.watch
    )
    return require_created(made, "a deployment of the REST API")


class RestRelease(Struct, frozen=True, kw_only=True):
    """A release of a prepared API. `closed` functions must permit the API again; `former` APIs of
    the service can have its domain."""

    order: RestOrder
    prepared: PreparedApi | None
    closed: frozenset[str]
    kept: StoredReleaseState
    former: frozenset[str] = frozenset()


def release_rest_api(release: RestRelease) -> dict[str, str]:
    """Permit the calls of the API and point its stage at the deployment. Return the values to
    store."""
    order, kept, prepared = release.order, release.kept, release.prepared
    wanted = order.wanted
    if prepared is None:  # nothing of the API has changed
        order = replace(order, id=read_rest_id(kept.texts))
        _permit(replace(release, order=order))
        names = (*_KEPT, *_SHARED)
        return {name: kept.texts[name] for name in names if name in kept.texts}
    order = replace(order, id=prepared.api)
    release = replace(release, order=order)
    _permit(release)
    _patch_api(order, prepared.patches)
    stage, stored = wanted.stage, kept.texts.get(LOG_DAYS, "")
    days = prepare_log_group(order.work, stage.log_group, stage.retention_days, stored)
    usage = _release_stage(release, prepared)
    domain = _release_domain(release)
    _close(release)
    deployments = _prune_deployments(order, prepared, kept)
    endpoint = wanted.domain.url if wanted.attributes.is_endpoint_disabled and wanted.domain else ""
    texts = {
        API: order.id,
        _ENDPOINT: endpoint or _format_endpoint(order),
        _DIGEST: wanted.digest,
        _DEPLOYMENTS: deployments,
        _METHODS: json.dumps(wanted.stage.methods) if wanted.stage.methods else "",
        _ROUTED: " ".join(sorted(set(wanted.routed.values()))),
        _AUTHORIZING: " ".join(sorted(set(wanted.authorizing.values()))),
        USAGE: usage,
        LOG_DAYS: days,
        **encode_definitions(order.work, wanted.definitions),
        **domain,
    }
    return {name: text for name, text in texts.items() if text}


def _format_endpoint(order: RestOrder) -> str:
    home = parse_arn_home(next(iter(order.wanted.routed.values())))
    suffix = _SUFFIXES.get(home.partition, "amazonaws.com")
    host = f"{order.id}.execute-api.{home.region}.{suffix}"
    return f"https://{host}/{order.wanted.stage.name}"


def _permit(release: RestRelease) -> None:
    """Let the API call its new functions, and closed functions again."""
    order, kept = release.order, release.kept
    known = kept.texts if kept.sure(API) == order.id else {}
    pairs = (
        (order.wanted.routed, _ROUTED, build_gateway_permission),
        (order.wanted.authorizing, _AUTHORIZING, build_authorizer_permission),
    )
    missing = {
        (alias, build(alias, order.id))
        for functions, name, build in pairs
        for function, alias in functions.items()
        if function in release.closed or alias not in known.get(name, "").split()
    }
    run_parallel(lambda one: let_in(order.work, *one), sorted(missing), MAX_PARALLEL)


def _close(release: RestRelease) -> None:
    """Remove the permissions of functions that the API no longer calls."""
    order, texts = release.order, release.kept.texts
    former = texts.get(API, "")
    for alias in texts.get(_ROUTED, "").split():
        if former != order.id or alias not in order.wanted.routed.values():
            shut_out(order.work, alias, build_gateway_permission(alias, former))
    for alias in texts.get(_AUTHORIZING, "").split():
        if former != order.id or alias not in order.wanted.authorizing.values():
            close_authorizer(order.work, alias, former)


def _release_stage(release: RestRelease, prepared: PreparedApi) -> str:
    """Point the stage at the deployment: the cut-over. Keys exist before methods require them,
    unless the stage is new. Return the usage to store."""
    order, kept, stage = release.order, release.kept, release.order.wanted.stage
    there = fetch_row(lambda: order.calls.get_stage(**order.stage))
    if there is None:
        with ignore_codes(CONFLICT):  # created by this call, whose response was lost
            order.calls.create_stage(
                **order.stage, deploymentId=prepared.deployment, tracingEnabled=stage.tracing
            )
        there = order.calls.get_stage(**order.stage)
    usage = release_usage(order.work, order.address, order.wanted.usage, order.stage, kept)
    stored = kept.sure(_METHODS) if kept.sure(API) == order.id else None
    removed = find_removed_settings(there, stage, stored)
    _patch_stage(order, removed)
    _patch_stage(order, list_stage_patches(there, stage, prepared.deployment, removed))
    return usage


def _patch_stage(order: RestOrder, patches: Sequence[Patch]) -> None:
    if patches:
        retry_on_conflict(
            order.work, lambda: order.calls.update_stage(**order.stage, patchOperations=patches)
        )


def _release_domain(release: RestRelease) -> dict[str, str]:
    order = release.order
    domain = DomainOrder(
        work=order.work,
        address=order.address,
        domain=order.wanted.domain,
        api=order.id,
        stage=order.wanted.stage.name,
        former=release.former,
    )
    return release_domain(domain, release.kept)


def _prune_deployments(order: RestOrder, prepared: PreparedApi, kept: StoredReleaseState) -> str:
    """Delete the deployments of fabric that no rollback needs, and return the others."""
    former = [one for one in kept.texts.get(_DEPLOYMENTS, "").split() if one in prepared.known]
    recent = [prepared.deployment, *(one for one in former if one != prepared.deployment)]
    staying = recent[: _HISTORY + 1]
    for ident in prepared.known:
        if ident not in staying:
            # Another stage can use it: then it stays.
            with ignore_codes(GONE, _INVALID):
                order.calls.delete_deployment(restApiId=order.id, deploymentId=ident)
    return " ".join(staying)


def find_rest_apis(
    work: Cloud1Work, address: DeploymentAddress, kept: StoredReleaseState
) -> frozenset[str]:
    """Find the REST APIs of the service, also those missing in state."""
    known = {kept.texts[API]} if kept.texts.get(API) else set()
    return frozenset(known | {one["id"] for one in _find_tagged_apis(work, address)})


def delete_rest_apis(
    work: Cloud1Work, address: DeploymentAddress, apis: Iterable[str], kept: StoredReleaseState
) -> None:
    """Delete APIs without a domain, with their keys and permissions."""
    apis = sorted(apis)
    delete_usage(work, address, apis)
    for api in apis:
        with ignore_codes(GONE):
            work.clients.of(REST_GATEWAY).delete_rest_api(restApiId=api)
    texts = kept.texts
    for alias in texts.get(_ROUTED, "").split():
        shut_out(work, alias, build_gateway_permission(alias, texts[API]))
    for alias in texts.get(_AUTHORIZING, "").split():
        close_authorizer(work, alias, texts[API])
