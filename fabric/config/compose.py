"""Parse a `fabric.compose.yml` into a `Compose`. The caller reads the named files."""

from collections.abc import Iterable, Iterator

from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.check import check
from fabric.config.schema.compose import COMPOSE, SERVICE
from fabric.config.sections import Section
from fabric.config.values import Compose, ComposeService
from fabric.config.yaml import read
from fabric.config.yaml.nodes import Mapping, Node, Scalar, Sequence, find, find_child, place_of
from fabric.config.yaml.problems import make_yaml_error, open_document
from fabric.config.yaml.syntax import format_excerpt
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.text.spelling import suggest_spelling
from fabric.model.walks import find_cycle

_SERVICE = Section(ComposeService, SERVICE, given=("name",))
_NONE = Problem(
    "compose/no-services", "no services found in the compose file", "list them under `services`"
)


def load_compose(file: str, text: bytes) -> Compose:
    """Parse the file itself. `compose_services` checks the names after `include`."""
    document = open_document(file, text)
    root = document.root
    problems = list(_find_shape_problems(root))
    if not problems:
        problems = list(_name_problems(root))
    if problems:
        raise make_yaml_error(file, document.text, problems)
    services = tuple(
        _SERVICE.read(node, name=name)
        for name, node in list_named_entries(find_child(root, "services"))
    )
    return Compose(file, services, read.read_texts(root, "include"))


def complete_compose(compose: Compose, included: Iterable[ComposeService] = ()) -> Compose:
    """Add the services from `include` and check that every name is known."""
    services = (*compose.services, *included)
    found = [*_find_duplicates(services), *_find_unknown_services(services)]
    problems = found or list(_find_cycles(services))
    if not services:
        problems = [_NONE]
    if problems:
        raise FabricError(*(_set_file(problem, compose.file) for problem in problems))
    return Compose(compose.file, services, compose.include)


def _find_shape_problems(root: Node) -> Iterator[Problem]:
    if isinstance(root, Scalar) and root.value is None:
        yield _NONE
        return
    findings = [finding.problem for finding in check(COMPOSE, root)]
    yield from findings
    has_any = any(_has_entries(find_child(root, key)) for key in ("services", "include"))
    if not findings and not has_any:
        yield _NONE


def _has_entries(node: Node | None) -> bool:
    match node:
        case Sequence(items=items):
            return bool(items)
        case Mapping(entries=entries):
            return bool(entries)
        case _:
            return node is not None


def _name_problems(root: Node) -> Iterator[Problem]:
    """Duplicates, and without `include` also unknown names and circles, where they stand."""
    yield from _find_bad_includes(root)
    nodes = list_named_entries(find_child(root, "services"))
    places = {name: place_of(find_child(node, "name") or node) for name, node in nodes}
    services = tuple(_SERVICE.read(node, name=name) for name, node in nodes)
    yield from (
        _set_place(problem, places, name) for name, problem in _find_duplicate_names(services)
    )
    if find(root, "include") is None:
        yield from (
            _set_place(problem, places, name) for name, problem in _find_unknown_names(services)
        )
        yield from (_set_place(problem, places, "") for problem in _find_cycles(services))


def _find_bad_includes(root: Node) -> Iterator[Problem]:
    include = find_child(root, "include")
    for item in include.items if isinstance(include, Sequence) else ():
        reason = _explain_bad_pattern(item.text) if isinstance(item, Scalar) else ""
        if reason:
            hint = "use a pattern relative to the compose file, such as `services/*/fabric.yml`"
            yield Problem("compose/bad-include", reason, hint, place_of(item))


def _explain_bad_pattern(text: str) -> str:
    """Explain why a text is not a valid file pattern; empty if it is."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/"):
        return f"absolute path in `include`: `{format_excerpt(text)}`"
    if not parts:
        return f"pattern in `include` does not name a file: `{format_excerpt(text)}`"
    if any("**" in part and part != "**" for part in parts):
        return (
            f"invalid pattern in `include`: `{format_excerpt(text)}` (`**` must be a "
            "whole path segment)"
        )
    return ""


def _find_duplicates(services: tuple[ComposeService, ...]) -> Iterator[Problem]:
    return (problem for _, problem in _find_duplicate_names(services))


def _find_unknown_services(services: tuple[ComposeService, ...]) -> Iterator[Problem]:
    return (problem for _, problem in _find_unknown_names(services))


def _find_duplicate_names(services: tuple[ComposeService, ...]) -> Iterator[tuple[str, Problem]]:
    seen: dict[str, str] = {}
    for service in services:
        if service.name in seen:
            message = f"duplicate service name `{format_excerpt(service.name)}`"
            configs = f"rename the service of {seen[service.name]} or {service.config}"
            yield service.name, Problem("compose/duplicate-service", message, configs)
        seen.setdefault(service.name, service.config)


def _find_unknown_names(services: tuple[ComposeService, ...]) -> Iterator[tuple[str, Problem]]:
    known = {service.name for service in services}
    for service in services:
        for need in service.depends_on:
            if need not in known:
                message = (
                    f"service `{service.name}` depends on the unknown service "
                    f"`{format_excerpt(need)}`"
                )
                hint = suggest_spelling(need, known)
                yield service.name, Problem("compose/unknown-dependency", message, hint)


def _find_cycles(services: tuple[ComposeService, ...]) -> Iterator[Problem]:
    cycle = find_cycle({service.name: service.depends_on for service in services})
    if cycle:
        message = f"dependency cycle between services: {' -> '.join(cycle)}"
        yield Problem("compose/cycle", message, "remove one of these dependencies")


def _set_place(problem: Problem, places: dict[str, Place], name: str) -> Problem:
    return Problem(problem.code, problem.message, problem.hint, places.get(name))


def _set_file(problem: Problem, file: str) -> Problem:
    return Problem(problem.code, problem.message, problem.hint, Place(file))
