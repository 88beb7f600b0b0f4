"""A config of Wrangler (Cloudflare Workers) to a config of fabric.

An environment of Wrangler becomes a stage.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from fabric.config.yaml.nodes import EMPTY, Node
from fabric.importing.context import Context
from fabric.importing.credential_names import name_variable
from fabric.importing.credentials import Credentials
from fabric.importing.draft import Fields, Imported, Value
from fabric.importing.intrinsics import LogicalNames
from fabric.importing.packaging import NODE_SUFFIXES, put_build_step, put_define
from fabric.importing.rules import (
    Rule,
    Rules,
    apply_rules,
    copy_as,
    drop_because,
    inside,
    is_false,
    is_true,
    lose_because,
    share,
)
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.functions import check_schedule, check_stage, choose_service, put_service
from fabric.importing.web.worker_bindings import (
    BINDING_RULES,
    FUNCTION,
    put_queues,
    put_variable,
)
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import redact_shapes

_PROVIDER = "edge1-workers"
_RUNTIME = "nodejs22.x"
_ROUTES = ("ANY:/", "ANY:/{proxy+}")
_HOST = re.compile(r"([A-Za-z0-9.-]+)/\*")
_VARIABLE = re.compile(r"^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", re.MULTILINE)
_SUFFIX = re.compile(r"\.[A-Za-z0-9]+$")
# Bindings of products that fabric does not name.
_UNNAMED = ("media", "worker_loaders", "vpc_services")
_LOADERS = {"Text": "text", "Data": "binary"}


class _Credentials(Credentials):
    """The credentials of Wrangler: only variables have names, and environments their own values."""

    def hide(self, at: At, key: str, value: str) -> str:
        if at.path[:1] == ("env",):
            if "vars" not in at.path[2:3] and redact_shapes(value) == value:
                return value
            key = name_variable("_".join((*at.path[1:2], key)))
        return super().hide(at, key, value)


def convert_wrangler(root: Node, surroundings: Surroundings, file: str) -> Imported:
    """Convert a config. Each key of the source ends in the ledger."""
    credentials = _Credentials(ledger := Ledger())
    source = At(credentials.replace(root))
    if not source.is_map:
        message = 'the file is not a map, such as `name = "shop"`'
        raise FabricError(Problem("import/unreadable", message, where=Place(file)))
    service = choose_service(source.get("name").text or surroundings.folder_name)
    names = LogicalNames(service=service, functions={})
    context = Context(names, credentials, ledger, surroundings)
    config = Fields()
    put_service(context, source.get("name"), config, _PROVIDER, _RUNTIME)
    function = Fields(source.get("main"))
    function.put("name", FUNCTION)
    extension = Fields()
    _put_entry(context, source.get("main"), function)
    for route in _ROUTES:
        function.add("triggers", {"type": "http", "route": route})
    apply_rules(context, source, _build_rules(config, function), extension)
    _put_secrets(context, config)
    top = _Stage(source, function, config, At(extension.build()))
    for at in source.get("env").list_entries():
        if check_stage(context, at):
            _convert_stage(context, at, top)
    if function.has("entry"):
        config.add("functions", function)
    config.child("extensions").put(_PROVIDER, extension)
    ledger.remark(
        source.get("name"),
        "fabric names Workers `<service>-<stage>-<function>`, behind a Worker for the routes",
        f"{service}-<stage>-app",
    )
    return Imported(config=config.build_config(()), ledger=ledger)


def _put_entry(context: Context, at: At, function: Fields) -> None:
    if at.is_missing:
        return
    path = context.surroundings.place(context.read_text(at))
    function.put("entry", path, at)
    if not context.surroundings.is_file(at.text.removeprefix("./")):
        reason = f"no file found for the entry `{at.text}`"
        context.ledger.lose(at, reason, "build the file first, or set `entry` to its source")
    elif _SUFFIX.sub("", path) == path or not path.endswith(NODE_SUFFIXES):
        context.ledger.lose(at, f"`{at.text}` is not JavaScript or TypeScript")
    elif path == at.text:
        context.ledger.carry(at)
    else:
        context.ledger.change(at, "paths are relative to fabric.yml", path)


def _put_secrets(context: Context, config: Fields) -> None:
    """Declare the secrets of local runs, whose values are stored at Cloudflare."""
    text = context.surroundings.read_text(".dev.vars") or ""
    for name in _VARIABLE.findall(text):
        if not config.child("env").has(name):
            config.child("env").put(name, f"${{secret:{name}}}")


def _put_variables(target: Fields, context: Context, at: At, extension: Fields) -> None:
    for one in at.list_entries():
        if isinstance(one.value, str):
            context.copy_variable(one, target.child("env", at))
        else:
            put_variable(context, one, extension)


def _put_flags(context: Context, at: At, extension: Fields) -> None:
    for one in at.list_items():
        if one.text in ("nodejs_compat", "nodejs_compat_v2"):
            context.ledger.drop(one, "fabric always sets nodejs_compat")
        else:
            extension.add("compatibilityFlags", context.read_text(one), one)
            context.ledger.carry(one)


def _put_crons(function: Fields, context: Context, at: At, _: Fields) -> None:
    context.ledger.carry(at.get("crons"))
    for one in at.get("crons").list_items():
        text = context.read_text(one)
        if check_schedule(context, one, text):
            function.add("triggers", {"type": "cron", "schedule": text}, one)
            context.ledger.carry(one)


def _put_routes(context: Context, at: At, extension: Fields) -> None:
    """Put one route of a whole hostname. fabric has one hostname for a service."""
    for one in at.list_items():
        pattern = one.get("pattern") if one.is_map else one
        is_domain = is_true(one.get("custom_domain"))
        found = _HOST.fullmatch(f"{pattern.text}/*" if is_domain else pattern.text)
        if found is None or extension.has("hostname"):
            reason = f"the route `{pattern.text}` is not the only route of a whole hostname"
            context.ledger.lose(one, reason, "one `hostname` is possible")
            continue
        extension.put("hostname", found[1], one)
        context.ledger.carry(pattern)
        for key in ("zone_name", "zone_id"):
            context.ledger.drop(one.get(key), "fabric reads the zone from EDGE1_ZONE_ID")
        if is_domain:
            reason = "a route of the zone, whose DNS record must exist"
            context.ledger.change(one.get("custom_domain"), reason, found[1])


def _lose_bindings(context: Context, at: At, _: Fields) -> None:
    for one in at.list_items() if at.is_list else (at,):
        name = one.get("binding").text or at.key
        hint = "declare it below `bindings.unsafe`"
        context.ledger.lose(one, f"the binding `{name}` ({at.key}) is not supported", hint)


def _put_build_command(config: Fields, context: Context, at: At, _: Fields) -> None:
    """Put a command that runs before the Worker is bundled. It has no shell in fabric."""
    command = at.get("command")
    if not command.is_missing:
        put_build_step(context, command, context.read_text(command), config)
    folder = at.get("cwd")
    context.ledger.lose(folder, "a directory of the command is not supported", "use `cd`")
    context.ledger.drop(at.get("watch_dir"), "fabric watches the inputs of the command")


def _put_modules(config: Fields, context: Context, at: At, _: Fields) -> None:
    """Put rules for files that a Worker imports as text or data."""
    for one in at.list_items():
        loader = _LOADERS.get(one.get("type").text, "")
        suffixes = [_SUFFIX.search(glob.text) for glob in one.get("globs").list_items()]
        if not loader or not all(suffixes):
            reason = f"modules of type `{one.get('type').text}` are not supported"
            context.ledger.lose(one, reason, "set `build.loader`")
            continue
        for found in suffixes:
            if found:
                config.child("build").child("loader", one).put(found[0], loader)
        context.ledger.carry(one)


def _put_source_maps(config: Fields, context: Context, at: At, _: Fields) -> None:
    if is_true(at):
        config.child("build").put_flag("sourcemap", at, value=True)
    context.ledger.carry(at)


def _put_below(target: Fields, key: str) -> Rule:
    return lambda context, at, _: context.copy(at, target.child("build", at), key)


def _note_observability(context: Context, at: At, _: Fields) -> None:
    enabled = at.get("enabled")
    if is_false(enabled):
        context.ledger.change(enabled, "fabric always stores logs", "true")
    context.ledger.drop(at, "fabric stores logs and traces of Workers")


def _note_address(context: Context, at: At, _: Fields) -> None:
    if is_false(at):
        reason = "without `hostname`, the service has an address of workers.dev"
        context.ledger.change(at, reason)
    else:
        context.ledger.carry(at)


_OF_WRANGLER = drop_because("used only by Wrangler")
_COMMON: Rules = {
    "compatibility_date": copy_as("compatibilityDate"),
    "compatibility_flags": _put_flags,
    **share(("route", "routes"), _put_routes),
    **BINDING_RULES,
    **share(_UNNAMED, _lose_bindings),
    "containers": lose_because("containers of Cloudflare are not supported"),
    "site": lose_because("the format of old static files", "use `assets`"),
    **share(
        ("wasm_modules", "text_blobs", "data_blobs"), lose_because("the format of old Workers")
    ),
    "tail_consumers": lose_because("tail consumers are not supported"),
    "placement": inside("placement", {"mode": copy_as("mode")}),
    "limits": inside("limits", {"cpu_ms": copy_as("cpu_ms")}),
    "logpush": lose_because("Logpush is not supported"),
    "observability": _note_observability,
    "workers_dev": _note_address,
    "preview_urls": drop_because("fabric does not use preview addresses"),
    **share(("account_id", "cfg", "zone_id", "usage_model", "first_party_worker"), _OF_WRANGLER),
    **share(
        (
            *("$schema", "dev", "send_metrics", "keep_vars", "preserve_file_names", "base_dir"),
            *("no_bundle", "find_additional_modules", "jsx_factory", "jsx_fragment", "node_compat"),
            *("pages_build_output_dir", "compliance_region", "python_modules", "legacy_env"),
        ),
        _OF_WRANGLER,
    ),
}


def _build_rules(config: Fields, function: Fields) -> Rules:
    """Build the rules of the top level, which write to the config and to its function."""
    return {
        **_COMMON,
        "vars": partial(_put_variables, config),
        "triggers": partial(_put_crons, function),
        "queues": partial(put_queues, function),
        "build": partial(_put_build_command, config),
        "rules": partial(_put_modules, config),
        "minify": _put_below(config, "minify"),
        "define": lambda context, at, _: put_define(context, at, config.child("build", at)),
        "tsconfig": _put_below(config, "tsconfig"),
        "keep_names": _put_below(config, "keepNames"),
        "upload_source_maps": partial(_put_source_maps, config),
        "alias": lose_because(
            "replaced packages are not supported", "use `paths` of tsconfig.json"
        ),
    }


class _Stage(NamedTuple):
    """The top level, which a stage inherits: its source, function, config and extension."""

    source: At
    function: Fields
    config: Fields
    extension: At


def _convert_stage(context: Context, at: At, top: _Stage) -> None:
    """Convert an environment, which inherits variables and bindings in fabric, not in Wrangler."""
    config, hostname = top.config, top.extension.get("hostname").text
    stage = config.child("stages").child(at.key, at)
    extension = Fields(at)
    function = Fields(at)
    rules = {**_build_rules(stage, function), **dict.fromkeys(_ONLY_TOP, _lose_in_stage)}
    rules["name"] = lose_because("fabric names Workers by service, stage and function")
    apply_rules(context, at, rules, extension)
    _put_stage_triggers(at, function, top.function)
    if function.has("triggers"):
        stage.child("functions").put(FUNCTION, function)
    _remove_inherited(context, at, top, extension)
    if not extension.is_empty:
        stage.child("extensions").put(_PROVIDER, extension)
    if hostname and not extension.has("hostname"):
        reason = f"the stage inherits `{hostname}`, the hostname of the default environment"
        context.ledger.remark(at, reason, "set `hostname` of each stage")
    for name in _list_inherited(config, at):
        reason = f"the variable `{name}` is inherited in fabric; Wrangler inherits none"
        context.ledger.remark(at, reason)


def _remove_inherited(context: Context, at: At, top: _Stage, extension: Fields) -> None:
    """Remove the bindings of the top level from a stage. Only lists can be empty."""
    for one in top.source.list_entries():
        # A stage has its own triggers, also those of queues.
        is_binding = one.key in BINDING_RULES or not one.get("producers").is_missing
        if not is_binding or not at.get(one.key).is_missing:
            continue
        found = top.extension.get("bindings", one.key)
        lists = [entry.key for entry in found.list_entries() if entry.is_list]
        bindings = extension.child("bindings", at)
        if found.is_list:
            bindings.put(one.key, [], at)
        elif lists:
            for key in lists:
                bindings.child(one.key, at).put(key, [], at)
        else:
            inherited = At(EMPTY, (*at.path, one.key), at.line, at.column)
            reason = f"the stage inherits the bindings `{one.key}`; Wrangler inherits none"
            context.ledger.lose(inherited, reason, "set them in each stage, not at the top level")


def _put_stage_triggers(at: At, function: Fields, top: Fields) -> None:
    """Put the triggers of a stage, which inherits schedules, but no consumers of queues."""
    own, all_of_top = _list_triggers(function), _list_triggers(top)
    crons = [one for one in all_of_top if isinstance(one, dict) and one.get("type") == "cron"]
    found = [*own, *(crons if at.get("triggers").is_missing else ())]
    others = [one for one in all_of_top if not isinstance(one, dict) or one["type"] != "http"]
    if found != others:
        routes: list[Value] = [{"type": "http", "route": route} for route in _ROUTES]
        function.put("triggers", [*found, *routes])


def _list_triggers(function: Fields) -> list[Value]:
    found = function.get("triggers")
    return found if isinstance(found, list) else []


_ONLY_TOP = (
    "main",
    "build",
    "rules",
    "minify",
    "define",
    "tsconfig",
    "upload_source_maps",
    "alias",
    "keep_names",
)
_lose_in_stage = lose_because("fabric has one build for all stages")


def _list_inherited(config: Fields, at: At) -> Iterator[str]:
    own = {one.key for one in at.get("vars").list_entries()}
    for entry in config.child("env").build().entries:
        if entry.key not in own and not _is_secret(At(entry.value).text):
            yield entry.key


def _is_secret(text: str) -> bool:
    return text.startswith("${secret:")
