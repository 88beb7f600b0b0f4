"""The actions of `fabricd`: serve in the foreground, or control a background daemon."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli.daemon.flags import ACTIONS, ConfigApiFlags, DaemonFlags
from fabric.cli.daemon.orders import (
    PlacedOrder,
    build_config_api_order,
    build_daemon_order,
    refuse_uninstalled,
    resolve_workspace,
)
from fabric.cli.screen import Screen, escape_for_terminal
from fabric.cli.start import get_command_start
from fabric.model.outcomes.queried import DocumentOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.text.spelling import find_nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabric.app.settings import Settings
    from fabric.cli.options import ScreenFlags
    from fabric.daemon.process.order import ServeOrder
    from fabric.daemon.process.running import RunningDaemon, UnknownDaemon
    from fabric.daemon.process.serving import ServeTools

    Serve = Callable[[ServeOrder, Settings, ServeTools], None]


def act(flags: DaemonFlags) -> int:
    """Run the action. Only starting a server needs its packages and valid options."""
    settings = get_command_start().settings
    screen = _build_screen(flags.screen, settings)
    if flags.action is not None and flags.action not in ACTIONS:
        raise FabricError(_unknown_act_problem(flags.action))
    folder = resolve_workspace(flags.project, settings.cwd)
    match flags.action:
        case "stop":
            return screen.finish(_stop_daemon(folder))
        case "status":
            return screen.finish(_report_status(folder))
    refuse_uninstalled()
    placed = build_daemon_order(flags, settings)
    _tell(placed.warnings)
    match flags.action:
        case "start":
            return screen.finish(_start_daemon(placed.order, settings, "fabricd start"))
        case "restart":
            _stop_daemon(folder)
            return screen.finish(_start_daemon(placed.order, settings, "fabricd restart"))
        case _:
            return _run_in_foreground(placed, settings, screen)


def _run_in_foreground(placed: PlacedOrder, settings: "Settings", screen: Screen) -> int:
    from fabric.daemon.process.foreground import run_daemon
    from fabric.daemon.process.pid1 import run_under_pid1

    return run_under_pid1(
        lambda: screen.finish(_serve_until_signal("fabricd", placed, settings, run_daemon))
    )


def serve_config_api(flags: ConfigApiFlags) -> int:
    from fabric.daemon.process.serving import serve

    settings = get_command_start().settings
    placed = build_config_api_order(flags, settings)
    _tell(placed.warnings)
    screen = _build_screen(flags.screen, settings)
    return screen.finish(_serve_until_signal("config-api", placed, settings, serve))


def _serve_until_signal(
    command: str, placed: PlacedOrder, settings: "Settings", serve: "Serve"
) -> Report:
    """Serve until a signal. Events are printed to stderr, one per line."""
    from fabric.daemon.composition import build_application
    from fabric.daemon.process.listening import format_server_url
    from fabric.daemon.process.serving import ServeTools
    from fabric.daemon.process.signal_queue import listen_for_signals

    urls: list[str] = []

    def report_ready(port: int) -> None:
        urls.append(format_server_url(placed.order.door.address, port))
        _tell((f"Serving at {urls[0]}  (press Ctrl-C to stop)",))

    with listen_for_signals() as ear:
        serve(
            placed.order,
            settings,
            ServeTools(
                build_application, ear.wait_for_signal, lambda line: _tell((line,)), report_ready
            ),
        )
    return Report(command, DocumentOutcome({"url": urls[0]}, ""))


def _start_daemon(order: "ServeOrder", settings: "Settings", command: str) -> Report:
    from fabric.daemon.process.control import start

    started = start(order, settings)
    facts = {
        **_list_facts(started.daemon),
        "started": not started.was_running,
        "log": str(order.log),
    }
    words = _describe_daemon(
        started.daemon, "is already running" if started.was_running else "is running"
    )
    return Report(command, DocumentOutcome(facts, f"{words}\nlog: {order.log}"))


def _stop_daemon(folder: Path) -> Report:
    from fabric.daemon.process.control import stop

    found = stop(folder)
    words = (
        f"fabricd stopped (process {found.process.pid})"
        if found
        else ("fabricd is not running here")
    )
    facts: dict[str, object] = {"running": False, "stopped": found is not None}
    if found:
        facts["pid"] = found.process.pid
    return Report("fabricd stop", DocumentOutcome(facts, words))


def _report_status(folder: Path) -> Report:
    from fabric.daemon.process.running import find_running

    found = find_running(folder)
    if found is None:
        outcome = DocumentOutcome({"running": False}, "fabricd is not running here")
        return Report("fabricd status", outcome, exit_code=ExitCode.NOT_RUNNING)
    return Report(
        "fabricd status", DocumentOutcome(_list_facts(found), _describe_daemon(found, "is running"))
    )


def _list_facts(found: "RunningDaemon | UnknownDaemon") -> dict[str, object]:
    from fabric.daemon.process.listening import format_server_url
    from fabric.daemon.process.running import RunningDaemon

    if not isinstance(found, RunningDaemon):
        return {"running": True}
    return {
        "running": True,
        "pid": found.process.pid,
        "address": found.address,
        "port": found.port,
        "url": format_server_url(found.address, found.port),
        "version": found.version,
        "startedAt": found.started_at,
    }


def _describe_daemon(found: "RunningDaemon | UnknownDaemon", verb: str) -> str:
    facts = _list_facts(found)
    if "pid" not in facts:
        return "fabricd is starting"
    return f"fabricd {verb}: {facts['url']} (process {facts['pid']}, since {facts['startedAt']})"


def _build_screen(flags: "ScreenFlags", settings: "Settings") -> Screen:
    return Screen.of(settings, as_json=flags.as_json, colour=flags.color)


def _tell(lines: tuple[str, ...]) -> None:
    sys.stderr.write(escape_for_terminal("".join(f"{line}\n" for line in lines)))
    sys.stderr.flush()


def _unknown_act_problem(word: str) -> Problem:
    guess = find_nearest(word, list(ACTIONS))
    hint = f"did you mean `{guess}`?" if guess else (f"use one of {', '.join(ACTIONS)}, or no word")
    return Problem("usage/unknown-command", f"unknown fabricd command `{word}`", hint)
