"""The entry point of this package: parse a `fabric.yml` into a `Config`, or raise all problems.

Steps: text, tree, stage overlays, bindings, chosen provider, checks, Config.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Env
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.parse import Loaded, parse_config
from fabric.config.redact import mark_credentials
from fabric.config.resolve.binding_scope import (
    BindingScope,
    ReadLookup,
    ReadSecret,
    ReadText,
    refuse_files,
    refuse_managers,
)
from fabric.config.resolve.bindings import PARAM_NAME, fill
from fabric.config.resolve.provider import choose
from fabric.config.resolve.references import find_references, find_region, with_lookups
from fabric.config.resolve.stages import apply_defaults, apply_stage_overlays, remove_anchor_keys
from fabric.config.rules.config import (
    check_parts,
    check_rules,
    list_param_leaves,
    list_secret_leaves,
    stage_problem,
)
from fabric.config.rules.limits import limit_problems
from fabric.config.rules.locations import (
    find_misplaced_references,
    find_misplaced_secrets,
    list_locations,
)
from fabric.config.rules.strangers import check_untrusted_config
from fabric.config.rules.value_sources import (
    find_misplaced_late_values,
    find_missing_supplies,
    find_unknown_services,
)
from fabric.config.schema.check import Finding, check
from fabric.config.schema.config import CONFIG
from fabric.config.stacks import check_stacks
from fabric.config.values import Config
from fabric.config.workflows import check_workflows
from fabric.config.yaml.nodes import (
    KeyValue,
    Mapping,
    Node,
    Scalar,
    Sequence,
    find,
    find_child,
    is_unfilled,
    place_of,
    remove_keys,
    with_entry,
)
from fabric.config.yaml.problems import make_yaml_error, open_document, place_in_file
from fabric.config.yaml.reader import Document
from fabric.model.bindable import SecretUse
from fabric.model.late_values import find_late_names, has_late_bindings
from fabric.model.lookups import LookupPlace, NamedLookup, has_references
from fabric.model.other_tools import find_tool
from fabric.model.problems import FabricError, Place, Problem, merge_missing_credentials
from fabric.model.secrets.secrecy import redact_values
from fabric.model.secrets.secret_pins import find_pins

MAX_FINDINGS = 100
# Shorter ones stand inside of common words: to hide them would spoil a message and hide nothing.
_SHORTEST_HIDDEN = 4
# Filled only when they are used: a variable of another stage or place need not be set here.
_PARAM = re.compile(rf"\$\{{param:({PARAM_NAME.pattern})")
_LATER = ("stages", "providerOverrides", "secrets", "params")
_KEPT = frozenset(
    {"service", "provider", "providerOverrides", "backend", "stages", "secrets", "params"}
)
# How bindings of ARNs of the service begin.
_OWN_ARNS = (b"${function:", b"${workflow:")
_CAUSES = frozenset({"config/late-value", "config/unresolved-reference"})
# What says where one name leads to.
_ROUTED = ("fabric", "extensions")
# What a config cannot be without, and records do not hang on: any will do.
_ANY = {"runtime": "nodejs20.x", "entry": "index.js", "image": "image"}


class BindingInputs(Struct, frozen=True):
    """`read_text` reads a file, `read_secret` calls a secret manager. `withheld` variables exist
    but are forbidden."""

    # From the command line.
    params: Env[str, str] = {}
    read_text: ReadText = refuse_files
    read_secret: ReadSecret = refuse_managers
    withheld: frozenset[str] = frozenset()
    secret_use: SecretUse = SecretUse.READ
    read_lookup: ReadLookup | None = None
    # The services whose outputs can be used.
    services: frozenset[str] = frozenset()


class ConfigText(Struct, frozen=True):
    """The inputs of a load.

    With `only_place` only record locations and function names are needed; other values can be
    missing.

    A `strangers` config is more limited, and can use no other backend than `own_backend`.
    """

    file: str
    text: bytes
    # The environment over `.env`.
    env: Env[str, str]
    stage: str
    # The `--provider` choice.
    provider: str = ""
    bindings: BindingInputs = BindingInputs()
    only_place: bool = False
    # Adds the router.
    keeps_router: bool = False
    strangers: bool = False
    own_backend: str = ""


def load_config(source: ConfigText) -> Config:
    """Load the config of one service and stage. Raises all problems together."""
    file = source.file
    document = open_config(file, source.text)
    loaded, findings = resolve_config(source, require_config_map(file, document))
    fatal = [item.problem for item in findings if item.is_fatal]
    if fatal:
        raise make_yaml_error(file, document.text, merge_missing_credentials(fatal))
    warnings = (*document.warnings, *(item.problem for item in findings))
    config = parse_config(loaded._replace(warnings=place_in_file(file, document.text, warnings)))
    params = frozenset(_PARAM.findall(document.text)) if source.bindings.params else frozenset()
    described = replace(
        config.document,
        bindings=replace(config.document.bindings, params=params, references=loaded.references),
        locations=list_locations(file, document.text, loaded.root),
        unplannable=place_in_file(file, document.text, limit_problems(loaded.root, source.stage)),
        is_reduced=source.only_place,
    )
    return replace(config, document=described)


def open_config(file: str, raw: bytes) -> Document:
    """Read the document of a config. One of another tool that is not YAML is named."""
    try:
        return open_document(file, raw)
    except FabricError:
        tool = find_tool(file.rpartition("/")[2])
        if tool and b"service:" not in raw:
            raise FabricError(_build_other_tool_problem(tool, file, Place(file))) from None
        raise


# Names of providers in configs of the Serverless Framework, which fabric does not use.
_SERVERLESS_PROVIDERS = frozenset(("aws", "google", "azure", "openwhisk", "tencent", "aliyun"))


def require_config_map(file: str, document: Document) -> Mapping:
    """The root of a config, which is a map."""
    root = document.root
    provider = find_child(root, "provider")
    name = find_child(provider, "name") or provider
    is_serverless = isinstance(name, Scalar) and name.text in _SERVERLESS_PROVIDERS
    tool = find_tool("serverless.yml" if is_serverless else file.rpartition("/")[2])
    # The name of the file is no reason alone: a config of fabric can have any name.
    if is_serverless or (tool and find_child(root, "service") is None):
        problem = _build_other_tool_problem(tool, file, place_of(provider or root))
        raise make_yaml_error(file, document.text, [problem])
    if not isinstance(root, Mapping):
        raise make_yaml_error(file, document.text, [_not_a_map_problem(root)])
    return root


def _build_other_tool_problem(tool: str, file: str, where: Place | None) -> Problem:
    is_serverless = tool == find_tool("serverless.yml")
    code = "config/looks-like-serverless" if is_serverless else "config/other-tool"
    return Problem(code, f"this is a config of {tool}", f"run: fabric import {file}", where)


def resolve_config(source: ConfigText, raw: Mapping) -> tuple[Loaded, list[Finding]]:
    """Resolve the document: apply the stage, fill the bindings and collect findings."""
    root = apply_stage_overlays(remove_anchor_keys(raw), source.stage)
    root = _reduce_to_place(root, keeps_router=source.keeps_router) if source.only_place else root
    scope = BindingScope(
        env=source.env,
        stage=source.stage,
        secrets=list_secret_leaves(root),
        params=list_param_leaves(root),
        given=source.bindings.params,
        read_text=source.bindings.read_text,
        read_secret=source.bindings.read_secret,
        withheld=source.bindings.withheld,
        secret_use=source.bindings.secret_use,
    )
    scope, references = _open_references(source, root, scope)
    filled = fill(remove_keys(root, *_LATER), scope)
    root = _with_later(filled.node, root)
    chosen = choose(root, source.provider, scope)
    root = mark_credentials(chosen.root)
    problems = (*stage_problem(source.stage), *filled.problems, *chosen.problems)
    # Shapes are checked before `defaults` is merged, so that its mistakes are reported once.
    shape_findings = list(islice(check(CONFIG, root), MAX_FINDINGS))
    root = apply_defaults(root)
    has_own = any(one in source.text for one in _OWN_ARNS)
    findings = [
        *map(Finding, problems),
        *shape_findings,
        *islice(check_rules(root, source.stage), MAX_FINDINGS),
        *(() if source.only_place else check_parts(root)),
        *islice(find_misplaced_secrets(root), MAX_FINDINGS),
        *islice(find_misplaced_references(root), MAX_FINDINGS),
        *islice(find_missing_supplies(root, scope), MAX_FINDINGS),
        *islice(check_stacks(root, scope), MAX_FINDINGS),
        *islice(check_workflows(root, scope, has_own=has_own), MAX_FINDINGS),
        *_find_late_values(root, source, filled.secret_values | chosen.secret_values),
        *_find_untrusted_settings(source, root),
    ]
    findings = _drop_consequences(findings)
    names = filled.names | chosen.names
    values = filled.secret_values | chosen.secret_values
    loaded = Loaded(
        file=source.file,
        root=root,
        label=chosen.label,
        own=chosen.own,
        scope=scope,
        names=names,
        secret_values=values,
        warnings=(),
        references=references,
    )
    return loaded, list(_redact_findings(findings, values))


def _open_references(
    source: ConfigText, root: Mapping, scope: BindingScope
) -> tuple[BindingScope, tuple[NamedLookup, ...]]:
    """Let the references of this stage be read in the region of the service."""
    if not has_references(source.text):
        return scope, ()
    found = find_references(remove_keys(root, *_LATER), scope)
    chosen = choose(_with_later(found.node, root), source.provider, scope).root
    read, region = source.bindings.read_lookup, find_region(chosen)
    if read is None or region is None or any(find_misplaced_references(chosen)):
        return scope, found.names
    return with_lookups(scope, read, LookupPlace(region, found.names)), found.names


def _find_untrusted_settings(source: ConfigText, root: Mapping) -> Iterator[Finding]:
    if source.strangers:
        yield from islice(check_untrusted_config(root, source.own_backend), MAX_FINDINGS)


def _find_late_values(
    root: Mapping, source: ConfigText, secrets: frozenset[str]
) -> Iterator[Finding]:
    """Find late values, only if the text has some, or an upstream output is still unknown."""
    is_bound = has_late_bindings(source.text)
    if (
        is_bound
        or find_pins(*secrets)
        or any(find_late_names(value) for value in source.env.values())
    ):
        yield from islice(find_misplaced_late_values(root), MAX_FINDINGS)
    if is_bound:
        yield from islice(find_unknown_services(root, source.bindings.services), MAX_FINDINGS)


def _drop_consequences(findings: list[Finding]) -> list[Finding]:
    """Drop other findings on values that are known only later."""
    causes: dict[Place | None, Finding] = {}
    for one in findings:
        if one.problem.code in _CAUSES and one.problem.where is not None:
            causes.setdefault(one.problem.where, one)
    return [one for one in findings if causes.get(one.problem.where, one) is one]


def _redact_findings(findings: Iterable[Finding], values: frozenset[str]) -> Iterator[Finding]:
    """Redact secrets in findings, because names in them can contain one."""
    long = frozenset(value for value in values if len(value) >= _SHORTEST_HIDDEN)
    for one in findings:
        problem = one.problem
        message, hint = redact_values(problem.message, long), redact_values(problem.hint, long)
        yield one._replace(problem=replace(problem, message=message, hint=hint))


def _with_later(filled: Node, root: Mapping) -> Mapping:
    result = filled if isinstance(filled, Mapping) else root
    for key in _LATER:
        entry = find(root, key)
        result = result if entry is None else with_entry(result, entry)
    return result


def _not_a_map_problem(root: Node) -> Problem:
    where = Place("", root.line, root.column) if root.line else None
    hint = "start the config with `service: <name>`"
    return Problem("config/empty", "the config is empty or not a mapping", hint, where)


def _reduce_to_place(root: Mapping, *, keeps_router: bool = False) -> Mapping:
    """Reduce the config before bindings are filled, because dropped settings can have unset
    bindings."""
    kept = (*_KEPT, *(_ROUTED if keeps_router else ()), "functions")
    entries = (entry for entry in root.entries if entry.key in kept)
    return root._replace(entries=tuple(map(_place_of, entries)))


def _place_of(entry: KeyValue) -> KeyValue:
    match entry.key, entry.value:
        case "provider", Mapping() as provider:
            return entry._replace(value=_select_keys(provider, ("name", "region", "runtime")))
        case "providerOverrides", Mapping(entries=labels) as overrides:
            closed = tuple(one._replace(value=_with_any(one.value)) for one in labels)
            return entry._replace(value=overrides._replace(entries=closed))
        case "extensions", Mapping() as extensions:
            return entry._replace(value=_select_keys(extensions, ("router",)))
        case "functions", Sequence(items=items) as functions:
            return entry._replace(
                value=functions._replace(items=tuple(map(_reduce_function, items)))
            )
        case "functions", Mapping(entries=entries) as functions:
            named = tuple(one._replace(value=_reduce_function(one.value)) for one in entries)
            return entry._replace(value=functions._replace(entries=named))
        case _:
            return entry


def _with_any(override: Node) -> Node:
    """Replace the runtime of an override, because it would have to match the placeholder entry."""
    if not isinstance(override, Mapping):
        return override
    return override._replace(entries=tuple(map(_replace_bindings, override.entries)))


def _reduce_function(function: Node) -> Node:
    keys = ("name", "entry", "image")
    return _select_keys(function, keys) if isinstance(function, Mapping) else function


def _select_keys(node: Mapping, keys: tuple[str, ...]) -> Mapping:
    """Select only these keys."""
    kept = (entry for entry in node.entries if entry.key in keys and not _is_open_region(entry))
    return node._replace(entries=tuple(map(_replace_bindings, kept)))


def _is_open_region(entry: KeyValue) -> bool:
    """Return whether the region has a binding. Its value is then in the record too."""
    return entry.key == "region" and isinstance(entry.value, Scalar) and is_unfilled(entry.value)


def _replace_bindings(entry: KeyValue) -> KeyValue:
    text = _ANY.get(entry.key)
    return entry._replace(value=Scalar(text, text, entry.line, entry.column)) if text else entry
