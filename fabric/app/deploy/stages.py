"""`stages`: the deployed stages of all services, in all backends of their configs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.files import COMPOSE_NAME, find_config_in
from fabric.app.project.opened import Project
from fabric.app.project.place_services import build_placement
from fabric.app.project.recorded import open_recorded
from fabric.app.records.backends import BackEnds
from fabric.app.request import CONFIG_NAME, Request, Where
from fabric.app.settings import Settings
from fabric.config.resolve.stages import is_protected, list_stage_patterns, stage_names
from fabric.config.yaml.nodes import Mapping as YamlMapping
from fabric.config.yaml.problems import open_document
from fabric.graph.service_unit import ServiceUnit
from fabric.model.outcomes.recorded import StageRow, StagesOutcome
from fabric.model.problems import Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.report import Report
from fabric.state.records.listing import list_record_refs, list_records_in, read_lock_holder
from fabric.system.files.disk import read_bytes
from fabric.system.process.process_identity import is_surely_dead

_WILDCARD = re.compile(r"[*?]")


class StageSurvey(Struct, frozen=True, kw_only=True):
    """All records of the services, whatever their stage."""

    project: Project
    records: Mapping[RecordRef, Record]
    # The services and stages that are protected.
    protected: frozenset[tuple[str, str]]
    # The holders of locks, by record.
    locked: Mapping[RecordRef, str]
    problems: tuple[Problem, ...]

    def list_entries(self, services: Iterable[str]) -> tuple[str, ...]:
        """Return the names of services in the compose file."""
        wanted = frozenset(services)
        rows = zip(self.project.units, self.project.entries, strict=True)
        return tuple(entry.name for unit, entry in rows if unit.service in wanted)


def find_all_services(where: Where, settings: Settings) -> Where:
    """Use the compose file of the directory if there is no config."""
    if where.compose or where.config != CONFIG_NAME:
        return where
    is_alone = find_config_in(settings.cwd / CONFIG_NAME).is_file()
    has_compose = (settings.cwd / COMPOSE_NAME).is_file()
    return where if is_alone or not has_compose else replace(where, compose=COMPOSE_NAME)


def report_stages(request: Request, settings: Settings) -> Report:
    found = survey_stages(request.where, settings)
    rows = tuple(_build_row(found, record) for _, record in sorted(found.records.items()))
    warnings = found.project.warnings
    return Report(request.command, StagesOutcome(rows), problems=found.problems, warnings=warnings)


def _build_row(found: StageSurvey, record: Record) -> StageRow:
    ref, preview = record.ref, record.preview
    return StageRow(
        service=ref.service,
        stage=ref.stage,
        provider=ref.provider,
        mode=record.mode,
        base=None,
        expires_at=(preview.expires_at or None) if preview else None,
        preview=preview is not None,
        deployed_at=record.updated_at,
        commit=record.origin.commit,
        branch=record.origin.branch,
        owner=record.origin.who,
        functions=len(record.functions),
        protected=(ref.service, ref.stage) in found.protected,
    )


def survey_stages(where: Where, settings: Settings) -> StageSurvey:
    """Read all records of the services. Without locks and calls of providers."""
    where = find_all_services(where, settings)
    first = open_recorded(where, settings)
    documents = {unit.service: _read_document(first, unit) for unit in first.units}
    others = sorted(_list_configured_stages(documents.values()) - {first.stage})
    stages = [first, *(open_recorded(replace(where, stage=one), settings) for one in others)]
    projects = [*stages, *_open_separate_targets(stages, where, settings)]
    records: dict[RecordRef, Record] = {}
    locked: dict[RecordRef, str] = {}
    problems: list[Problem] = []
    back_ends = BackEnds(settings)
    try:
        for unit, project in ((unit, one) for one in projects for unit in one.units):
            store = back_ends.record_store(build_placement(unit, project.workspace, project.home))
            refs = set(list_record_refs(store, unit.service)) - records.keys()
            found = list_records_in(store, sorted(refs))
            records |= found.records
            problems += found.problems
            holders = {ref: read_lock_holder(store, ref) for ref in found.records}
            locked |= {
                ref: one.process.who
                for ref, one in holders.items()
                if one and not is_surely_dead(one.process)
            }
    finally:
        back_ends.close()
    return StageSurvey(
        project=first,
        records=records,
        protected=frozenset(_list_protected(documents, records)),
        locked=locked,
        problems=tuple(dict.fromkeys(problems)),
    )


def _open_separate_targets(
    stages: Iterable[Project], where: Where, settings: Settings
) -> Iterator[Project]:
    """Open the targets with separate backends."""
    for project in stages:
        for number, unit in enumerate(project.units):
            services = (project.entries[number].name,) if where.compose else ()
            for one in unit.config.targets.overrides:
                if one.has_backend and one.label != unit.config.provider.label:
                    target = replace(
                        where, stage=project.stage, provider=one.label, services=services
                    )
                    yield open_recorded(target, settings)


def _read_document(project: Project, unit: ServiceUnit) -> YamlMapping | None:
    file = project.workspace / unit.root / Path(unit.config.document.file).name
    root = open_document(str(file), read_bytes(file)).root
    return root if isinstance(root, YamlMapping) else None


def _list_configured_stages(documents: Iterable[YamlMapping | None]) -> set[str]:
    """List the stages of the configs. A pattern counts as one stage that it matches, because only
    the backend of its overlay matters."""
    found: set[str] = set()
    for root in documents:
        if root is not None:
            found.update(stage_names(root))
            examples = ((one, _WILDCARD.sub("0", one)) for one in list_stage_patterns(root))
            found.update(name for one, name in examples if one != "*" and fnmatchcase(name, one))
    return found


def _list_protected(
    documents: Mapping[str, YamlMapping | None], refs: Iterable[RecordRef]
) -> Iterator[tuple[str, str]]:
    for service, stage in {(ref.service, ref.stage) for ref in refs}:
        root = documents[service]
        if root is not None and is_protected(root, stage):
            yield service, stage
