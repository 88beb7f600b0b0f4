"""Names for shell completion: the project's names, or nothing if it cannot be read."""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.compile_files import compile_files
from fabric.app.project.files import find_config_in
from fabric.app.project.project import list_compose_services
from fabric.app.project.recorded import open_recorded
from fabric.app.request import Request, Where
from fabric.app.running.runs import run_ids
from fabric.app.settings import Settings
from fabric.config.resolve.stages import stage_names
from fabric.config.yaml.problems import open_document
from fabric.model.catalog import PROVIDER_IDS
from fabric.model.names import Verb
from fabric.model.problems import FabricError
from fabric.system.files.disk import read_bytes


class NameKind(StrEnum):
    FUNCTION = "function"
    SERVICE = "service"
    STAGE = "stage"
    PROVIDER = "provider"
    TASK = "task"
    RUN = "run"


def list_completions(kind: NameKind, where: Where, settings: Settings) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(_LOOKS[kind](where, settings)))
    except (FabricError, OSError):
        return ()


def _list_functions(where: Where, settings: Settings) -> Iterable[str]:
    project = open_recorded(where, settings)
    return (one.name for unit in project.units for one in unit.config.functions)


def _list_services(where: Where, settings: Settings) -> Iterable[str]:
    return (one.name for one in list_compose_services(where.compose, settings))


def _list_stages(where: Where, settings: Settings) -> Iterable[str]:
    yield "dev"
    for file in _list_config_files(where, settings):
        yield from stage_names(open_document(str(file), read_bytes(file)).root)


def _list_config_files(where: Where, settings: Settings) -> Iterable[Path]:
    if not where.compose:
        return (find_config_in(settings.cwd / where.config),)
    folder = (settings.cwd / where.compose).parent
    return (
        find_config_in(folder / one.config)
        for one in list_compose_services(where.compose, settings)
    )


def _list_providers(where: Where, settings: Settings) -> Iterable[str]:
    yield from PROVIDER_IDS
    project = open_recorded(replace(where, provider=""), settings)
    yield from (label for unit in project.units for label in unit.config.targets.choices)


def _list_tasks(where: Where, settings: Settings) -> Iterable[str]:
    unread = where.without_secrets()
    return compile_files(Request(Verb.DEPLOY, "explain", unread), settings).graph.ids


def _list_runs(_where: Where, settings: Settings) -> Iterable[str]:
    return ("latest", *run_ids(settings))


_LOOKS: Mapping[NameKind, Callable[[Where, Settings], Iterable[str]]] = {
    NameKind.FUNCTION: _list_functions,
    NameKind.SERVICE: _list_services,
    NameKind.STAGE: _list_stages,
    NameKind.PROVIDER: _list_providers,
    NameKind.TASK: _list_tasks,
    NameKind.RUN: _list_runs,
}
