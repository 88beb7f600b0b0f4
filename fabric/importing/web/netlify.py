"""A config of Netlify (netlify.toml) with its functions to a config of fabric."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import convert

from fabric.config.yaml.nodes import Node
from fabric.importing.context import Context
from fabric.importing.credentials import Credentials
from fabric.importing.draft import Fields, Imported
from fabric.importing.intrinsics import LogicalNames
from fabric.importing.packaging import put_build_step
from fabric.importing.rules import Rules, apply_rules, carry, drop_because, lose_because, share
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.code_config import find_config
from fabric.importing.web.functions import (
    RuleTarget,
    add_route,
    check_schedule,
    check_stage,
    choose_service,
    convert_pattern,
    is_node_file,
    name_function,
    place_file,
    put_rule,
    put_service,
    put_static,
)
from fabric.model.outcomes.json_struct import Json
from fabric.providers.core.contract import Unsupported
from fabric.providers.host2.redirects import SiteRules, find_redirect_problems

_PROVIDER, _RUNTIME = "host2", "nodejs22.x"
_DEFAULT_FOLDER = "netlify/functions"
_ADDRESS = re.compile(r"/\.netlify/functions/([A-Za-z0-9_-]+|:splat)(/:splat)?")
_SCHEDULE = re.compile(r"""\bschedule\s*:\s*["']([^"']+)["']|\bschedule\(\s*["']([^"']+)["']""")
_TEXT = re.compile(r"""["']([^"']*)["']""")
_SCHEDULES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_STAGES = {"production": "prod"}


class _Function(NamedTuple):
    """A function in progress: its name at Netlify, and its keys."""

    name: str
    fields: Fields


def convert_netlify(root: Node, surroundings: Surroundings, file: str) -> Imported:
    """Convert a config. Each key of the source ends in the ledger."""
    del file
    ledger = Ledger()
    credentials = Credentials(ledger)
    source = At(credentials.replace(root))
    service = choose_service(surroundings.folder_name)
    context = Context(
        LogicalNames(service=service, functions={}), credentials, ledger, surroundings
    )
    config = Fields()
    put_service(context, source.get("name"), config, _PROVIDER, _RUNTIME)
    functions = _list_functions(context, source, config)
    rules: Rules = {
        **_RULES,
        "functions": lambda context, at, _: _put_settings(context, at, functions, config),
        "redirects": lambda context, at, _: _put_redirects(context, at, functions, config),
    }
    # Other rules depend on the directory of the files.
    for keys in (("build",), tuple(rules.keys() - {"build"})):
        apply_rules(context, source, {key: rules[key] for key in keys}, config)
    _put_own_routes(context, functions)
    return Imported(config=config.build_config(()), ledger=ledger)


def _list_functions(context: Context, source: At, config: Fields) -> list[_Function]:
    settings, build = source.get("functions"), source.get("build")
    folder = settings.get("directory").text or build.get("functions").text or _DEFAULT_FOLDER
    folder = folder.removeprefix("./").strip("/")
    around = context.surroundings
    found: list[_Function] = []
    for name in around.list_names(folder):
        file = _find_file(around, folder, name)
        if not file:
            if name.endswith((".go", ".rs", ".py")):
                reason = f"`{folder}/{name}` is not a function of Node.js"
                context.ledger.lose(place_file(f"{folder}/{name}"), reason)
            continue
        stem = name.rpartition(".")[0] if not around.is_folder(f"{folder}/{name}") else name
        fields = Fields(source)
        fields.put("name", name_function(stem))
        fields.put("entry", around.place(file))
        where = place_file(file)
        if stem.endswith("-background"):
            reason = (
                f"`{stem}` is a background function; fabric has no answer 202 and no 15 minutes"
            )
            context.ledger.lose(where, reason, "use a queue trigger")
        _put_code_settings(context, where, around.read_text(file) or "", fields)
        found.append(_Function(stem, fields))
        config.add("functions", fields)
    return found


def _find_file(around: Surroundings, folder: str, name: str) -> str:
    """Find the file of a function: `x.js`, or `x/index.js` and `x/x.js` of a directory."""
    path = f"{folder}/{name}"
    if not around.is_folder(path):
        return path if is_node_file(path) else ""
    listed = around.list_names(path)
    stems = ("index", name)
    return next(
        (
            f"{path}/{one}"
            for one in listed
            if is_node_file(one) and one.rpartition(".")[0] in stems
        ),
        "",
    )


def _put_code_settings(context: Context, at: At, text: str, fields: Fields) -> None:
    """Put the paths, methods and schedule that the code of a function declares."""
    config = find_config(text)
    if config is None:
        context.ledger.lose(at, f"`config` of `{at.key}` is not an object that fabric can read")
        config = {}
    _put_code_routes(context, at, config, fields)
    schedule = _SCHEDULE.search(text)
    found = (schedule[1] or schedule[2]) if schedule else ""
    if found and check_schedule(context, at, _SCHEDULES.get(found, found)):
        _add_schedule(fields, found)


def _put_code_routes(context: Context, at: At, config: dict[str, str], fields: Fields) -> None:
    """Put the routes of `config` in code. Other keys are reported."""
    methods = [one.upper() for one in _TEXT.findall(config.get("method", ""))] or ["ANY"]
    for one in _TEXT.findall(config.get("path", "")):
        path = convert_pattern(one)
        if path is None:
            context.ledger.lose(at, f"the path `{one}` of `{at.key}` cannot be written as a route")
            continue
        for method in methods:
            add_route(fields, path, method)
    for key in ("path", "method"):
        if key in config and not _TEXT.search(config[key]):
            context.ledger.lose(at, f"`{key}` in the `config` of `{at.key}` is not a text")
    for key in sorted(config.keys() - {"path", "method", "schedule"}):
        context.ledger.lose(at, f"`{key}` in the `config` of `{at.key}` is not supported")


def _add_schedule(fields: Fields, text: str) -> None:
    fields.add("triggers", {"type": "cron", "schedule": _SCHEDULES.get(text, text)})


def _put_settings(context: Context, at: At, functions: list[_Function], config: Fields) -> None:
    """Put the settings of all functions, and of functions selected by name or pattern."""
    for one in (one for one in at.list_entries() if not one.is_map):
        rule = _FUNCTION_RULES.get(one.key)
        if rule is not None:
            rule(context, one, config.child("defaults", at))
    for entry in (one for one in at.list_entries() if one.is_map):
        matching = [one for one in functions if fnmatchcase(one.name, entry.key)]
        if not matching:
            context.ledger.lose(entry, f"no function matches `{entry.key}`")
        for function in matching:
            apply_rules(context, entry, _FUNCTION_RULES, function.fields)


def _put_schedule(context: Context, at: At, fields: Fields) -> None:
    text = context.read_text(at)
    if not check_schedule(context, at, _SCHEDULES.get(text, text)):
        return
    triggers = fields.get("triggers")
    known = triggers if isinstance(triggers, list) else []
    if any(isinstance(one, dict) and one["type"] == "cron" for one in known):
        context.ledger.drop(at, "the schedule in the code takes precedence")
        return
    _add_schedule(fields, text)
    if text in _SCHEDULES:
        context.ledger.change(at, "the word is written as cron fields", _SCHEDULES[text])
    else:
        context.ledger.carry(at)


def _put_include(context: Context, at: At, fields: Fields) -> None:
    kept = [one for one in context.read_texts(at) if not one.startswith("!")]
    context.put(at, fields, "include", [context.surroundings.place(one) for one in kept])
    for one in at.list_items():
        if one.text.startswith("!"):
            reason = f"the exclusion `{one.text}` has no effect: files cannot be left out"
            context.ledger.lose(one, reason, "include narrower patterns")


def _put_external(context: Context, at: At, fields: Fields) -> None:
    context.put(at, fields.child("build", at), "external", context.read_texts(at))


_FUNCTION_RULES: Rules = {
    "directory": carry,
    "node_bundler": drop_because("fabric bundles with esbuild"),
    "external_node_modules": _put_external,
    "included_files": _put_include,
    "schedule": _put_schedule,
    "ignored_node_modules": lose_because("packages cannot be left out of a bundle"),
    "deno_import_map": drop_because("used only by edge functions"),
}


def _put_redirects(context: Context, at: At, functions: list[_Function], config: Fields) -> None:
    """Put redirects to functions with status 200 as routes, and others as redirects."""
    for one in at.list_items():
        path = convert_pattern(one.get("from").text)
        target = _ADDRESS.fullmatch(one.get("to").text)
        others = [
            entry.key
            for entry in one.list_entries()
            if entry.key not in ("from", "to", "status", "force")
        ]
        if target is None:
            reason = _put_rule(context, one, config, "redirects")
            if reason:
                where = f"the redirect of `{one.get('from').text}` is not supported"
                context.ledger.lose(one, f"{where}: {reason}")
            continue
        selected = _select(functions, target)
        if others or path is None or one.get("status").text != "200" or not selected:
            reason = f"the redirect of `{one.get('from').text}` is not a route of a function"
            context.ledger.lose(one, reason)
            continue
        is_splat = target[1] == ":splat"
        for function in selected:
            own = path.removesuffix("/{proxy+}") + f"/{function.name}" if is_splat else path
            add_route(function.fields, own)
        context.ledger.carry(one)


def _find_problems(section: Json) -> Iterator[Unsupported]:
    return find_redirect_problems(convert(section, SiteRules))


def _put_rule(context: Context, at: At, config: Fields, key: str) -> str:
    return put_rule(context, at, config, RuleTarget(_PROVIDER, key, _find_problems))


def _select(functions: list[_Function], target: re.Match[str]) -> list[_Function]:
    """Select the functions of an address, such as `/.netlify/functions/:splat`."""
    return [one for one in functions if target[1] in (":splat", one.name)]


def _put_own_routes(context: Context, functions: list[_Function]) -> None:
    """Give functions without a trigger a route. Paths below `/.netlify` belong to Netlify."""
    for one in functions:
        if not one.fields.has("triggers"):
            add_route(one.fields, f"/{one.name}")
            reason = f"`/.netlify/functions/{one.name}` is a path of Netlify; the route is another"
            context.ledger.remark(place_file(one.name), reason, f"ANY:/{one.name}")


def _put_build(context: Context, at: At, config: Fields) -> None:
    apply_rules(context, at, _BUILD_RULES, config)
    if not at.list_entries():
        context.ledger.carry(at)


def _put_command(context: Context, at: At, config: Fields) -> None:
    put_build_step(context, at, context.read_text(at), config)


def _put_environment(context: Context, at: At, config: Fields) -> None:
    context.copy_environment(at, config, "env")
    reason = "variables of builds are variables of all functions"
    context.ledger.remark(at, reason)


_BUILD_RULES: Rules = {
    "command": _put_command,
    "environment": _put_environment,
    "functions": carry,
    "edge_functions": lose_because("edge functions are not supported"),
    "publish": put_static(_PROVIDER),
    **share(("base", "ignore", "processing"), drop_because("used only by pages")),
}


def _put_contexts(context: Context, at: At, config: Fields) -> None:
    """Put the variables of deploy contexts. Each context is a stage."""
    for one in at.list_entries():
        if not check_stage(context, one):
            continue
        stage = config.child("stages").child(_STAGES.get(one.key, one.key), one)
        if one.key in _STAGES:
            context.ledger.remark(one, "the context is a stage", _STAGES[one.key])
        for entry in one.list_entries():
            if entry.key == "environment":
                context.copy_environment(entry, stage, "env")
            else:
                reason = "fabric has one build for all stages"
                context.ledger.lose(entry, reason)


def _lose_edge_functions(context: Context, at: At, _: Fields) -> None:
    for one in at.list_items():
        context.ledger.lose(one, f"the edge function `{one.get('function').text}` is not supported")


def _put_headers(context: Context, at: At, config: Fields) -> None:
    for one in at.list_items():
        reason = _put_rule(context, one, config, "headers")
        if reason:
            name = one.get("for").text
            context.ledger.lose(one, f"headers of `{name}` are not supported: {reason}")


def _lose_plugins(context: Context, at: At, _: Fields) -> None:
    for one in at.list_items():
        context.ledger.lose(one, f"the plugin `{one.get('package').text}` is not run")


_RULES: Rules = {
    "build": _put_build,
    "context": _put_contexts,
    "headers": _put_headers,
    "plugins": _lose_plugins,
    "edge_functions": _lose_edge_functions,
    **share(("dev", "template", "graph", "images"), drop_because("used only by Netlify")),
}
