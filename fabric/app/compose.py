"""The services of a compose file and their outputs, for people and scripts."""

from fabric.app.project.files import COMPOSE_NAME
from fabric.app.project.project import list_compose_services, read_stage_services
from fabric.app.project.recorded import open_recorded
from fabric.app.records.live_records import LiveRecords, find_records
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.model.outcomes.deployed import OutputsOutcome, ServiceAt, ServiceOutputs
from fabric.model.outcomes.queried import ListedService, ServicesOutcome
from fabric.model.problems import ExitCode
from fabric.model.report import Report


def list_services(file: str, stage: str, settings: Settings) -> Report:
    """List the services of the compose file. With a stage, their configs are read for it."""
    path = file or COMPOSE_NAME
    if stage:
        services = read_stage_services(settings.cwd / path, settings, stage)
    else:
        services = list_compose_services(path, settings)
    rows = tuple(ListedService(one.name, one.config, tuple(one.depends_on)) for one in services)
    return Report("compose list", ServicesOutcome(rows))


def report_outputs(request: Request, settings: Settings) -> Report:
    """Report the endpoint and outputs of every deployed service."""
    project = open_recorded(request.where, settings)
    found = find_records(project, request.where.provider, settings)
    rows = tuple(
        ServiceOutputs(ref.service, ref.provider, record.endpoint, record.named_outputs)
        for ref, record in sorted(found.records.items())
    )
    absent = tuple(ServiceAt(one.service, one.provider) for one in found.absent)
    return Report(
        request.command,
        OutputsOutcome(project.stage, rows, absent),
        problems=tuple(one.first for one in found.unreadable),
        exit_code=_exit_code(found),
    )


def _exit_code(found: LiveRecords) -> ExitCode:
    if not found.unreadable:
        return ExitCode.OK
    return ExitCode.PARTIAL if found.records else found.unreadable[0].exit_code
