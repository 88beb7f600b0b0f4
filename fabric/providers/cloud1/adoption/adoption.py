"""Take over functions of another tool, and undo it. Nothing that users reach changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import CONFLICT, GONE, ignore_codes
from fabric.providers.cloud1.core.ownership import (
    check_ownership,
    format_kept_place,
    is_foreign,
    is_owned,
    refuse_elsewhere,
)
from fabric.providers.cloud1.core.permissions import (
    build_gateway_permission,
    build_rule_permission,
    let_in,
    list_permitted_arns,
    list_permitted_sources,
    shut_out,
)
from fabric.providers.cloud1.core.versions import (
    ALIAS,
    Cloud1Work,
    build_alias_arn,
    build_function_name,
    describe_function,
    retry_on_conflict,
    strip_arn_version,
    wait_until_ready,
)
from fabric.providers.cloud1.events.event_sources import KEPT_WIRES
from fabric.providers.cloud1.events.mappings import list_mappings, read_mapping
from fabric.providers.cloud1.events.rules import move_rule
from fabric.providers.cloud1.events.wires import (
    RuleWire,
    Wire,
    decode_wires,
    encode_wires,
    format_wire,
    strip_settings,
)
from fabric.providers.cloud1.functions.aliases import format_kept_versions, read_kept_state
from fabric.providers.cloud1.functions.function_attributes import FunctionBeside
from fabric.providers.cloud1.functions.functions import KEPT_VERSIONS
from fabric.providers.cloud1.http.gateway_calls import GATEWAY, list_pages
from fabric.providers.core.contract import (
    AdoptableFunction,
    AdoptedFunction,
    AdoptionPart,
    DeploymentAddress,
    EventLink,
    LiveFunction,
)
from fabric.system.cloud1_account import read_error_code
from fabric.system.http.http_check import download

# The description of aliases that an adoption created.
MADE = "created by fabric adopt"
ADOPTED = "adopted:"
_ASYNC = "async"
_ASYNC_MEMBERS = ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")


def adopt_function(
    work: Cloud1Work, address: DeploymentAddress, function: AdoptableFunction
) -> AdoptedFunction:
    """Publish the current version, point the alias at it, and move event sources to the alias.

    Each step checks the current state first, so that an interrupted adoption can be repeated.
    """
    one = function.live
    alias_now = find_alias(work, one.resource_name)
    found = describe_current(work, one.resource_name, alias_now)
    if found is None or found["Configuration"].get("RevisionId", "") != function.revision:
        message = f"function `{one.resource_name}` was changed during the adoption"
        raise FabricError(Problem("adopt/moved", message, "run the command again"))
    refuse_owned(address, one.name, found)
    refuse_elsewhere(address, one.resource_id)
    archive = _download_archive(one, found)
    # The tags first: they prove to an undo that fabric has begun.
    tags = FunctionBeside(one.name).all_tags(address)
    if any((found.get("Tags") or {}).get(name) != text for name, text in tags.items()):
        work.functions.tag_resource(Resource=one.resource_id, Tags=tags)
    version = _prepare_alias(work, one, found, alias_now)
    alias = build_alias_arn(one.resource_id)
    _let_links_in(work, alias, function.links)
    moved = [_move_link(work, one, link) for link in function.links]
    wires = tuple(wire for wire in moved if wire is not None)
    live = replace(one, resource_id=f"{strip_arn_version(one.resource_id)}:{version}")
    work.scope.watch.hear(f"{one.name}: adopted as version {version}")
    kept = {
        **format_kept_place((live,)),
        **format_kept_versions((live,)),
        # A release deletes only versions that it knows, so those of the other tool stay.
        KEPT_VERSIONS + one.name: version,
        ADOPTED + one.name: "yes",
    }
    if any(link.kind == _ASYNC for link in function.links):
        # No hash of settings: the next release writes or deletes them.
        kept[f"{_ASYNC}:{one.name}"] = ADOPTED
    if wires:
        kept[KEPT_WIRES + one.name] = encode_wires(wires, alias, ADOPTED)
    return AdoptedFunction(live, tuple(kept.items()), archive)


def _download_archive(one: LiveFunction, found: Mapping[str, Any]) -> bytes:
    """Download the archive for rollbacks. Its address is valid for minutes."""
    address = str(found.get("Code", {}).get("Location", ""))
    content = download(address) if address and not one.image else b""
    return content if hash_bytes(content) == one.artifact_sha256 else b""


def describe_current(
    work: Cloud1Work, name: str, alias: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Describe the version that an adoption takes: that of an alias of the other tool, otherwise
    the newest code."""
    is_theirs = alias is not None and alias.get("Description") != MADE
    return describe_function(work, name, ALIAS if is_theirs else "")


def refuse_owned(address: DeploymentAddress, function: str, found: Mapping[str, Any]) -> None:
    """Raise if another service or stage of fabric owns the function."""
    if is_owned(found):
        check_ownership(address, function, found)


def find_alias(work: Cloud1Work, name: str) -> Mapping[str, Any] | None:
    from botocore.exceptions import ClientError

    try:
        found: Mapping[str, Any] = work.functions.get_alias(FunctionName=name, Name=ALIAS)
    except ClientError as error:
        if read_error_code(error) in GONE:
            return None
        raise
    return found


def _prepare_alias(
    work: Cloud1Work,
    one: LiveFunction,
    found: Mapping[str, Any],
    alias: Mapping[str, Any] | None,
) -> str:
    """Return the version of the alias. An alias of the other tool stays as it is."""
    if alias is not None and alias.get("Description") != MADE:
        return str(alias["FunctionVersion"])
    wait_until_ready(work, one.resource_name)
    # AWS returns the newest version if nothing changed since.
    published = retry_on_conflict(
        work,
        lambda: work.functions.publish_version(
            FunctionName=one.resource_name, CodeSha256=found["Configuration"]["CodeSha256"]
        ),
    )
    asked = {
        "FunctionName": one.resource_name,
        "Name": ALIAS,
        "FunctionVersion": str(published["Version"]),
    }
    if alias is None:
        # Possibly created by this call before its response was lost.
        with ignore_codes(CONFLICT):
            work.functions.create_alias(**asked, Description=MADE)
    elif alias["FunctionVersion"] != asked["FunctionVersion"]:
        work.functions.update_alias(**asked)
    return asked["FunctionVersion"]


def _move_link(work: Cloud1Work, one: LiveFunction, link: EventLink) -> Wire | None:
    """Move an event source to the alias with one call, and return its identity. APIs stay
    as they are otherwise."""
    alias = build_alias_arn(one.resource_id)
    if link.kind == _ASYNC:
        _copy_async_settings(work, one.resource_name)
        return None
    if link.kind == "api":
        for ident in find_integrations(work, link.id, one.resource_id):
            _point_integration(work, link.id, ident, alias)
        return None
    if link.kind == "rule":
        move_rule(work, RuleWire(link.place, link.id), one.resource_id, alias)
        return RuleWire(link.place, link.id)
    found: Mapping[str, Any] = work.functions.get_event_source_mapping(UUID=link.id)
    if found["FunctionArn"] != alias:
        _point_mapping(work, link.id, alias)
    return strip_settings(read_mapping(found))


def find_async_settings(work: Cloud1Work, name: str, alias: str = "") -> Mapping[str, Any]:
    """Find the retries and destinations of a function or its alias."""
    found: Mapping[str, Any] = {}
    which = {"Qualifier": alias} if alias else {}
    with ignore_codes(GONE):
        found = work.functions.get_function_event_invoke_config(FunctionName=name, **which)
    return {key: found[key] for key in _ASYNC_MEMBERS if key in found}


def _copy_async_settings(work: Cloud1Work, name: str) -> None:
    """Give the alias the retries and destinations of the function, before events move to it."""
    found = find_async_settings(work, name)
    if found and not find_async_settings(work, name, ALIAS):
        work.functions.put_function_event_invoke_config(FunctionName=name, Qualifier=ALIAS, **found)


def find_integrations(work: Cloud1Work, api: str, arn: str) -> list[str]:
    """Find the integrations of an HTTP API that call this function or alias. A missing API, and an
    API of another kind, have none."""
    rows: list[Mapping[str, Any]] = []
    with ignore_codes(GONE):
        rows += list_pages(work.clients.of(GATEWAY), "get_integrations", "Items", ApiId=api)
    uris = (arn, f"/functions/{arn}/invocations")
    found = (one for one in rows if str(one.get("IntegrationUri", "")).endswith(uris))
    return [str(one["IntegrationId"]) for one in found]


def _point_integration(work: Cloud1Work, api: str, ident: str, arn: str) -> None:
    work.clients.of(GATEWAY).update_integration(ApiId=api, IntegrationId=ident, IntegrationUri=arn)


def _let_links_in(work: Cloud1Work, alias: str, links: Sequence[EventLink]) -> None:
    """Permit the event sources before one of them moves."""
    for link in links:
        if link.kind == "rule":
            let_in(work, alias, build_rule_permission(alias, link.place, link.id))
        elif link.kind == "api":
            let_in(work, alias, build_gateway_permission(alias, link.id))


def _point_mapping(work: Cloud1Work, uuid: str, arn: str) -> None:
    retry_on_conflict(
        work,
        lambda: work.functions.update_event_source_mapping(UUID=uuid, FunctionName=arn),
    )


def let_go_functions(
    work: Cloud1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> list[AdoptionPart]:
    """Undo the adoption of functions: their event sources, aliases and tags."""
    return [part for one in functions for part in _let_go(work, address, one)]


def _let_go(
    work: Cloud1Work, address: DeploymentAddress, one: LiveFunction
) -> Iterator[AdoptionPart]:
    name = one.resource_name or build_function_name(address, one.name)
    found = describe_function(work, name)
    if found is None or is_foreign(address, one.name, found):
        yield AdoptionPart("keep", "function", name, one.name, "is not managed by fabric")
        return
    arn = str(found["Configuration"]["FunctionArn"])
    alias = find_alias(work, name)
    if alias is not None and alias.get("Description") == MADE:
        yield from _let_alias_go(work, address, replace(one, resource_name=name, resource_id=arn))
    elif alias is not None:
        reason = "existed before the adoption, with its event sources"
        yield AdoptionPart("keep", "alias", ALIAS, one.name, reason)
    tags = FunctionBeside(one.name).all_tags(address)
    there = [tag for tag in tags if tag in (found.get("Tags") or {})]
    if there:
        work.functions.untag_resource(Resource=arn, TagKeys=there)
    reason = "its tags were deleted. Its code and its versions stay"
    yield AdoptionPart("take", "function", name, one.name, reason)


def _list_apis(arns: Iterable[str]) -> set[str]:
    return {api for api in map(read_api, arns) if api}


def read_api(arn: str) -> str:
    """Return the API of a permission; empty for other sources."""
    service, rest = arn.split(":", 5)[2::3]
    return rest.partition("/")[0] if service == "execute-api" else ""


def is_wildcard(api: str) -> bool:
    """Return whether a permission is for several APIs."""
    return "*" in api


def _list_rules(arns: Iterable[str]) -> set[RuleWire]:
    """List the rules of permissions. Rules of other buses have the bus before the name."""
    paths = (arn.split(":", 5)[5] for arn in arns if arn.split(":")[2] == "events")
    parts = (path.partition("/")[2].rpartition("/")[::2] for path in paths)
    return {RuleWire(bus or "default", name) for bus, name in parts}


def _let_alias_go(
    work: Cloud1Work, address: DeploymentAddress, one: LiveFunction
) -> Iterator[AdoptionPart]:
    """Return the event sources to the function, and delete the alias if nothing else uses it."""
    alias = build_alias_arn(one.resource_id)
    for mapping in list_mappings(work, alias):
        _point_mapping(work, mapping["UUID"], one.resource_id)
        title = format_wire(read_mapping(mapping))
        yield AdoptionPart("take", "event source", title, one.name, "calls the function directly")
    # Permissions exist before their rules move, so they name those of an interrupted adoption.
    own = list_permitted_sources(work, alias)
    wires = decode_wires(read_kept_state(address).texts.get(KEPT_WIRES + one.name, ""))
    rules = {strip_settings(wire) for wire in wires if isinstance(wire, RuleWire)}
    for rule in sorted(_list_rules(own) | rules, key=repr):
        if isinstance(rule, RuleWire):
            yield from _let_rule_go(work, one, rule)
    for api in sorted(_list_apis(list_permitted_arns(work, alias))):
        for ident in find_integrations(work, api, alias):
            _point_integration(work, api, ident, one.resource_id)
            yield AdoptionPart("take", "API", api, one.name, "calls the function directly")
        shut_out(work, alias, build_gateway_permission(alias, api))
    users = list_permitted_arns(work, alias)
    if users:
        reason = f"is used by {', '.join(sorted(users))}"
        yield AdoptionPart("keep", "alias", ALIAS, one.name, reason)
        return
    with ignore_codes(GONE):
        work.functions.delete_function_event_invoke_config(
            FunctionName=one.resource_name, Qualifier=ALIAS
        )
    with ignore_codes(GONE):
        work.functions.delete_alias(FunctionName=one.resource_name, Name=ALIAS)


def _let_rule_go(work: Cloud1Work, one: LiveFunction, rule: RuleWire) -> Iterator[AdoptionPart]:
    """Return a rule to the function. A rule that was deleted since is not an error."""
    alias = build_alias_arn(one.resource_id)
    with ignore_codes(GONE):
        if move_rule(work, rule, alias, one.resource_id):
            yield AdoptionPart("take", "rule", rule.name, one.name, "calls the function directly")
    shut_out(work, alias, build_rule_permission(alias, rule.bus, rule.name))
