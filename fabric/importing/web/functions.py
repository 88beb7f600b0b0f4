"""Functions that a platform finds by their files, and the services of several sources."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from fabric.config.rules.config import stage_problem
from fabric.config.rules.late_settings import find_extension_problems
from fabric.config.schedule import ScheduleError, normalize_schedule
from fabric.config.yaml.nodes import EMPTY, Mapping, Node
from fabric.importing.context import Context
from fabric.importing.credentials import Credentials
from fabric.importing.draft import Fields
from fabric.importing.packaging import NODE_SUFFIXES
from fabric.importing.rules import Rule
from fabric.importing.source import At
from fabric.importing.surroundings import Surroundings
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.providers.core.contract import Unsupported

# Names of functions contain it, with at most 64 characters.
_LONGEST_SERVICE = 40
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_FUNCTIONS = 1_000
_LONGEST_PATTERN = 2_000
_WILDCARD = "proxy"
_STEP = re.compile(r"\[(\[)?(\.\.\.)?([A-Za-z0-9_-]+)\]{1,2}")
_COLON = re.compile(r":([A-Za-z0-9_]+)(\*|\+)?(?:\([^)]*\))?")


def choose_service(name: str) -> str:
    """Choose the name of a service: letters, digits, `_` and `-`, starting with a letter."""
    plain = _NOT_IN_NAME.sub("-", name).strip("-_")[:_LONGEST_SERVICE] or "service"
    return plain if plain[0].isalpha() else f"service-{plain}"


def put_service(context: Context, at: At, config: Fields, provider: str, runtime: str) -> None:
    """Put the head of a config."""
    service = context.names.service
    config.put("service", service, at)
    config.child("provider").put("name", provider)
    config.child("provider").put("runtime", runtime)
    if at.text and at.text != service:
        reason = "names of services have letters, digits, `_` and `-`, and start with a letter"
        context.ledger.change(at, reason, service)
    else:
        context.ledger.carry(at)


def replace_credentials(credentials: Credentials, root: Node, lost: tuple[str, ...]) -> Node:
    """Replace literal credentials, but not in sections that are not carried."""
    if not isinstance(root, Mapping):
        return root
    kept = {one.key: one for one in root.entries if one.key in lost}
    rest = root._replace(entries=tuple(one for one in root.entries if one.key not in lost))
    replaced = credentials.replace(rest)
    entries = replaced.entries if isinstance(replaced, Mapping) else ()
    named = {one.key: one for one in entries}
    return root._replace(entries=tuple({**named, **kept}[one.key] for one in root.entries))


FindProblems: TypeAlias = Callable[[Json], Iterable[Unsupported]]


class RuleTarget(NamedTuple):
    """A list in `extensions` with rules of paths. `find` finds the rules that have no effect."""

    provider_id: str
    key: str
    find: FindProblems


def put_rule(context: Context, at: At, config: Fields, target: RuleTarget) -> str:
    """Put a rule as it is written, or return why fabric does not support it."""
    extension = config.child("extensions").child(target.provider_id)
    # Some rules have an effect only on static files.
    files: JsonObject = {"static": {"directory": "files"}} if extension.has("static") else {}
    section: JsonObject = {target.key: [at.value], **files}
    for problem in find_extension_problems(target.provider_id, section):
        return problem.message
    for unsupported in target.find(section):
        return unsupported.problem.message
    found = context.read(at)
    if found is not None:
        extension.add(target.key, found, at)
        context.ledger.carry(at)
    return ""


def put_static(provider_id: str) -> Rule:
    """Put a directory of files. The whole project is none."""

    def rule(context: Context, at: At, config: Fields) -> None:
        folder = context.surroundings.place(context.read_text(at)).strip("/")
        if folder in ("", "."):
            context.ledger.lose(at, "the whole project is not a directory of files")
            return
        config.child("extensions").child(provider_id).child("static").put("directory", folder, at)
        context.ledger.carry(at)

    return rule


def check_schedule(context: Context, at: At, text: str) -> bool:
    """Return whether fabric has such a schedule. If not, report it."""
    try:
        normalize_schedule(text)
    except ScheduleError as error:
        context.ledger.lose(at, f"the schedule `{text}` is not supported: {error}")
        return False
    return True


def check_stage(context: Context, at: At) -> bool:
    """Return whether a key can name a stage. If not, report it."""
    found = stage_problem(at.key)
    for one in found:
        context.ledger.lose(at, one.message, one.hint)
    return not found


class WebFunction(NamedTuple):
    """A file with a function: its name, and its path in addresses, such as `/api/{id}`."""

    file: str
    name: str
    path: str


def list_files(surroundings: Surroundings, folder: str) -> Iterator[str]:
    """List the files below a directory, in order."""
    left = _MOST_FUNCTIONS
    waiting = [folder]
    while waiting and left:
        current = waiting.pop(0)
        for name in surroundings.list_names(current):
            path = f"{current}/{name}"
            if surroundings.is_folder(path):
                if name not in ("node_modules", ".git"):
                    waiting.append(path)
            elif left:
                left -= 1
                yield path


def place_file(file: str) -> At:
    """Place a note about a file, which no key of the source names, at the start of the source."""
    return At(EMPTY, (file,), 1, 1)


def is_node_file(path: str) -> bool:
    return path.endswith(NODE_SUFFIXES) and not path.endswith((".d.ts", ".test.ts", ".test.js"))


def convert_file_path(path: str) -> str:
    """Convert the path of a file to a route: `api/[id]` to `/api/{id}`."""
    steps = []
    for step in path.strip("/").split("/"):
        found = _STEP.fullmatch(step)
        if found:
            steps.append(f"{{{found[3]}{'+' if found[2] else ''}}}")
        elif step != "index":
            steps.append(step)
    return "/" + "/".join(steps)


def convert_pattern(pattern: str) -> str | None:
    """Convert a pattern of addresses: `/x/:id`, `/x/:path*`, `/x/*` or `/x/(.*)`.

    Returns None for a pattern that is not a route.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return None
    text = pattern.strip().removeprefix("^").removesuffix("$").rstrip("/")
    text = re.sub(r"/(?:\*|\(\.\*\)|\(\.\+\))$", f"/{{{_WILDCARD}+}}", text)
    text = _COLON.sub(lambda found: f"{{{found[1]}{'+' if found[2] else ''}}}", text)
    is_route = re.fullmatch(r"(?:/(?:[\w.~%-]+|\{\w+\+?\}))*", text)
    return (text or "/") if is_route and "+}/" not in text else None


def name_function(path: str) -> str:
    """Name a function by its file."""
    plain = re.sub(r"\[+(?:\.\.\.)?|\]+", "", path)
    return _NOT_IN_NAME.sub("-", plain).strip("-_")[:64].rstrip("-_") or "index"


def add_route(function: Fields, path: str, method: str = "ANY") -> None:
    """Add a route, once."""
    route = f"{method}:{path}"
    triggers = function.get("triggers")
    known = triggers if isinstance(triggers, list) else []
    if {"type": "http", "route": route} not in known:
        function.add("triggers", {"type": "http", "route": route})
