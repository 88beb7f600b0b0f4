"""Survey of functions that another tool deployed: the parts that an adoption takes or leaves."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.calls.concurrency import encode_concurrency, format_settings, parse_concurrency
from fabric.model.hashing import hash_fields
from fabric.model.late_values import find_late_names
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.cloud1.adoption.adoption import (
    MADE,
    describe_current,
    find_alias,
    find_integrations,
    read_api,
    refuse_owned,
)
from fabric.providers.cloud1.adoption.old_stacks import (
    OldResource,
    OldStack,
    list_protection_steps,
    read_stack,
)
from fabric.providers.cloud1.core.client import MAX_PARALLEL
from fabric.providers.cloud1.core.function_settings import find_other_settings
from fabric.providers.cloud1.core.ownership import (
    read_home,
    refuse_elsewhere,
    refuse_other_account,
    refuse_other_region,
)
from fabric.providers.cloud1.core.permissions import list_permitted_arns
from fabric.providers.cloud1.core.versions import (
    IMAGE,
    RUNTIMES,
    Cloud1Work,
    build_alias_arn,
    build_function_name,
    decode_code_hash,
    mark_in,
    read_description,
    read_image,
    strip_arn_version,
)
from fabric.providers.cloud1.events.events import list_function_wires, read_last_part
from fabric.providers.cloud1.events.mappings import list_mappings, read_mapping
from fabric.providers.cloud1.events.rules import list_rules_of
from fabric.providers.cloud1.events.wires import (
    BucketWire,
    RuleWire,
    TopicWire,
    Wire,
    format_wire,
    strip_settings,
)
from fabric.providers.cloud1.http.gateway_calls import GATEWAY, list_pages
from fabric.providers.core.contract import (
    AdoptableFunction,
    AdoptionPart,
    AdoptionSurvey,
    DeploymentAddress,
    EventLink,
    FunctionDraft,
    LiveFunction,
)
from fabric.providers.core.retry import run_parallel

TAKE, KEEP, CREATE, MANUAL = "take", "keep", "create", "manual"
_STACK_TAG = "aws:cloudformation:stack-id"
_DEFAULTS = {"memory": "128", "timeout": "3", "architecture": "x86_64"}
_FIELDS = {"memory": "MemorySize", "timeout": "Timeout"}
# The other resources of a stack that call functions, as users know them.
_CALLERS = {
    "AWS::ApiGatewayV2::Api": "HTTP API",
    "AWS::ApiGateway::RestApi": "REST API",
    "AWS::Lambda::Url": "function URL",
    "AWS::Scheduler::Schedule": "schedule",
    "AWS::SNS::Subscription": "subscription",
}
_STAYS = "calls the function as before"
_AT_RISK = "calls the newest code, which can fail for seconds during the next deploy"


class _Found(Struct, frozen=True):
    """One function of the config, as it is at AWS."""

    draft: FunctionDraft
    described: Mapping[str, Any] | None
    adoptable: AdoptableFunction | None = None
    parts: tuple[AdoptionPart, ...] = ()


def survey_functions(
    work: Cloud1Work, address: DeploymentAddress, drafts: Sequence[FunctionDraft], stack: str
) -> AdoptionSurvey:
    refuse_other_region(work, address)
    if read_home(address) is not None:
        refuse_other_account(work, address)
    found = run_parallel(lambda one: _survey_function(work, address, one), drafts, MAX_PARALLEL)
    stacks = _read_stacks(work, found, stack)
    functions = tuple(one.adoptable for one in found if one.adoptable)
    needed = _list_needed_ids(found)
    unprotected = [
        resource
        for one in stacks
        for resource in one.resources
        if not resource.is_retained and _is_needed(resource, needed)
    ]
    return AdoptionSurvey(
        functions=functions,
        parts=(*(part for one in found for part in one.parts), *_list_other_parts(stacks, found)),
        stacks=tuple(one.name for one in stacks),
        unprotected=tuple(f"{one.stack}/{one.name}" for one in unprotected),
        steps=tuple(_list_steps(stacks, unprotected, address.stage)),
    )


def _survey_function(work: Cloud1Work, address: DeploymentAddress, draft: FunctionDraft) -> _Found:
    name = build_function_name(address, draft.name)
    alias = find_alias(work, name)
    described = describe_current(work, name, alias)
    if described is None:
        part = AdoptionPart(CREATE, "function", name, draft.name, "does not exist at AWS yet")
        return _Found(draft, None, parts=(part,))
    arn = str(described["Configuration"]["FunctionArn"])
    refuse_owned(address, draft.name, described)
    refuse_elsewhere(address, arn)
    taken = _describe_taken_alias(name, alias)
    live = _build_live(draft, name, described)
    links, parts = _survey_events(work, address, live)
    adoptable = AdoptableFunction(
        live=live,
        differing=tuple(_list_differing(draft, name, described)),
        environment=Secret(_read_environment(described)),
        handler=str(described["Configuration"].get("Handler", "")),
        links=tuple(links),
    )
    own = AdoptionPart(TAKE, "function", name, draft.name, taken)
    return _Found(draft, described, adoptable, (own, *parts))


def _describe_taken_alias(name: str, alias: Mapping[str, Any] | None) -> str:
    if alias is None or alias.get("Description") == MADE:
        return "gets tags, a version and the alias `live`"
    if alias.get("RoutingConfig", {}).get("AdditionalVersionWeights"):
        message = f"refusing to adopt: the alias `live` of `{name}` splits traffic of two versions"
        hint = "finish or stop the deployment of the other tool, then try again"
        raise FabricError(Problem("adopt/busy", message, hint))
    return f"gets tags; its alias `live` stays at version {alias['FunctionVersion']}"


def _build_live(draft: FunctionDraft, name: str, described: Mapping[str, Any]) -> LiveFunction:
    one = described["Configuration"]
    is_image = one.get("PackageType") == IMAGE
    share = (described.get("Concurrency") or {}).get("ReservedConcurrentExecutions")
    return LiveFunction(
        draft.name,
        name,
        strip_arn_version(str(one["FunctionArn"])),
        artifact_sha256=str(one["CodeSha256"]) if is_image else decode_code_hash(one["CodeSha256"]),
        triggers=draft.triggers,
        tags=_read_tags(described),
        reserved_concurrency=share,
        image=read_image(described) if is_image else "",
    )


def _read_tags(described: Mapping[str, Any]) -> Pairs:
    tags = described.get("Tags") or {}
    return tuple(
        sorted(pair for pair in tags.items() if not pair[0].startswith(("aws:", "fabric:")))
    )


def _read_environment(described: Mapping[str, Any]) -> Pairs:
    found = described["Configuration"].get("Environment", {}).get("Variables", {})
    return tuple(sorted(found.items()))


def _list_differing(
    draft: FunctionDraft, name: str, described: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Compare the settings with the config, by the names of recorded settings."""
    one, settings = described["Configuration"], dict(draft.settings)
    runtime = str(one.get("Runtime", ""))
    if runtime and runtime != RUNTIMES.get(settings["runtime"], settings["runtime"]):
        yield "runtime", runtime
    there = {key: str(one[field]) for key, field in _FIELDS.items()}
    there["architecture"] = one.get("Architectures", ["x86_64"])[0]
    for key, text in there.items():
        wanted = settings.get(key, "")
        if text != (_DEFAULTS[key] if wanted in ("", "0") else wanted):
            yield key, text
    layers = tuple(row["Arn"] for row in one.get("Layers") or ())
    is_late = any(map(find_late_names, draft.layers))
    if draft.own_layers or is_late or layers != draft.layers:
        yield "layers", hash_fields((repr(layers),))
    if dict(_read_tags(described)) != dict(draft.tags):
        yield "tags", hash_fields((repr(_read_tags(described)),))
    share = (described.get("Concurrency") or {}).get("ReservedConcurrentExecutions")
    [(_, concurrency)] = format_settings((("concurrency", settings.get("concurrency", "")),))
    reserved, provisioned = parse_concurrency(concurrency)
    if share != reserved:
        yield "concurrency", encode_concurrency(share, provisioned)
    text = str(one.get("Description", ""))
    if (read_description(text) if mark_in(text) else text) != settings.get("description", ""):
        yield "description", text
    # Settings with unknown values are compared by the deploy.
    yield from find_other_settings(settings, one, name).items()


def _survey_events(
    work: Cloud1Work, address: DeploymentAddress, live: LiveFunction
) -> tuple[list[EventLink], list[AdoptionPart]]:
    """Find the event sources of a function, and of an alias that the other tool created."""
    wanted: tuple[Wire, ...] = ()
    with contextlib.suppress(FabricError):  # unsupported triggers are reported by the deploy
        wanted = list_function_wires(address, live)
    links: list[EventLink] = []
    parts: list[AdoptionPart] = []
    for arn in (live.resource_id, build_alias_arn(live.resource_id)):
        for link, part in (
            *_survey_mappings(work, live, arn, wanted),
            *_survey_rules(work, live, arn, wanted),
        ):
            links += [link] if link else []
            parts.append(part)
    for link, part in _survey_permissions(work, live, wanted):
        links += [link] if link else []
        parts.append(part)
    return links, parts


def _survey_mappings(
    work: Cloud1Work, live: LiveFunction, arn: str, wanted: Sequence[Wire]
) -> Iterator[tuple[EventLink | None, AdoptionPart]]:
    known = set(map(strip_settings, wanted))
    for one in list_mappings(work, arn):
        if one["FunctionArn"] != arn or one["State"] == "Deleting":
            continue
        wire = strip_settings(read_mapping(one))
        title = format_wire(wire)
        if wire in known:
            is_moved = arn == live.resource_id
            reason = "its mapping moves to the alias" if is_moved else "calls the alias already"
            link = EventLink("mapping", one["UUID"])
            yield link, AdoptionPart(TAKE, "event source", title, live.name, reason)
        else:
            reason = f"{_STAYS}: the config has no such trigger"
            yield None, AdoptionPart(KEEP, "event source", title, live.name, reason)


def _survey_rules(
    work: Cloud1Work, live: LiveFunction, arn: str, wanted: Sequence[Wire]
) -> Iterator[tuple[EventLink | None, AdoptionPart]]:
    rules = [one for one in wanted if isinstance(one, RuleWire)]
    for bus in sorted({"default", *(one.bus for one in rules)}):
        for name in list_rules_of(work, arn, bus):
            reason = _explain_kept_rule(work, RuleWire(bus, name), rules)
            if reason:
                yield None, AdoptionPart(KEEP, "rule", name, live.name, f"{_STAYS}: {reason}")
            else:
                reason = "its target moves to the alias; the next deploy replaces the rule"
                link = EventLink("rule", name, bus)
                yield link, AdoptionPart(TAKE, "rule", name, live.name, reason)


def _explain_kept_rule(work: Cloud1Work, rule: RuleWire, rules: Sequence[RuleWire]) -> str:
    """Return why a rule is not taken; empty if it is."""
    events = work.clients.of("events")
    which = {"Name": rule.name, "EventBusName": rule.bus}
    found = events.describe_rule(**which)
    schedule, pattern = found.get("ScheduleExpression", ""), found.get("EventPattern", "")
    equal = [
        one
        for one in rules
        if one.bus == rule.bus
        and one.schedule == schedule
        and json.loads(one.pattern or "null") == json.loads(pattern or "null")
    ]
    if not equal:
        return "the config has no equal trigger"
    targets = events.list_targets_by_rule(Rule=rule.name, EventBusName=rule.bus)["Targets"]
    return "it has other targets too" if len(targets) > 1 else ""


def _survey_permissions(
    work: Cloud1Work, live: LiveFunction, wanted: Sequence[Wire]
) -> Iterator[tuple[EventLink | None, AdoptionPart]]:
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


def _survey_api(
    work: Cloud1Work, live: LiveFunction, api: str
) -> tuple[EventLink | None, AdoptionPart]:
    """Survey an API. The integrations of an HTTP API can move to the alias without a gap."""
    if find_integrations(work, api, live.resource_id) and _is_deployed_automatically(work, api):
        reason = "its integration moves to the alias; the API and its address stay"
        return EventLink("api", api), AdoptionPart(TAKE, "HTTP API", api, live.name, reason)
    return None, AdoptionPart(KEEP, "API", api, live.name, f"keeps its address; {_AT_RISK}")


def _is_deployed_automatically(work: Cloud1Work, api: str) -> bool:
    stages = list_pages(work.clients.of(GATEWAY), "get_stages", "Items", ApiId=api)
    return all(one.get("AutoDeploy") for one in stages)


# The stacks of the other tool.


def _read_stacks(work: Cloud1Work, found: Iterable[_Found], stack: str) -> list[OldStack]:
    tags = (one.described.get("Tags") or {} for one in found if one.described)
    idents = {str(one[_STACK_TAG]) for one in tags if _STACK_TAG in one}
    stacks = [one for one in (read_stack(work, ident) for ident in sorted(idents)) if one]
    if stack and all(one.name != stack for one in stacks):
        named = read_stack(work, stack)
        if named is None:
            message = f"the stack `{stack}` does not exist"
            hint = "check its name, and the region and account of your credentials"
            raise FabricError(Problem("adopt/unknown-stack", message, hint))
        stacks.append(named)
    return stacks


def _list_needed_ids(found: Iterable[_Found]) -> frozenset[str]:
    """List the IDs of resources that adopted functions consist of or use."""
    needed: set[str] = set()
    for one in found:
        if one.adoptable is None or one.described is None:
            continue
        live = one.adoptable.live
        configuration = one.described["Configuration"]
        logs = configuration.get("LoggingConfig", {}).get("LogGroup")
        needed |= {
            live.resource_name,
            live.resource_id,
            f"{live.resource_id}:live",
            logs or f"/aws/lambda/{live.resource_name}",
            str(configuration["Role"]).rpartition("/")[2],
            *(link.id for link in one.adoptable.links),
            *(f"{link.place}|{link.id}" for link in one.adoptable.links),
        }
    return frozenset(needed)


def _is_needed(one: OldResource, needed: frozenset[str]) -> bool:
    if one.kind == "AWS::Lambda::Version":
        return one.id.rpartition(":")[0] in needed
    return one.kind in _NEEDED_KINDS and one.id in needed


_NEEDED_KINDS = frozenset(
    (
        *("AWS::Lambda::Function", "AWS::Lambda::Alias", "AWS::Lambda::EventSourceMapping"),
        *("AWS::Events::Rule", "AWS::Logs::LogGroup", "AWS::IAM::Role"),
    )
)


def _list_steps(
    stacks: Iterable[OldStack], unprotected: Sequence[OldResource], stage: str
) -> Iterator[str]:
    for one in stacks:
        rows = [resource for resource in unprotected if resource.stack == one.name]
        if rows:
            yield from list_protection_steps(one, rows, stage)


def _list_other_parts(
    stacks: Iterable[OldStack], found: Sequence[_Found]
) -> Iterator[AdoptionPart]:
    """List APIs and other callers of the stacks. The functions name the others."""
    named = {part.name for one in found for part in one.parts}
    for one in stacks:
        for resource in one.resources:
            kind = _CALLERS.get(resource.kind)
            if kind and resource.id not in named:
                yield AdoptionPart(KEEP, kind, resource.id, reason=f"stays in stack `{one.name}`")
    triggers = (json.loads(text) for one in found for text in one.draft.triggers)
    if any(one["type"] == "http" for one in triggers):
        yield AdoptionPart(CREATE, "API", "HTTP triggers", reason="a new API with a new address")
