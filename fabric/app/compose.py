"""What a compose file lists, and what its services give, for people and scripts."""

from fabric.app.deploy.live_records import LiveRecords, find_records
from fabric.app.project.files import COMPOSE_NAME
from fabric.app.project.project import named_services, open_project
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.model.problems import ExitCode
from fabric.model.report import Report
from fabric.views.deploy_text import outputs_text
from fabric.views.style import Style

_PLAIN = Style()


def list_services(file: str, settings: Settings, style: Style = _PLAIN) -> Report:
    services = named_services(file or COMPOSE_NAME, settings)
    rows = [
        {"name": one.name, "config": one.config, "dependsOn": list(one.depends_on)}
        for one in services
    ]
    width = max((len(one.name) for one in services), default=0)
    lines = [
        f"{style.strong(one.name.ljust(width))}  {one.config}"
        + style.dim(f"  needs {', '.join(one.depends_on)}" if one.depends_on else "")
        for one in services
    ]
    return Report("compose list", {"services": rows}, text="\n".join(lines))


def outputs(request: Request, settings: Settings) -> Report:
    """The endpoint and outputs of every service that is live."""
    project = open_project(request.where, settings)
    found = find_records(project, "", settings)
    rows = [
        {
            "service": ref.service,
            "provider": ref.provider,
            "endpoint": record.endpoint,
            "outputs": dict(record.outputs),
        }
        for ref, record in sorted(found.records.items())
    ]
    absent = [{"service": one.service, "provider": one.provider} for one in found.absent]
    document = {"stage": project.stage, "services": rows, "absent": absent}
    return Report(
        request.command,
        document,
        text=outputs_text(document),
        problems=tuple(one.first for one in found.unreadable),
        exit_code=_exit_code(found),
    )


def _exit_code(found: LiveRecords) -> ExitCode:
    if not found.unreadable:
        return ExitCode.OK
    return ExitCode.PARTIAL if found.records else found.unreadable[0].exit_code
