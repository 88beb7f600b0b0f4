"""Locate the records of services."""

from collections import Counter
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.placement import Placement
from fabric.config.rules.env_size import find_fullest_function
from fabric.graph.service_unit import ServiceUnit
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.catalog import find_installed_facts
from fabric.model.records.record import Mode, Record


def build_placement_in(
    unit: ServiceUnit, workspace: Path, kind: BackendKind, home: str = ""
) -> Placement:
    """Build the placement of the record in a backend of another kind than the config's."""
    settings = unit.config.backend.settings_of(kind)
    return replace(build_placement(unit, workspace, home), backend=kind.value, settings=settings)


def build_placement(unit: ServiceUnit, workspace: Path, home: str = "") -> Placement:
    config = unit.config
    folder = workspace / unit.root
    return Placement(
        service=config.service,
        stage=config.stage,
        provider=config.provider.label,
        provider_id=config.provider.id,
        region=config.provider.region,
        mode=Mode(unit.mode).value,
        folder=str(folder),
        home=home or str(folder / ".fabric"),
        backend=config.backend.kind.value,
        settings=config.backend.settings,
        labels=config.targets.choices,
        taken=_list_route_numbers(unit),
        workspace=str(workspace),
        declared=_list_declared_variables(unit),
    )


def _list_declared_variables(unit: ServiceUnit) -> tuple[str, ...]:
    """Variables of bindings, of the backend's address, and of an installed provider."""
    config = unit.config
    facts = find_installed_facts(config.provider.id)
    address = back_end_facts(config.backend.kind).client.address_setting
    given = dict(config.backend.settings).get(address, "")
    read = (*facts.credentials.names, *facts.account_variables) if facts else ()
    return tuple(sorted({*config.document.bindings.names, *((given,) if given else ()), *read}))


def _list_route_numbers(unit: ServiceUnit) -> tuple[int, tuple[tuple[str, int], ...]]:
    if not unit.needs.outputs:
        return 0, ()
    size, names = find_fullest_function(unit.config)
    counts: Counter[str] = Counter()
    for name, release in unit.needs.outputs:
        counts[release] += names[name]
    return size, tuple((release, count) for release, count in counts.items() if count)


def apply_recorded_placement(own: Placement, record: Record) -> Placement:
    """Apply the deploy mode and settings of the record, so that it is found as it was deployed."""
    return replace(
        own,
        provider=record.ref.provider,
        provider_id=record.provider_id,
        region=record.region,
        mode=record.mode.value,
    )
