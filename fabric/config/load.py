"""The entry point of this package: parse a `fabric.yml` into a `Config`, or raise all problems.

Steps: text, tree, stage overlays, bindings, chosen provider, checks, Config.
"""

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Env
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from fabric.config.parse import Loaded, config_of
from fabric.config.redact import mark_credentials
from fabric.config.resolve.binding_scope import (
    BindingScope,
    ReadSecret,
    ReadText,
    no_files,
    no_managers,
)
from fabric.config.resolve.bindings import PARAM_NAME, fill
from fabric.config.resolve.place_alone import place_alone
from fabric.config.resolve.placeholders import late_where_none_may_be
from fabric.config.resolve.provider import choose
from fabric.config.resolve.stages import for_stage, without_asides
from fabric.config.rules.config import param_leaves, rule_findings, secret_leaves
from fabric.config.rules.forbidden_places import secrets_where_none_may_be
from fabric.config.rules.limits import limit_problems
from fabric.config.rules.locations import locations_of
from fabric.config.rules.stage_names import stage_problem
from fabric.config.rules.strangers import strangers_findings
from fabric.config.rules.supplies import missing_supplies
from fabric.config.schema.check import Finding, check
from fabric.config.schema.config import CONFIG
from fabric.config.values import Config
from fabric.config.yaml.nodes import Mapping, Node, find, with_entry, without
from fabric.config.yaml.problems import error_of, in_file, open_document
from fabric.config.yaml.reader import Document
from fabric.model.bindable import SecretUse
from fabric.model.late_values import late_names
from fabric.model.problems import Place, Problem
from fabric.model.secrecy import without_values

MAX_FINDINGS = 100
# Shorter ones stand inside of common words: to hide them would spoil a message and hide nothing.
_SHORTEST_HIDDEN = 4
# Filled only when they are used: a variable of another stage or place need not be set here.
_PARAM = re.compile(rf"\$\{{param:({PARAM_NAME.pattern})")
_LATER = ("stages", "providerOverrides", "secrets", "params")


class ConfigText(Struct, frozen=True):
    """The inputs of a load. `env` is the environment over `.env`. `provider` is the `--provider`
    choice. `params` are from the command line. `read_text` reads a file, `read_secret` calls a
    secret manager.

    With `only_place` only record locations and function names are needed; other values can be
    missing. `keeps_router` adds the router.

    `withheld` variables exist but are forbidden. A `strangers` config is more limited, and can use
    no other backend than `own_backend`.
    """

    file: str
    text: bytes
    env: Env[str, str]
    stage: str
    provider: str = ""
    params: Env[str, str] = {}
    read_text: ReadText = no_files
    read_secret: ReadSecret = no_managers
    only_place: bool = False
    keeps_router: bool = False
    withheld: frozenset[str] = frozenset()
    secret_use: SecretUse = SecretUse.READ
    strangers: bool = False
    own_backend: str = ""


def load_config(source: ConfigText) -> Config:
    """Load the config of one service and stage. Raises all problems together."""
    file = source.file
    document = open_document(file, source.text)
    loaded, findings = resolved(source, settings_in(file, document))
    fatal = [item.problem for item in findings if item.is_fatal]
    if fatal:
        raise error_of(file, document.text, fatal)
    warnings = (*document.warnings, *(item.problem for item in findings))
    config = config_of(loaded._replace(warnings=in_file(file, document.text, warnings)))
    return replace(
        config,
        locations=locations_of(file, document.text, loaded.root),
        unplannable=in_file(file, document.text, limit_problems(loaded.root, source.stage)),
        bound_params=frozenset(_PARAM.findall(document.text)) if source.params else frozenset(),
    )


def settings_in(file: str, document: Document) -> Mapping:
    """The root of a config, which is a map."""
    if not isinstance(document.root, Mapping):
        raise error_of(file, document.text, [_no_map(document.root)])
    return document.root


def resolved(source: ConfigText, raw: Mapping) -> tuple[Loaded, list[Finding]]:
    """Resolve the document: apply the stage, fill the bindings and collect findings."""
    root = for_stage(without_asides(raw), source.stage)
    root = place_alone(root, keeps_router=source.keeps_router) if source.only_place else root
    scope = BindingScope(
        source.env,
        source.stage,
        secret_leaves(root),
        param_leaves(root),
        source.params,
        source.read_text,
        source.read_secret,
        source.withheld,
        source.secret_use,
    )
    filled = fill(without(root, *_LATER), scope)
    root = _with_later(filled.node, root)
    chosen = choose(root, source.provider, scope)
    root = mark_credentials(chosen.root)
    problems = (*stage_problem(source.stage), *filled.problems, *chosen.problems)
    findings = [
        *map(Finding, problems),
        *islice(check(CONFIG, root), MAX_FINDINGS),
        *islice(rule_findings(root, source.stage), MAX_FINDINGS),
        *islice(secrets_where_none_may_be(root), MAX_FINDINGS),
        *islice(missing_supplies(root, scope), MAX_FINDINGS),
        *_late_findings(root, source.env),
        *_untrusted(source, root),
    ]
    findings = _late_first(findings)
    names = filled.names | chosen.names
    values = filled.secret_values | chosen.secret_values
    loaded = Loaded(source.file, root, chosen.label, chosen.own, scope, names, values, ())
    return loaded, list(_hidden(findings, values))


def _untrusted(source: ConfigText, root: Mapping) -> Iterator[Finding]:
    if source.strangers:
        yield from islice(strangers_findings(root, source.own_backend), MAX_FINDINGS)


def _late_findings(root: Mapping, env: Env[str, str]) -> Iterator[Finding]:
    """Find late values, only if an upstream output is still unknown."""
    if any(late_names(value) for value in env.values()):
        yield from islice(late_where_none_may_be(root), MAX_FINDINGS)


def _late_first(findings: list[Finding]) -> list[Finding]:
    """Drop other findings on late values, because their final value is unknown."""
    late = {one.problem.where for one in findings if one.problem.code == "config/late-value"}
    return [
        one
        for one in findings
        if one.problem.code == "config/late-value" or one.problem.where not in late - {None}
    ]


def _hidden(findings: Iterable[Finding], values: frozenset[str]) -> Iterator[Finding]:
    """Redact secrets in findings, because names in them can contain one."""
    long = frozenset(value for value in values if len(value) >= _SHORTEST_HIDDEN)
    for one in findings:
        problem = one.problem
        message, hint = without_values(problem.message, long), without_values(problem.hint, long)
        yield one._replace(problem=replace(problem, message=message, hint=hint))


def _with_later(filled: Node, root: Mapping) -> Mapping:
    result = filled if isinstance(filled, Mapping) else root
    for key in _LATER:
        entry = find(root, key)
        result = result if entry is None else with_entry(result, entry)
    return result


def _no_map(root: Node) -> Problem:
    where = Place("", root.line, root.column) if root.line else None
    hint = "start the config with `service: <name>`"
    return Problem("config/empty", "the config is empty or not a mapping", hint, where)
