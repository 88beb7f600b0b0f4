"""Survey of functions that another tool deployed: the parts that an adoption takes or leaves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    refuse_owned,
)
from fabric.providers.cloud1.adoption.event_survey import (
    CREATE,
    TAKE,
    survey_domain,
    survey_events,
)
from fabric.providers.cloud1.adoption.stack_survey import (
    FoundFunction,
    find_unprotected,
    list_other_parts,
    list_steps,
    read_stacks,
)
from fabric.providers.cloud1.core.client import MAX_PARALLEL
from fabric.providers.cloud1.core.function_settings import find_other_settings
from fabric.providers.cloud1.core.ownership import (
    read_home,
    refuse_elsewhere,
    refuse_other_account,
    refuse_other_region,
)
from fabric.providers.cloud1.core.versions import (
    IMAGE,
    RUNTIMES,
    Cloud1Work,
    build_function_name,
    decode_code_hash,
    mark_in,
    read_description,
    read_image,
    strip_arn_version,
)
from fabric.providers.core.contract import (
    AdoptableFunction,
    AdoptionPart,
    AdoptionSurvey,
    DeploymentAddress,
    FunctionDraft,
    LiveFunction,
)
from fabric.providers.core.retry import run_parallel

_DEFAULTS = {"memory": "128", "timeout": "3", "architecture": "x86_64"}
_FIELDS = {"memory": "MemorySize", "timeout": "Timeout"}


def survey_functions(
    work: Cloud1Work, address: DeploymentAddress, drafts: Sequence[FunctionDraft], stack: str
) -> AdoptionSurvey:
    refuse_other_region(work, address)
    if read_home(address) is not None:
        refuse_other_account(work, address)
    found = run_parallel(lambda one: _survey_function(work, address, one), drafts, MAX_PARALLEL)
    stacks = read_stacks(work, found, stack)
    functions = tuple(one.adoptable for one in found if one.adoptable)
    unprotected = find_unprotected(stacks, found)
    return AdoptionSurvey(
        functions=functions,
        parts=(
            *(part for one in found for part in one.parts),
            *list_other_parts(stacks, found),
            *(survey_domain(work, address) if functions else ()),
        ),
        stacks=tuple(one.name for one in stacks),
        unprotected=tuple(f"{one.stack}/{one.name}" for one in unprotected),
        steps=tuple(list_steps(stacks, unprotected, address.stage)),
    )


def _survey_function(
    work: Cloud1Work, address: DeploymentAddress, draft: FunctionDraft
) -> FoundFunction:
    name = build_function_name(address, draft.name)
    alias = find_alias(work, name)
    described = describe_current(work, name, alias)
    if described is None:
        part = AdoptionPart(CREATE, "function", name, draft.name, "does not exist at AWS yet")
        return FoundFunction(draft, None, parts=(part,))
    _require_tags(name, described)
    arn = str(described["Configuration"]["FunctionArn"])
    refuse_owned(address, draft.name, described)
    refuse_elsewhere(address, arn)
    taken = _describe_taken_alias(name, alias)
    live = _build_live(draft, name, described)
    links, parts = survey_events(work, address, live)
    adoptable = AdoptableFunction(
        live=live,
        differing=tuple(_list_differing(draft, name, described)),
        environment=Secret(_read_environment(described)),
        handler=str(described["Configuration"].get("Handler", "")),
        links=tuple(links),
        revision=str(described["Configuration"].get("RevisionId", "")),
    )
    own = AdoptionPart(TAKE, "function", name, draft.name, taken)
    return FoundFunction(draft, described, adoptable, (own, *parts))


def _require_tags(name: str, described: Mapping[str, Any]) -> None:
    """Raise without permission to read tags. They name the owner and the stack of a function."""
    if described.get("TagsError"):
        message = f"permission denied: cannot read the tags of the function `{name}`"
        hint = "allow `lambda:ListTags` on the function: tags name its stack"
        raise FabricError(Problem("credentials/refused", message, hint))


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
