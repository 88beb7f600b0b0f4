"""serverless-compose.yml: dependencies and parameters of services.

A parameter that names an output of another service becomes a reference to it.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from fabric.config.yaml.nodes import Node
from fabric.importing.credentials import Credentials
from fabric.importing.source import At, Fate, Ledger, find_path
from fabric.model.problems import FabricError, Place, Problem

COMPOSE_NAMES = ("serverless-compose.yml", "serverless-compose.yaml")
_VARIABLE = re.compile(r"\$\{([^{}]+)\}")
_OUTPUT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_.-]+)")
_STAGES = ("sls:stage", "opt:stage")
_ADDRESSES = ("ServiceEndpoint", "HttpApiUrl")
_CONFIG_NAMES = ("serverless.yml", "serverless.yaml", "serverless.json")
_READ = ("path", "config", "params", "dependsOn")
_HINT = "write the value into `params` of the service"


class ComposedService(Struct, frozen=True):
    """One service: its directory, and the names of the services that it requires."""

    at: At
    folder: str
    params: tuple[At, ...]
    needed: tuple[str, ...]


class ComposeNote(Struct, frozen=True):
    """A key of the file that has no equivalent."""

    at: At
    reason: str
    hint: str = ""


class Composition(Struct, frozen=True):
    """The services by name, and the keys without an equivalent."""

    file: str
    services: Mapping[str, ComposedService]
    notes: tuple[ComposeNote, ...] = ()

    def list_needed(self, folder: str) -> tuple[str, ...]:
        """List the directories that the service of a directory requires."""
        found = (one for one in self.services.values() if one.folder == folder)
        return tuple(
            dict.fromkeys(self.services[name].folder for one in found for name in one.needed)
        )


def read_composition(root: Node, file: str) -> Composition:
    """Read the file. Each odd value and each unknown service is a problem with its place."""
    ledger = Ledger()
    top = At(Credentials(ledger).replace(root))
    listed = top.get("services")
    if not listed.is_map:
        raise FabricError(_build_problem(file, listed, "`services` is not a map of services"))
    names = [one.key for one in listed.list_entries()]
    problems = [
        problem for one in listed.list_entries() for problem in _find_problems(file, one, names)
    ]
    if problems:
        raise FabricError(*problems)
    services = {one.key: _read_service(one) for one in listed.list_entries()}
    hidden = (
        ComposeNote(find_path(top, one.path), one.reason, f"set it for {one.advice}")
        for one in ledger.settle(root).select(Fate.CHANGED)
    )
    return Composition(file, services, (*hidden, *_list_unknown(top, listed)))


def _read_service(at: At) -> ComposedService:
    params = at.get("params").list_entries()
    needed = [one.text for one in at.get("dependsOn").list_items()]
    needed += [found[1] for one in params for found in _list_outputs(one.text)]
    folder = posixpath.normpath(at.get("path").text or at.key)
    return ComposedService(at, folder, params, tuple(dict.fromkeys(needed)))


def _list_outputs(text: str) -> Iterator[re.Match[str]]:
    for variable in _VARIABLE.finditer(text):
        found = _OUTPUT.fullmatch(variable[1])
        if found:
            yield found


def _find_problems(file: str, at: At, names: list[str]) -> Iterator[Problem]:
    if not at.is_map:
        yield _build_problem(file, at, f"the service `{at.key}` is not a map")
        return
    params, needed = at.get("params"), at.get("dependsOn")
    if not (params.is_missing or params.is_map):
        yield _build_problem(file, params, f"`params` of the service `{at.key}` is not a map")
        return
    for one in needed.list_items():
        if one.text not in names:
            yield _build_unknown(file, one._replace(path=needed.path), one.text, names)
    for one in params.list_entries():
        for found in _list_outputs(one.text):
            if found[1] not in names:
                yield _build_unknown(file, one, found[1], names)


def _build_unknown(file: str, at: At, name: str, names: Iterable[str]) -> Problem:
    message = f"`{at.key}` names the service `{name}`, which is not in the file"
    return _build_problem(file, at, message, f"services of the file: {', '.join(names)}")


def _build_problem(file: str, at: At, message: str, hint: str = "") -> Problem:
    return Problem("import/unreadable", message, hint, Place(file, at.line, at.column))


def list_lost_services(composition: Composition, imported: Iterable[str]) -> list[ComposeNote]:
    """List the services whose configs were not imported, by the imported directories."""
    known = set(imported)
    return [
        ComposeNote(one.at, f"no config of `{one.at.key}` was imported", "import it by its path")
        for one in composition.services.values()
        if one.folder not in known
    ]


def _list_unknown(top: At, listed: At) -> Iterator[ComposeNote]:
    for one in top.list_entries():
        if one.key != "services":
            yield ComposeNote(one, f"`{one.key}` has no equivalent", "use `stages` of each service")
    for service in listed.list_entries():
        for one in service.list_entries():
            if one.key == "config" and one.text not in _CONFIG_NAMES:
                yield ComposeNote(one, "only serverless.yml is read", "import the file by its path")
            elif one.key not in _READ:
                yield ComposeNote(one, "unknown key of a service")


def convert_params(
    service: ComposedService, names: Mapping[str, str], outputs: Mapping[str, frozenset[str]]
) -> tuple[dict[str, str], list[ComposeNote]]:
    """Convert the parameters of a service.

    `names` are the names of services in fabric, and `outputs` those of their stacks, both by the
    name in the file.
    """
    found: dict[str, str] = {}
    lost: list[ComposeNote] = []
    for at in service.params:
        notes: list[ComposeNote] = []

        def convert(variable: re.Match[str], at: At = at, notes: list[ComposeNote] = notes) -> str:
            if variable[1] in _STAGES:
                return "${stage}"
            if variable[1].startswith("env:"):
                return variable[0]
            text = _convert_output(variable[1], names, outputs)
            if not text:
                reason = f"`{variable[0]}` is not an output that fabric has"
                notes.append(ComposeNote(at, reason, _HINT))
            return text

        text = _VARIABLE.sub(convert, at.text)
        if at.is_map or at.is_list:
            notes.append(ComposeNote(at, "the value of a parameter is one text", _HINT))
        lost += notes
        if not notes:
            found[at.key] = text
    return found, lost


def _convert_output(
    text: str, names: Mapping[str, str], outputs: Mapping[str, frozenset[str]]
) -> str:
    found = _OUTPUT.fullmatch(text)
    if found is None or found[1] not in names:
        return ""
    name, output = names[found[1]], found[2]
    if output in outputs[found[1]]:
        return f"${{service:{name}.stack.{output}}}"
    return f"${{service:{name}.url}}" if output in _ADDRESSES else ""
