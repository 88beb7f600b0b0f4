"""Settings of a function that no version contains: log groups, provisioned concurrency,
asynchronous calls, recursion and the function URL.

A release sets them: what callers need before the alias moves, and what belongs to the alias after
it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.calls.concurrency import format_settings, parse_concurrency
from fabric.model.hashing import hash_fields
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import (
    GONE,
    MAX_PARALLEL,
    convert_client_errors,
    ignore_codes,
    is_there_already,
)
from fabric.providers.cloud1.core.versions import ALIAS, Cloud1Work, retry_on_conflict
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_live_version
from fabric.providers.cloud1.functions.log_groups import (
    read_log_class,
    read_log_key,
    read_retention,
    remove_log_key,
    remove_retention,
    set_log_class,
    set_log_key,
    set_retention,
)
from fabric.providers.cloud1.functions.scaling import (
    SCALING,
    read_scaling,
    read_setting,
    set_scaling,
    stop_scaling,
)
from fabric.providers.cloud1.http.gateway_plan import merge_cors, parse_trigger_cors
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.system.cloud1_account import REFUSED

_DIGEST = 16
# Instances start in a few minutes at most.
_LONGEST_START = 900.0
_PROVISIONED = "provisioned"
_SCALED = "scaling"
_URL = "url"
# The answer of a compatible server to a call that it does not have.
_UNKNOWN_CALL = frozenset(("404",))
_STATEMENTS = ("fabric-url", "fabric-url-invoke")


class _Setting(Struct, frozen=True, kw_only=True):
    """One setting: its text for a function, how it is applied, and how it is removed. `apply`
    returns a text to store."""

    name: str
    read: Callable[[LiveFunction], str]
    apply: Callable[[Cloud1Work, LiveFunction, str], str]
    remove: Callable[[Cloud1Work, LiveFunction, str], None]


def prepare_settings(
    work: Cloud1Work, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> dict[str, str]:
    """Set what has to exist before traffic moves, and return the values to store."""
    return _apply_changes(work, functions, kept, _BEFORE)


def release_settings(
    work: Cloud1Work, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> dict[str, str]:
    """Set what belongs to the alias, and return the values to store."""
    run_parallel(lambda one: _stop_other_instances(work, one, kept), functions, MAX_PARALLEL)
    return _apply_changes(work, functions, kept, _AFTER)


def read_function_urls(texts: Mapping[str, str]) -> dict[str, str]:
    """Map functions to their URLs."""
    found = ((name.partition(":"), text.partition(" ")[2]) for name, text in texts.items())
    return {function: url for (kind, _, function), url in found if kind == _URL and url}


def _apply_changes(
    work: Cloud1Work,
    functions: Sequence[LiveFunction],
    kept: StoredReleaseState,
    settings: Sequence[_Setting],
) -> dict[str, str]:
    asked = [(one, setting) for one in functions for setting in settings]
    stored = run_parallel(lambda pair: _apply_change(work, *pair, kept=kept), asked, MAX_PARALLEL)
    names = (f"{setting.name}:{one.name}" for one, setting in asked)
    return {name: text for name, text in zip(names, stored, strict=True) if text}


def _apply_change(
    work: Cloud1Work, one: LiveFunction, setting: _Setting, *, kept: StoredReleaseState
) -> str:
    text, name = setting.read(one), f"{setting.name}:{one.name}"
    digest = hash_fields((text,))[:_DIGEST] if text else ""
    if kept.sure(name).partition(" ")[0] == digest and (text or kept.is_sure):
        return kept.texts.get(name, "")
    with (
        attach_error_spot(one.name),
        convert_client_errors(f"function `{one.name}`", work.scope.quoted),
    ):
        if text:
            return f"{digest} {setting.apply(work, one, text)}".rstrip()
        # After a failed release it is unknown whether it was set.
        with ignore_codes(GONE, frozenset() if kept.texts.get(name) else REFUSED):
            setting.remove(work, one, kept.texts.get(name, ""))
    return ""


def _read_provisioned(one: LiveFunction) -> str:
    text = dict(format_settings(one.settings)).get("concurrency", "")
    _, count = parse_concurrency(text)
    return f"{count} {read_live_version(one)}" if count else ""


def _start_instances(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    """Start the instances of a version, and wait until they are ready."""
    count, _, version = text.partition(" ")
    which = {"FunctionName": one.resource_name, "Qualifier": version}
    if not _has_scaled(work, one, which):
        retry_on_conflict(
            work,
            lambda: work.functions.put_provisioned_concurrency_config(
                **which, ProvisionedConcurrentExecutions=int(count)
            ),
        )

    def look() -> bool | None:
        found = work.functions.get_provisioned_concurrency_config(**which)
        if found["Status"] == "FAILED":
            why = found.get("StatusReason", "no reason was returned")
            message = f"function `{one.name}`: the provisioned instances did not start: {why}"
            hint = "fix the start of the function, or reduce `provisionedConcurrency`"
            raise FabricError(Problem("provider/refused", message, hint))
        return True if found["Status"] == "READY" else None

    work.scope.watch.hear(f"{one.name}: waiting for {count} provisioned instances")
    waiting = work.scope.waiting
    patient = replace(waiting, most=max(waiting.most, _LONGEST_START))
    if poll_until(look, patient, work.scope.watch) is None:
        message = f"timeout: the provisioned instances of `{one.name}` are not ready"
        hint = "check the function in the AWS console, then run: fabric deploy"
        raise FabricError(Problem("provider/not-ready", message, hint))
    return version


def _has_scaled(work: Cloud1Work, one: LiveFunction, which: Mapping[str, str]) -> bool:
    """Return whether the scaling has chosen a number of instances, which then stays."""
    scaling = read_setting(one, SCALING)
    found: dict[str, Any] = {}
    if scaling:
        with ignore_codes(GONE):
            found.update(work.functions.get_provisioned_concurrency_config(**which))
    count = int(found.get("RequestedProvisionedConcurrentExecutions", 0))
    return bool(count) and scaling["min"] <= count <= scaling["max"]


def _keep(work: Cloud1Work, one: LiveFunction, stored: str) -> None:
    """Do nothing: instances of the old version stay until it receives no traffic, and log groups
    keep their class."""


def _stop_other_instances(work: Cloud1Work, one: LiveFunction, kept: StoredReleaseState) -> None:
    """Stop the instances of versions that receive no traffic, or should have none."""
    stored = kept.texts.get(f"{_PROVISIONED}:{one.name}", "").partition(" ")[2]
    wanted = _read_provisioned(one).partition(" ")[2]
    if kept.is_sure and stored in ("", wanted):
        return
    found = {stored} if kept.is_sure else {stored, *_list_provisioned_versions(work, one)}
    is_scaled = bool(kept.texts.get(f"{_SCALED}:{one.name}"))
    for version in sorted(found - {"", wanted}):
        if is_scaled or not kept.is_sure:
            stop_scaling(work, one.resource_name, version, is_known=is_scaled)
        with ignore_codes(GONE):
            work.functions.delete_provisioned_concurrency_config(
                FunctionName=one.resource_name, Qualifier=version
            )


def _list_provisioned_versions(work: Cloud1Work, one: LiveFunction) -> Iterator[str]:
    """List versions with instances. After a failed release state does not know them all."""
    pages = work.functions.get_paginator("list_provisioned_concurrency_configs")
    with ignore_codes(GONE, REFUSED, _UNKNOWN_CALL):
        for page in pages.paginate(FunctionName=one.resource_name):
            rows = page["ProvisionedConcurrencyConfigs"]
            yield from (row["FunctionArn"].rpartition(":")[2] for row in rows)


def _set_recursion(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    work.functions.put_function_recursion_config(
        FunctionName=one.resource_name, RecursiveLoop=text.capitalize()
    )
    return ""


def _remove_recursion(work: Cloud1Work, one: LiveFunction, stored: str) -> None:
    with ignore_codes(frozenset() if stored else _UNKNOWN_CALL):
        _set_recursion(work, one, "terminate")


def _remove_scaling(work: Cloud1Work, one: LiveFunction, stored: str) -> None:
    """Stop the scaling of the live version. That of others ends with their instances."""
    version = stored.partition(" ")[2] or read_live_version(one)
    if stored or _read_provisioned(one):
        stop_scaling(work, one.resource_name, version, is_known=bool(stored))


def _read_async(one: LiveFunction) -> str:
    return dict(one.settings).get("async", "")


def _set_async(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    said = json.loads(text)
    destinations = {
        name: {"Destination": said[key]}
        for key, name in (("onSuccess", "OnSuccess"), ("onFailure", "OnFailure"))
        if key in said
    }
    work.functions.put_function_event_invoke_config(
        FunctionName=one.resource_name,
        Qualifier=ALIAS,
        MaximumRetryAttempts=said.get("maximumRetryAttempts", 2),
        MaximumEventAgeInSeconds=said.get("maximumEventAge", 21_600),
        DestinationConfig=destinations,
    )
    return ""


def _remove_async(work: Cloud1Work, one: LiveFunction, _stored: str) -> None:
    work.functions.delete_function_event_invoke_config(
        FunctionName=one.resource_name, Qualifier=ALIAS
    )


def _read_url(one: LiveFunction) -> str:
    text = dict(one.settings).get(_URL, "")
    return "{}" if text == "true" else text


def _set_url(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    """Create or update the URL. It is public, except with `authorizer: AWS_IAM`."""
    from botocore.exceptions import ClientError

    said = json.loads(text)
    is_open = said.get("authorizer", "NONE") == "NONE"
    asked = {
        "FunctionName": one.resource_name,
        "Qualifier": ALIAS,
        "AuthType": "NONE" if is_open else "AWS_IAM",
        "InvokeMode": "RESPONSE_STREAM" if said.get("stream") else "BUFFERED",
        "Cors": _build_url_cors(said),
    }
    try:
        answer = work.functions.create_function_url_config(**asked)
    except ClientError as error:
        if not is_there_already(error):
            raise
        answer = work.functions.update_function_url_config(**asked)
    for statement, permission in zip(_STATEMENTS, _build_url_permissions(), strict=True):
        if is_open:
            _permit_everybody(work, one, statement, permission)
        else:
            _remove_statement(work, one, statement)
    return str(answer["FunctionUrl"])


def _build_url_cors(said: Mapping[str, Any]) -> dict[str, object]:
    """Build the CORS settings. AWS answers OPTIONS itself, and rejects it in the list."""
    cors = parse_trigger_cors(said)
    if cors is None:
        return {}
    return merge_cors([replace(cors, methods=tuple(set(cors.methods) - {"OPTIONS"}))])


def _build_url_permissions() -> Iterator[dict[str, object]]:
    yield {"Action": "lambda:InvokeFunctionUrl", "FunctionUrlAuthType": "NONE"}
    yield {"Action": "lambda:InvokeFunction", "InvokedViaFunctionUrl": True}


def _permit_everybody(
    work: Cloud1Work, one: LiveFunction, statement: str, permission: Mapping[str, object]
) -> None:
    from botocore.exceptions import ClientError

    try:
        work.functions.add_permission(
            FunctionName=one.resource_name,
            Qualifier=ALIAS,
            StatementId=statement,
            Principal="*",
            **permission,
        )
    except ClientError as error:
        if not is_there_already(error):
            raise


def _remove_statement(work: Cloud1Work, one: LiveFunction, statement: str) -> None:
    with ignore_codes(GONE):
        work.functions.remove_permission(
            FunctionName=one.resource_name, Qualifier=ALIAS, StatementId=statement
        )


def _remove_url(work: Cloud1Work, one: LiveFunction, _stored: str) -> None:
    with ignore_codes(GONE):
        work.functions.delete_function_url_config(FunctionName=one.resource_name, Qualifier=ALIAS)
    for statement in _STATEMENTS:
        _remove_statement(work, one, statement)


_BEFORE = (
    _Setting(name="retention", read=read_retention, apply=set_retention, remove=remove_retention),
    _Setting(name="logclass", read=read_log_class, apply=set_log_class, remove=_keep),
    _Setting(name="logkey", read=read_log_key, apply=set_log_key, remove=remove_log_key),
    _Setting(name=_PROVISIONED, read=_read_provisioned, apply=_start_instances, remove=_keep),
)
_AFTER = (
    _Setting(name=_SCALED, read=read_scaling, apply=set_scaling, remove=_remove_scaling),
    _Setting(
        name="recursion",
        read=lambda one: dict(one.settings).get("recursiveLoop", ""),
        apply=_set_recursion,
        remove=_remove_recursion,
    ),
    _Setting(name="async", read=_read_async, apply=_set_async, remove=_remove_async),
    _Setting(name=_URL, read=_read_url, apply=_set_url, remove=_remove_url),
)
