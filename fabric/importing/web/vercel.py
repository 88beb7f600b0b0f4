"""A config of Vercel (vercel.json) with the files below `api` to a config of fabric."""

import json
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
from fabric.importing.rules import (
    Rule,
    Rules,
    apply_rules,
    drop_because,
    lose_because,
    share,
)
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.functions import (
    RuleTarget,
    add_route,
    check_schedule,
    choose_service,
    convert_file_path,
    convert_pattern,
    is_node_file,
    list_files,
    name_function,
    place_file,
    put_rule,
    put_service,
    put_static,
    replace_credentials,
)
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Place, Problem
from fabric.providers.core.contract import Unsupported
from fabric.providers.host1.path_rules import PathRules, find_rule_problems

_PROVIDER, _RUNTIME = "host1", "nodejs22.x"
_EDGE = re.compile(r"""runtime\s*[:=]\s*["'](?:experimental-)?edge["']""")
# Files below `api` that are no functions.
_NO_CODE = re.compile(
    r"\.(?:json|md|txt|ya?ml|toml|lock|map|html|css|sql|csv|png|svg|ico)$|\.d\.[cm]?ts$|\.test\.[jt]s$"
)
_URL = re.compile(r"https?://")
_PARAMETER = re.compile(r"\{([\w-]+)\+?\}")
_LOST = ("build", "builds")
_ENGINES = ("20", "22", "24")


class _Function(NamedTuple):
    """A function in progress: its file, its path in addresses, and its keys."""

    file: str
    path: str
    fields: Fields


class _Api:
    """The functions of a project, by file and by path."""

    def __init__(self, context: Context, config: Fields) -> None:
        self.functions: list[_Function] = []
        for file in list_files(context.surroundings, "api"):
            if any(step.startswith(("_", ".")) for step in file.split("/")):
                continue
            where = place_file(file)
            if is_node_file(file):
                self._add(context, where, file, config)
            elif "." in file and not _NO_CODE.search(file):
                reason = f"`{file}` is not carried: fabric deploys Node.js functions to Vercel"
                context.ledger.lose(where, reason)

    def _add(self, context: Context, at: At, file: str, config: Fields) -> None:
        if _EDGE.search(context.surroundings.read_text(file) or ""):
            context.ledger.lose(at, f"`{file}` is an edge function, which is not supported")
            return
        stem = file.rpartition(".")[0]
        fields = Fields(at)
        fields.put("name", name_function(stem.removeprefix("api/")))
        fields.put("entry", context.surroundings.place(file))
        path = convert_file_path(stem)
        add_route(fields, path)
        self.functions.append(_Function(file, path, fields))
        config.add("functions", fields)

    def find(self, path: str) -> Fields | None:
        """Find the function of a path, such as `/api/hello`."""
        found = self.find_target(path)
        return found.fields if found and not _PARAMETER.search(found.path) else None

    def find_target(self, target: str) -> _Function | None:
        """Find the function of a destination, such as `/api/users/:id` or `/api/users/[id]`."""
        path = re.sub(r"\.(?:js|ts|mjs)$", "", target.partition("?")[0].rstrip("/"))
        path = convert_file_path(convert_pattern(path) or path)
        shape = _hide_names(path)
        return next((one for one in self.functions if _hide_names(one.path) == shape), None)


def _hide_names(path: str) -> str:
    """Hide the names of parameters, so that paths with other names are equal."""
    return re.sub(r"\{[\w-]+", "{", path)


def convert_vercel(root: Node, surroundings: Surroundings, file: str) -> Imported:
    """Convert a config. Each key of the source ends in the ledger."""
    ledger = Ledger()
    credentials = Credentials(ledger)
    source = At(replace_credentials(credentials, root, _LOST))
    if not source.is_map:
        message = "the file is not a map, such as `{}`"
        raise FabricError(Problem("import/unreadable", message, where=Place(file)))
    service = choose_service(source.get("name").text or surroundings.folder_name)
    context = Context(
        LogicalNames(service=service, functions={}), credentials, ledger, surroundings
    )
    config = Fields()
    put_service(context, source.get("name"), config, _PROVIDER, _read_runtime(surroundings))
    api = _Api(context, config)
    rules: Rules = {
        **_RULES,
        "functions": lambda context, at, _: _put_settings(context, at, api),
        "crons": lambda context, at, _: _put_crons(context, at, api),
        **share(("rewrites", "routes"), _convert_rewrites(api)),
    }
    _put_public_folder(context, source, config)
    # Other rules depend on the directory of the files.
    for keys in (("outputDirectory",), tuple(rules.keys() - {"outputDirectory"})):
        apply_rules(context, source, {key: rules[key] for key in keys}, config)
    return Imported(config=config.build_config(()), ledger=ledger)


def _put_public_folder(context: Context, source: At, config: Fields) -> None:
    """Put the directory that Vercel serves without a setting."""
    keys = ("outputDirectory", "framework", "builds")
    is_set = any(not source.get(key).is_missing for key in keys)
    if not is_set and context.surroundings.is_folder("public"):
        config.child("extensions").child(_PROVIDER).child("static").put("directory", "public")
        reason = "Vercel serves the directory `public`"
        context.ledger.remark(source, reason, f"extensions.{_PROVIDER}.static")


def _read_runtime(surroundings: Surroundings) -> str:
    """Read the version of Node.js from package.json."""
    try:
        version = str(json.loads(surroundings.read_text("package.json") or "{}")["engines"]["node"])
    except (ValueError, LookupError, TypeError):
        return _RUNTIME
    found = re.search(r"\d+", version)
    return f"nodejs{found[0]}.x" if found and found[0] in _ENGINES else _RUNTIME


def _put_settings(context: Context, at: At, api: _Api) -> None:
    """Put the settings of functions. The first pattern that matches a file counts."""
    left = list(api.functions)
    for entry in at.list_entries():
        matching = [one for one in left if _matches(one.file, entry.key)]
        left = [one for one in left if one not in matching]
        if not matching:
            reason = f"no function below `api` matches `{entry.key}`"
            if any(_matches(one.file, entry.key) for one in api.functions):
                reason = f"an earlier pattern matches the files of `{entry.key}`, and counts"
            context.ledger.lose(entry, reason)
        for one in matching:
            apply_rules(context, entry, _FUNCTION_RULES, one.fields)


def _matches(file: str, pattern: str) -> bool:
    """Return whether a glob matches: `**` with any number of directories."""
    pattern = pattern.removeprefix("/")
    if file == pattern:
        return True
    pattern = re.sub(r"\[", "[[]", pattern)
    return fnmatchcase(file, pattern) or fnmatchcase(file, pattern.replace("**/", ""))


def _put_memory(context: Context, at: At, fields: Fields) -> None:
    context.copy_number(at, fields, "memory")


def _put_duration(context: Context, at: At, fields: Fields) -> None:
    if at.text == "max":
        context.ledger.lose(at, "`max` is not a number of seconds", "set `timeout`")
    else:
        context.copy_number(at, fields, "timeout")


def _put_include(context: Context, at: At, fields: Fields) -> None:
    text = re.sub(r"^\{(.*)\}$", r"\1", context.read_text(at))
    patterns = [context.surroundings.place(one.strip()) for one in text.split(",") if one.strip()]
    context.put(at, fields, "include", patterns)


_FUNCTION_RULES: Rules = {
    "memory": _put_memory,
    "maxDuration": _put_duration,
    "includeFiles": _put_include,
    "excludeFiles": drop_because("fabric packs only the files that a function uses"),
    "runtime": lose_because("other runtimes of Vercel are not supported"),
    "regions": lose_because("fabric has one region for a service"),
    "supportsCancellation": lose_because("cancelled requests are not supported"),
    "experimentalTriggers": lose_because("triggers of queues are not supported"),
}


def _put_crons(context: Context, at: At, api: _Api) -> None:
    for one in at.list_items():
        path, schedule = one.get("path"), one.get("schedule")
        function = api.find(path.text)
        if function is None:
            context.ledger.lose(one, f"no function below `api` has the path `{path.text}`")
            continue
        if not check_schedule(context, schedule, context.read_text(schedule)):
            continue
        function.add("triggers", {"type": "cron", "schedule": context.read_text(schedule)}, one)
        context.ledger.carry(schedule)
        reason = "the function is called with an event of a schedule instead of a GET request"
        context.ledger.change(path, reason, f"cron of {function.get('name')}")


def _is_other_target(target: At, config: Fields) -> bool:
    """Return whether the target of a rewrite is another server or a static file."""
    has_files = config.child("extensions").child(_PROVIDER).has("static")
    return has_files or _URL.match(target.text) is not None


def _convert_rewrites(api: _Api) -> Rule:
    """Convert rewrites, and routes of the older form, to functions. Rewrites to other servers and
    to files stay rewrites."""

    def rule(context: Context, at: At, config: Fields) -> None:
        for one in at.list_items():
            source = one.get("source") if one.get("src").is_missing else one.get("src")
            target = one.get("destination") if one.get("dest").is_missing else one.get("dest")
            known = ("source", "src", "destination", "dest", "methods")
            others = [entry.key for entry in one.list_entries() if entry.key not in known]
            function = api.find_target(target.text)
            if function is None and _is_other_target(target, config) and one.get("src").is_missing:
                _put_rule(context, one, config, "rewrites")
                continue
            path = _name_parameters(convert_pattern(source.text), target.text, function)
            if others or path is None or function is None:
                reason = _explain_rewrite(source.text, target.text, function)
                if others:
                    reason = f"`{others[0]}` of a rewrite has no equivalent"
                context.ledger.lose(one, reason, "add an http trigger to a function")
                continue
            methods = context.read_texts(one.get("methods")) or ["ANY"]
            for method in methods:
                add_route(function.fields, path, method.upper())
            context.ledger.carry(one)
            reason = "the function receives the path of the request"
            if "?" in target.text:
                reason += f", and not the query `{target.text.partition('?')[2]}`"
            context.ledger.change(target, reason, f"{methods[0].upper()}:{path}")

    return rule


def _name_parameters(path: str | None, target: str, function: _Function | None) -> str | None:
    """Name the parameters of a route as the function does.

    Returns None if the route lacks a parameter of the function.
    """
    if path is None or function is None:
        return None
    names = _PARAMETER.findall(function.path)
    given = re.findall(r":(\w+)", target.partition("?")[0])
    if given:
        new = dict(zip(given, names, strict=False))
        path = _PARAMETER.sub(
            lambda found: found[0].replace(found[1], new.get(found[1], found[1])), path
        )
    return path if set(names) <= set(_PARAMETER.findall(path)) else None


def _explain_rewrite(source: str, target: str, function: _Function | None) -> str:
    if function is None:
        return f"`{target}` is not the path of a function below `api`"
    if convert_pattern(source) is None:
        return f"`{source}` cannot be written as a route"
    return f"`{source}` has other parameters than `{function.file}`"


def _put_regions(context: Context, at: At, config: Fields) -> None:
    first, *others = at.list_items() or (at,)
    context.copy(first, config.child("provider"), "region")
    for one in others:
        context.ledger.lose(one, "fabric has one region for a service")


def _put_environment(context: Context, at: At, config: Fields) -> None:
    for one in at.list_entries():
        if one.text.startswith("@"):
            text = f"${{secret:{one.key}}}"
            config.child("env", at).put(one.key, text, one)
            context.ledger.change(one, "the value is read from the variable of this name", text)
        else:
            context.copy_variable(one, config.child("env", at))


def _put_command(context: Context, at: At, config: Fields) -> None:
    put_build_step(context, at, context.read_text(at), config)


def _put_each(key: str) -> Rule:
    def rule(context: Context, at: At, config: Fields) -> None:
        for one in at.list_items():
            _put_rule(context, one, config, key)

    return rule


def _put_rule(context: Context, at: At, config: Fields, key: str) -> None:
    reason = put_rule(context, at, config, RuleTarget(_PROVIDER, key, _find_problems))
    if reason:
        context.ledger.lose(at, reason)


def _find_problems(section: Json) -> Iterator[Unsupported]:
    return find_rule_problems(convert(section, PathRules))


_PAGES = lose_because("fabric deploys functions, and no pages")
_OF_VERCEL = drop_because("used only by Vercel")
_RULES: Rules = {
    "regions": _put_regions,
    "env": _put_environment,
    "build": lose_because("variables of builds are not in fabric.yml", "set them in the shell"),
    "buildCommand": _put_command,
    "outputDirectory": put_static(_PROVIDER),
    "headers": _put_each("headers"),
    "redirects": _put_each("redirects"),
    "builds": lose_because("builders of version 2 are not supported", "put functions below `api`"),
    **share(
        ("cleanUrls", "trailingSlash", "images", "framework", "middleware"),
        _PAGES,
    ),
    **share(
        ("functionFailoverRegions", "fluid", "bulkRedirectsPath"), lose_because("no equivalent")
    ),
    **share(
        (
            *("$schema", "version", "alias", "scope", "public", "github", "git", "ignoreCommand"),
            *("devCommand", "installCommand", "relatedProjects", "passiveRegions"),
        ),
        _OF_VERCEL,
    ),
}
