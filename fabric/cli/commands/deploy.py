"""`fabric deploy`: options to wishes, wishes to a run that changes the world."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from fabric.cli.commands.build import is_plain, request_of
from fabric.cli.options import (
    common_options,
    deploy_options,
    examples,
    function_option,
    lock_timeout_option,
    place_options,
    run_options,
    source_options,
)

if TYPE_CHECKING:
    from fabric.app.request import Request
    from fabric.app.settings import Settings
    from fabric.model.report import Report


@click.command(
    epilog=examples("""
fabric deploy                               deploy what changed, simulated by default
fabric deploy --stage prod --rollback-on-failure  back to what was live if anything fails
""")
)
@place_options
@function_option
@source_options
@deploy_options
@lock_timeout_option
@run_options
@common_options
def deploy(**options: Any) -> int:
    """Deploy the functions of a service.

    Builds and packages what changed, then deploys only functions that are not live as they are
    asked for; functions that the config names no more are deleted. Simulated unless
    FABRIC_REAL_DEPLOY=1 or FABRIC_<PROVIDER>_REAL_DEPLOY=1 is set.
    """
    return run_deploy("deploy", **options)


def run_deploy(command: str, **options: Any) -> int:
    from fabric.app.deploy.deploy import DeployOptions
    from fabric.app.deploy.deploy import deploy as deploy_services
    from fabric.app.selection import run_chosen
    from fabric.app.settings import read_settings
    from fabric.cli.progress.listeners import ListenerOptions, listeners
    from fabric.cli.progress.log_lines import Logs
    from fabric.cli.report_files import kept, wants_details
    from fabric.cli.screen import Screen
    from fabric.model.time_spans import seconds_of

    settings = read_settings()
    screen = Screen.of(settings, as_json=options["as_json"], colour=options["color"])
    deploy_options = DeployOptions(
        force=options["force"],
        rollback=options["rollback"],
        lock_timeout=seconds_of("--lock-timeout", options["lock_timeout"]),
        plan=options["plan"],
    )
    options["stage"] = options.get("preview") or options["stage"]
    detailed = wants_details(settings, options["junit"])
    request = request_of("deploy", command, detailed=detailed, **options)
    heard = listeners(
        screen,
        settings,
        ListenerOptions(options["events"], options["profile"], Logs(options["logs"])),
    )
    command_line = None if options.get("source") or not is_plain(options) else screen.command_line()

    def run(one: "Request", around: "Settings") -> "Report":
        return deploy_services(one, around, deploy_options, heard, command_line)

    def make() -> "Report":
        if options.get("source"):
            return _from_elsewhere(options, request, settings, run)
        return run_chosen(request, settings, lambda one: run(one, settings))

    return screen.finish(kept(command, settings, make, options["junit"]))


def _from_elsewhere(
    options: Mapping[str, Any],
    request: "Request",
    settings: "Settings",
    run: "Callable[[Request, Settings], Report]",
) -> "Report":
    from fabric.app.remote_source import RemoteSource, sourced

    source = RemoteSource(options["source"], options["source_sha256"])
    with sourced(source, request, settings) as found:
        report = run(found.request, found.settings)
    return replace(report, warnings=(*found.warnings, *report.warnings))
