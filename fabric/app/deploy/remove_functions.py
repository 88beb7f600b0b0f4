"""Removing single functions of services that stay."""

from collections.abc import Mapping

from msgspec.structs import replace

from fabric.app.project.opened import Project
from fabric.app.records.live_records import LiveRecords
from fabric.model.outcomes.deployed import FunctionAt, RemoveOutcome
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Record, RecordRef
from fabric.model.report import Report
from fabric.model.spelling import suggest_spelling


def select_removed_functions(
    asked: frozenset[str], project: Project, found: LiveRecords
) -> frozenset[str]:
    """Select the functions to delete; none if whole services are deleted.

    An unknown name is an error. A function that is not deployed is skipped.
    """
    live = {one.name for record in found.records.values() for one in record.functions}
    configured = {one.name for unit in project.units for one in unit.config.functions}
    unknown = sorted(asked - live - configured)
    if unknown:
        known = sorted(live | configured)
        hint = suggest_spelling(unknown[0], known) or "use one of " + ", ".join(known[:12])
        message = f"unknown function `{unknown[0]}`"
        raise FabricError(Problem("usage/unknown-function", message, hint))
    return frozenset() if asked and asked >= live else asked


def has_deployed_functions(found: LiveRecords, names: frozenset[str]) -> bool:
    functions = {one.name for record in found.records.values() for one in record.functions}
    return bool(names & functions if names else found.records)


def report_removed_functions(
    report: Report,
    found: LiveRecords,
    finals: Mapping[RecordRef, Record | None],
    names: frozenset[str],
) -> Report:
    """Report the deleted functions of services that stay."""
    left = {ref: final for ref, final in finals.items() if final is not None and names}
    gone = tuple(
        FunctionAt(ref.service, ref.provider, one.name)
        for ref, final in sorted(left.items())
        for one in found.records[ref].functions
        if final.function(one.name) is None
    )
    if not isinstance(report.outcome, RemoveOutcome) or not gone:
        return report
    return replace(report, outcome=replace(report.outcome, functions=gone), text=None)
