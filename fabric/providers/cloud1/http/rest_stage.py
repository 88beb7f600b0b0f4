"""The patch operations of a REST API and of its stage. No effects."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from fabric.providers.cloud1.http.rest_document import RestAttributes
from fabric.providers.cloud1.http.rest_plan import DesiredRestStage

Patch: TypeAlias = dict[str, str]
Row: TypeAlias = Mapping[str, Any]
_ENDPOINT = "/endpointConfiguration/"
# The names of settings in patch operations, and in descriptions of a stage.
_SHOWN = {
    "metrics/enabled": "metricsEnabled",
    "throttling/rateLimit": "throttlingRateLimit",
    "throttling/burstLimit": "throttlingBurstLimit",
}


def replace_value(path: str, value: str) -> Patch:
    return {"op": "replace", "path": path, "value": value}


def list_api_patches(shown: Row, wanted: RestAttributes) -> list[Patch]:
    """List the changes of an API that a document leaves: some settings of older documents, and the
    endpoint type."""
    return list(_find_api_patches(shown, wanted))


def is_endpoint_patch(patch: Patch) -> bool:
    """Return whether a change of an API needs no deployment to take effect."""
    return patch["path"].startswith(_ENDPOINT)


_HEADER = "HEADER"


def _find_api_patches(shown: Row, wanted: RestAttributes) -> Iterator[Patch]:
    endpoint = shown.get("endpointConfiguration") or {}
    former = next(iter(endpoint.get("types") or ()), wanted.endpoint_type)
    interfaces = [
        {"op": op, "path": f"{_ENDPOINT}vpcEndpointIds", "value": one}
        for op, one in _compare(endpoint.get("vpcEndpointIds"), wanted.vpc_endpoints)
    ]
    # Only a private API has VPC endpoints.
    yield from (one for one in interfaces if one["op"] == "remove")
    if former != wanted.endpoint_type:
        yield replace_value(f"{_ENDPOINT}types/{former}", wanted.endpoint_type)
    yield from (one for one in interfaces if one["op"] == "add")
    for op, one in _compare(shown.get("binaryMediaTypes"), wanted.binary_types):
        yield {"op": op, "path": f"/binaryMediaTypes/{escape_path(one)}"}
    if bool(shown.get("disableExecuteApiEndpoint")) != wanted.is_endpoint_disabled:
        yield replace_value("/disableExecuteApiEndpoint", json.dumps(wanted.is_endpoint_disabled))
    source = wanted.key_source or _HEADER
    if shown.get("apiKeySource", _HEADER) != source:
        yield replace_value("/apiKeySource", source)
    size = wanted.compression_size
    if shown.get("minimumCompressionSize") != size:
        patch = {"op": "replace", "path": "/minimumCompressionSize"}
        yield patch if size is None else {**patch, "value": str(size)}
    if shown.get("policy") and not wanted.policy:
        yield replace_value("/policy", "")


def _compare(there: Sequence[str] | None, wanted: Sequence[str]) -> list[tuple[str, str]]:
    """List the values to add and to remove."""
    known = set(there or ())
    return [
        *(("add", one) for one in sorted({*wanted} - known)),
        *(("remove", one) for one in sorted(known - {*wanted})),
    ]


def escape_path(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


def find_removed_settings(there: Row, wanted: DesiredRestStage, stored: str | None) -> list[Patch]:
    """List the removals of settings of methods that are no longer set, or of which one is.
    `stored` are those of the last release, or None if unknown."""
    known: Mapping[str, Mapping[str, str]] = json.loads(stored or "{}")
    found = []
    for key in there.get("methodSettings") or {}:
        path = normalize_method_path(key)
        now = wanted.methods.get(path, {})
        before = _SHOWN if stored is None else known.get(path, _SHOWN)
        if not before.keys() <= now.keys():
            found.append({"op": "remove", "path": f"/{path}"})
    return sorted(found, key=lambda one: one["path"])


def normalize_method_path(key: str) -> str:
    """Return the path of a method in patch operations: `/` is escaped, and also the first one."""
    path, _, method = key.rpartition("/")
    if path == "*":
        return key
    plain = path.replace("~1", "/")
    return f"{escape_path(plain if plain.startswith('/') else f'/{plain}')}/{method}"


def list_stage_patches(
    there: Row, wanted: DesiredRestStage, deployment: str, removed: Sequence[Patch]
) -> list[Patch]:
    """List the changes of a stage that point it at a deployment, with its settings."""
    gone = {one["path"].removeprefix("/") for one in removed}
    rows = {
        normalize_method_path(key): row for key, row in (there.get("methodSettings") or {}).items()
    }
    shown = {path: row for path, row in rows.items() if path not in gone}
    return list(_find_stage_patches({**there, "methodSettings": shown}, wanted, deployment))


def _find_stage_patches(there: Row, wanted: DesiredRestStage, deployment: str) -> Iterator[Patch]:
    if there.get("deploymentId") != deployment:
        yield replace_value("/deploymentId", deployment)
    if bool(there.get("tracingEnabled")) != wanted.tracing:
        yield replace_value("/tracingEnabled", json.dumps(wanted.tracing))
    yield from _find_log_patches(there.get("accessLogSettings") or {}, wanted)
    for path, settings in wanted.methods.items():
        row = there["methodSettings"].get(path, {})
        for name, value in settings.items():
            if not _is_equal(row.get(_SHOWN[name]), value):
                yield replace_value(f"/{path}/{name}", value)


def _find_log_patches(there: Row, wanted: DesiredRestStage) -> Iterator[Patch]:
    if not wanted.log_destination:
        if there.get("destinationArn"):
            yield {"op": "remove", "path": "/accessLogSettings"}
        return
    values = {"destinationArn": wanted.log_destination, "format": wanted.log_format}
    for name, value in values.items():
        if there.get(name) != value:
            yield replace_value(f"/accessLogSettings/{name}", value)


def _is_equal(shown: Any, wanted: str) -> bool:
    """Compare values, of which `1.0` and `1` are equal."""
    return shown is not None and bool(shown == json.loads(wanted))
