"""Names for shell completion: the project's names, or nothing if it cannot be read."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.compile_files import compile_files
from fabric.app.project.files import config_in
from fabric.app.project.project import named_services
from fabric.app.project.recorded import open_recorded
from fabric.app.request import Request, Where
from fabric.app.runs import run_ids
from fabric.app.settings import Settings
from fabric.config.resolve.stages import stage_names
from fabric.config.yaml.problems import open_document
from fabric.model.catalog import PROVIDER_IDS
from fabric.model.names import Verb
from fabric.model.problems import FabricError
from fabric.system.disk import read_bytes


class NameKind(StrEnum):
    FUNCTION = "function"
    SERVICE = "service"
    STAGE = "stage"
    PROVIDER = "provider"
    TASK = "task"
    RUN = "run"


def known_names(kind: NameKind, where: Where, settings: Settings) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(_LOOKS[kind](where, settings)))
    except (FabricError, OSError):
        return ()


def _functions(where: Where, settings: Settings) -> Iterable[str]:
    project = open_recorded(where, settings)
    return (one.name for unit in project.units for one in unit.config.functions)


def _services(where: Where, settings: Settings) -> Iterable[str]:
    return (one.name for one in named_services(where.compose, settings))


def _stages(where: Where, settings: Settings) -> Iterable[str]:
    yield "dev"
    for file in _configs(where, settings):
        yield from stage_names(open_document(str(file), read_bytes(file)).root)


def _configs(where: Where, settings: Settings) -> Iterable[Path]:
    if not where.compose:
        return (config_in(settings.cwd / where.config),)
    folder = (settings.cwd / where.compose).parent
    return (config_in(folder / one.config) for one in named_services(where.compose, settings))


def _providers(where: Where, settings: Settings) -> Iterable[str]:
    yield from PROVIDER_IDS
    project = open_recorded(replace(where, provider=""), settings)
    yield from (label for unit in project.units for label in unit.config.labels)


def _tasks(where: Where, settings: Settings) -> Iterable[str]:
    unread = replace(where, reads_secrets=False)
    return compile_files(Request(Verb.DEPLOY, "explain", unread), settings).graph.ids


def _runs(_where: Where, settings: Settings) -> Iterable[str]:
    return ("latest", *run_ids(settings))


_LOOKS: Mapping[NameKind, Callable[[Where, Settings], Iterable[str]]] = {
    NameKind.FUNCTION: _functions,
    NameKind.SERVICE: _services,
    NameKind.STAGE: _stages,
    NameKind.PROVIDER: _providers,
    NameKind.TASK: _tasks,
    NameKind.RUN: _runs,
}
