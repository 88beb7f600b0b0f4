"""Files beside an answer: JUnit XML on request, and the CI job summary."""

import os
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.report import Report, make_failure_report
from fabric.system.disk import make_folder
from fabric.system.named_file import write_named

_SUMMARISED = ("plan", "deploy")


def is_detail_needed(settings: Settings, junit: str = "") -> bool:
    """Return whether a report must contain more than the terminal shows."""
    return bool(junit or settings.summary)


def refuse_unwritable(settings: Settings, *files: str) -> None:
    """Reject unwritable output files before anything runs."""
    for path in (settings.cwd / file for file in files if file):
        make_folder(path.parent)
        there = path if path.exists() else path.parent
        if path.is_dir() or not os.access(there, os.W_OK):
            what = "is a directory" if path.is_dir() else "permission denied"
            message = f"cannot write `{path}`: {what}"
            raise FabricError(Problem("disk/cannot-write", message, where=Place(str(path))))


def write_report_files(
    command: str, settings: Settings, make: Callable[[], Report], junit: str = ""
) -> Report:
    """Write the report's files and return it. An early failure writes them too."""
    try:
        report = make()
    except FabricError as error:
        report = make_failure_report(command, error)
    if junit:
        from fabric.views.junit import format_junit as junit_xml

        write_named(settings.cwd / junit, junit_xml(report).encode())
    if settings.summary and report.command.rpartition(" ")[2] in _SUMMARISED:
        return _write_summary(report, Path(settings.summary))
    return report


def _write_summary(report: Report, path: Path) -> Report:
    from fabric.views.summary import format_job_summary

    text = format_job_summary(report)
    try:
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        problem = Problem("disk/summary", f"cannot write the job summary: {error.strerror}")
        return replace(report, warnings=(*report.warnings, problem))
    return report
