"""The settings below `http` of earlier deployments, which a rollback restores.

A record has no settings of the API, so the release stores them by deployment. Each text is stored
once.
"""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import convert, to_builtins
from msgspec.structs import replace

from fabric.model.late_values import change_texts, find_late_names
from fabric.model.problems import Problem
from fabric.model.records.record import Deployment
from fabric.providers.cloud1.core.http_settings import REST, HttpSettings
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.functions.aliases import read_kept_state
from fabric.providers.cloud1.http.gateway import read_api_id
from fabric.providers.cloud1.http.rest_gateway import read_rest_id
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.redaction import Redaction

# The name of the stored value.
HISTORY = "http_history"
_GATEWAY = ".execute-api."


def recall_settings(work: Cloud1Work, address: DeploymentAddress) -> DeploymentAddress:
    """Return the address with the settings of the deployment that is restored, if they are
    known."""
    if not address.restores:
        return address
    found = _find_text(read_kept_state(address).texts, address.restores)
    if found:
        own = json.loads(address.extension)
        return replace(address, extension=json.dumps({**own, "http": json.loads(found)}))
    if read_api_id(read_kept_state(address).texts) or read_rest_id(read_kept_state(address).texts):
        work.scope.watch.hear(
            "the API keeps the settings below `http` of the config: those of that deployment are "
            "not stored"
        )
    return address


def encode_history(work: Cloud1Work, address: DeploymentAddress) -> dict[str, str]:
    """Add the settings of this deployment, and drop those of deployments that are forgotten."""
    ident, previous = address.restores or address.deployment_id, address.previous
    past = [one.deployment_id for one in previous.history] if previous else []
    needed = {*past, previous.deployment_id if previous else ""} - {ident, ""}
    rows = {
        text: [one for one in idents if one in needed]
        for text, idents in _decode(read_kept_state(address).texts).items()
    }
    text = json.dumps(json.loads(address.extension).get("http") or {}, sort_keys=True)
    if ident and work.scope.quoted(text) == text:  # without secret values
        rows[text] = [*rows.get(text, ()), ident]
    known = {text: idents for text, idents in rows.items() if idents}
    return {HISTORY: json.dumps(known)} if known else {}


def compare_settings(
    address: DeploymentAddress, now: HttpSettings, hide: Redaction
) -> tuple[str, str] | None:
    """Return the settings of the last release and the current ones, without late values and
    secrets."""
    texts, record = read_kept_state(address).texts, address.previous
    found = _find_text(texts, record.deployment_id if record else "")
    if not found:
        return None
    wanted = _list_settings(now)
    late = {name for name, one in wanted.items() if find_late_names(json.dumps(one))}
    before = _list_settings(convert(json.loads(found), HttpSettings))
    old, new = (
        json.dumps(
            {name: change_texts(one, hide.over) for name, one in side.items() if name not in late}
        )
        for side in (before, wanted)
    )
    return old, new


def _list_settings(settings: HttpSettings) -> dict[str, Any]:
    """List the settings that differ from the default."""
    default = to_builtins(HttpSettings())
    rows = to_builtins(settings).items()
    return {name: one for name, one in rows if one != default[name]}


def find_restore_problem(address: DeploymentAddress, target: Deployment) -> Problem | None:
    """Find a change of the kind since the deployment: the API of that time was deleted."""
    texts = read_kept_state(address).texts
    now = REST if read_rest_id(texts) else "http" if read_api_id(texts) else ""
    then = _find_kind(texts, target)
    if not (now and then) or now == then:
        return None
    message = f"the API of this deployment was deleted when `kind` changed from `{then}` to `{now}`"
    hint = "deploy the commit of that deployment again, which creates an API with a new address"
    return Problem("rollback/no-way-back", message, hint)


def _find_kind(texts: Mapping[str, str], target: Deployment) -> str:
    """Find the kind of the API of a deployment; empty if there was none, or it is unknown."""
    if not target.endpoint:
        return ""
    found = _find_text(texts, target.deployment_id)
    if found:
        return str(json.loads(found).get("kind") or "http")
    host, _, path = target.endpoint.removeprefix("https://").partition("/")
    if _GATEWAY not in host:
        return ""
    return REST if path else "http"  # only URLs of REST APIs contain the stage


def _find_text(texts: Mapping[str, str], deployment: str) -> str:
    rows = _decode(texts).items()
    return next((text for text, idents in rows if deployment in idents), "")


def _decode(texts: Mapping[str, str]) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = json.loads(texts.get(HISTORY, "{}"))
    return rows
