"""Event sources of functions that another tool deployed: which ones an adoption moves."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple

from fabric.model.late_values import find_late_names
from fabric.model.problems import FabricError
from fabric.providers.cloud1.adoption.adoption import (
    find_async_settings,
    find_integrations,
    is_wildcard,
    read_api,
)
from fabric.providers.cloud1.core.http_settings import read_http_settings
from fabric.providers.cloud1.core.permissions import list_permitted_arns
from fabric.providers.cloud1.core.versions import ALIAS, Cloud1Work, build_alias_arn
from fabric.providers.cloud1.events.events import list_function_wires, read_last_part
from fabric.providers.cloud1.events.mappings import (
    list_changed_settings,
    list_mappings,
    read_mapping,
)
from fabric.providers.cloud1.events.rules import changes_target, list_rules_of, list_targets
from fabric.providers.cloud1.events.wires import (
    BucketWire,
    MappingWire,
    RuleWire,
    TopicWire,
    Wire,
    format_wire,
    read_options,
    strip_settings,
)
from fabric.providers.cloud1.http.api_domain import check_domain
from fabric.providers.cloud1.http.gateway_calls import GATEWAY, list_pages
from fabric.providers.core.contract import (
    AdoptionPart,
    DeploymentAddress,
    EventLink,
    LiveFunction,
)

TAKE, KEEP, CREATE, MANUAL = "take", "keep", "create", "manual"
_STAYS = "calls the function as before"
_AT_RISK = "calls the newest code, which can fail for seconds during the next deploy"
_NO_TRIGGER = f"{_STAYS}: the config has no such trigger"
_FoundSource: TypeAlias = tuple[EventLink | None, AdoptionPart]


class _Caller(Struct, frozen=True):
    """A function or one of its aliases, as event sources name it."""

    live: LiveFunction
    arn: str
    # The name of an alias other than that of fabric.
    other_alias: str = ""

    @property
    def is_function(self) -> bool:
        return self.arn == self.live.resource_id


def survey_events(
    work: Cloud1Work, address: DeploymentAddress, live: LiveFunction
) -> tuple[list[EventLink], list[AdoptionPart]]:
    """Find the event sources of a function and of all its aliases."""
    wanted: tuple[Wire, ...] = ()
    with contextlib.suppress(FabricError):  # unsupported triggers are reported by the deploy
        wanted = list_function_wires(address, live)
    found = [*_survey_async(work, live)]
    for caller in _list_callers(work, live):
        found += _survey_mappings(work, caller, wanted)
        found += _survey_rules(work, caller, wanted)
        if caller.other_alias:
            found += _survey_alias_apis(work, caller)
    found += _survey_permissions(work, live, wanted)
    return [link for link, _ in found if link], [part for _, part in found]


def _list_callers(work: Cloud1Work, live: LiveFunction) -> list[_Caller]:
    pages = work.functions.get_paginator("list_aliases").paginate(FunctionName=live.resource_name)
    names = [str(one["Name"]) for page in pages for one in page["Aliases"]]
    others = [name for name in sorted(names) if name != ALIAS]
    return [
        _Caller(live, live.resource_id),
        _Caller(live, build_alias_arn(live.resource_id)),
        *(_Caller(live, f"{live.resource_id}:{name}", name) for name in others),
    ]


def _survey_async(work: Cloud1Work, live: LiveFunction) -> Iterator[_FoundSource]:
    """Find the retries and destinations of asynchronous calls, which an alias does not inherit."""
    if find_async_settings(work, live.resource_name):
        reason = "are copied to the alias; the next deploy sets those of the config"
        part = AdoptionPart(TAKE, "retries and destinations", live.resource_name, live.name, reason)
        yield EventLink("async", live.resource_id), part


def _survey_mappings(
    work: Cloud1Work, caller: _Caller, wanted: Sequence[Wire]
) -> Iterator[_FoundSource]:
    known = {strip_settings(one): one for one in wanted if isinstance(one, MappingWire)}
    is_late = any(find_late_names(str(text)) for one in known for text in astuple(one))
    for one in list_mappings(work, caller.arn):
        if one["FunctionArn"] != caller.arn or one["State"] == "Deleting":
            continue
        wire = strip_settings(read_mapping(one))
        action, reason, link = KEEP, _NO_TRIGGER, None
        if wire in known and caller.other_alias:
            action, reason = MANUAL, _explain_other_alias(caller, "mapping")
        elif wire in known:
            action, link = TAKE, EventLink("mapping", one["UUID"])
            reason = (
                "its mapping moves to the alias"
                if caller.is_function
                else "calls the alias already"
            )
            if changed := list_changed_settings(one, known[wire]):
                reason += f"; the next deploy changes {', '.join(changed)}"
        elif is_late:
            action = MANUAL
            reason = (
                "delete its mapping after the next deploy, if the config has the same source: "
                "its value there is not known yet"
            )
        yield (
            link,
            AdoptionPart(action, "event source", format_wire(wire), caller.live.name, reason),
        )


def _explain_other_alias(caller: _Caller, noun: str) -> str:
    return (
        f"calls the alias `{caller.other_alias}`: delete its {noun} after the next deploy, which "
        "creates another one"
    )


def _survey_rules(
    work: Cloud1Work, caller: _Caller, wanted: Sequence[Wire]
) -> Iterator[_FoundSource]:
    rules = [one for one in wanted if isinstance(one, RuleWire)]
    for bus in sorted({"default", *(one.bus for one in rules)}):
        for name in list_rules_of(work, caller.arn, bus):
            yield _survey_rule(work, caller, RuleWire(bus, name), rules)


def _survey_rule(
    work: Cloud1Work, caller: _Caller, rule: RuleWire, rules: Sequence[RuleWire]
) -> _FoundSource:
    name = caller.live.name
    found = work.clients.of("events").describe_rule(Name=rule.name, EventBusName=rule.bus)
    equal = _find_equal_rule(rule, found, rules)
    if equal is None:
        return None, AdoptionPart(KEEP, "rule", rule.name, name, _NO_TRIGGER)
    targets = list_targets(work, rule)
    if caller.other_alias:
        reason = _explain_other_alias(caller, "target")
        return None, AdoptionPart(MANUAL, "rule", rule.name, name, reason)
    if len(targets) > 1:
        reason = (
            "has other targets too: remove its target of the function after the next deploy, "
            "which creates another rule"
        )
        return None, AdoptionPart(MANUAL, "rule", rule.name, name, reason)
    changed = [
        *(["its input"] if changes_target(equal, targets[0]) else []),
        *(["its state"] if _is_enabled(equal) != (found.get("State") != "DISABLED") else []),
    ]
    reason = "its target moves to the alias; the next deploy replaces the rule"
    if changed:
        reason += f", and changes {' and '.join(changed)}"
    return EventLink("rule", rule.name, rule.bus), AdoptionPart(
        TAKE, "rule", rule.name, name, reason
    )


def _is_enabled(wire: RuleWire) -> bool:
    return bool(read_options(wire).get("enabled", True))


def _find_equal_rule(
    rule: RuleWire, found: Mapping[str, Any], rules: Iterable[RuleWire]
) -> RuleWire | None:
    schedule, pattern = found.get("ScheduleExpression", ""), found.get("EventPattern", "")
    equal = (
        one
        for one in rules
        if one.bus == rule.bus
        and one.schedule == schedule
        and json.loads(one.pattern or "null") == json.loads(pattern or "null")
    )
    return next(equal, None)


def _survey_alias_apis(work: Cloud1Work, caller: _Caller) -> Iterator[_FoundSource]:
    """Find the APIs that call an alias of the other tool, which stays at its version."""
    sources = list_permitted_arns(work, caller.arn)
    for api in sorted({read_api(one) for one in sources} - {""}):
        reason = f"calls the alias `{caller.other_alias}`, which stays at its version"
        yield None, AdoptionPart(KEEP, "API", api, caller.live.name, reason)


def _survey_permissions(
    work: Cloud1Work, live: LiveFunction, wanted: Sequence[Wire]
) -> Iterator[_FoundSource]:
    """Find the APIs, buckets and topics that can call the function."""
    topics = {read_last_part(one.topic) for one in wanted if isinstance(one, TopicWire)}
    buckets = {one.bucket for one in wanted if isinstance(one, BucketWire)}
    sources = list_permitted_arns(work, live.resource_name)
    for api in sorted({read_api(one) for one in sources} - {""}):
        yield _survey_api(work, live, api)
    for source in sorted(sources):
        service, name = source.split(":")[2], read_last_part(source)
        if service == "s3" and name in buckets:
            reason = "delete its old notification before the next deploy: S3 allows only one"
            yield None, AdoptionPart(MANUAL, "bucket", name, live.name, reason)
        elif service == "sns" and name in topics:
            reason = "delete its old subscription after the next deploy: both get each message"
            yield None, AdoptionPart(MANUAL, "topic", name, live.name, reason)
        elif service in ("s3", "sns"):
            kind = "bucket" if service == "s3" else "topic"
            yield None, AdoptionPart(KEEP, kind, name, live.name, _STAYS)


def _survey_api(work: Cloud1Work, live: LiveFunction, api: str) -> _FoundSource:
    """Survey an API. The integrations of an HTTP API can move to the alias without a gap."""
    if is_wildcard(api):
        return None, AdoptionPart(KEEP, "APIs", api, live.name, _AT_RISK)
    if find_integrations(work, api, live.resource_id) and _is_deployed_automatically(work, api):
        reason = "its integration moves to the alias; the API and its address stay"
        return EventLink("api", api), AdoptionPart(TAKE, "HTTP API", api, live.name, reason)
    return None, AdoptionPart(KEEP, "API", api, live.name, f"keeps its address; {_AT_RISK}")


def _is_deployed_automatically(work: Cloud1Work, api: str) -> bool:
    stages = list_pages(work.clients.of(GATEWAY), "get_stages", "Items", ApiId=api)
    return all(one.get("AutoDeploy") for one in stages)


def survey_domain(work: Cloud1Work, address: DeploymentAddress) -> Iterator[AdoptionPart]:
    """Find a domain of the config that points to the API of the other tool."""
    domain = read_http_settings(address).domain
    if domain is None or find_late_names(domain.name):
        return
    try:
        check_domain(work, address, domain)
    except FabricError as error:
        if any(one.code != "deploy/foreign" for one in error.problems):
            raise
        reason = (
            "points to another API: deploy without `domain`, point its API mapping to the new API, "
            "then add `domain` again"
        )
        yield AdoptionPart(MANUAL, "domain", domain.name, reason=reason)
