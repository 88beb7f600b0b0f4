"""The actions of `fabricd`: serve in the foreground, or control a background daemon."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.cli.daemon.flags import ACTIONS, ConfigApiFlags, DaemonFlags
from fabric.cli.daemon.orders import (
    PlacedOrder,
    config_api_order,
    daemon_order,
    refuse_uninstalled,
    workspace_of,
)
from fabric.cli.screen import Screen, safe
from fabric.cli.start import command_start
from fabric.model.outcomes.looked_up import DocumentOutcome
from fabric.model.problems import ExitCode, FabricError, Problem
from fabric.model.report import Report
from fabric.model.spelling import nearest

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
    settings = command_start().settings
    screen = _screen(flags.screen, settings)
    if flags.action is not None and flags.action not in ACTIONS:
        raise FabricError(_unknown(flags.action))
    folder = workspace_of(flags.project, settings.cwd)
    match flags.action:
        case "stop":
            return screen.finish(_stopped(folder))
        case "status":
            return screen.finish(_status(folder))
    refuse_uninstalled()
    placed = daemon_order(flags, settings)
    _tell(placed.warnings)
    match flags.action:
        case "start":
            return screen.finish(_started(placed.order, settings, "fabricd start"))
        case "restart":
            _stopped(folder)
            return screen.finish(_started(placed.order, settings, "fabricd restart"))
        case _:
            return _here(placed, settings, screen)


def _here(placed: PlacedOrder, settings: "Settings", screen: Screen) -> int:
    from fabric.daemon.process.first_process import under_first_process
    from fabric.daemon.process.foreground import run_daemon

    return under_first_process(
        lambda: screen.finish(_served("fabricd", placed, settings, run_daemon))
    )


def serve_config_api(flags: ConfigApiFlags) -> int:
    from fabric.daemon.process.serving import serve

    settings = command_start().settings
    placed = config_api_order(flags, settings)
    _tell(placed.warnings)
    screen = _screen(flags.screen, settings)
    return screen.finish(_served("config-api", placed, settings, serve))


def _served(command: str, placed: PlacedOrder, settings: "Settings", serve: "Serve") -> Report:
    """Serve until a signal. Events are printed to stderr, one per line."""
    from fabric.daemon.composition import application_of
    from fabric.daemon.process.ear import listening_for_signals
    from fabric.daemon.process.listening import url_of
    from fabric.daemon.process.serving import ServeTools

    urls: list[str] = []

    def ready(port: int) -> None:
        urls.append(url_of(placed.order.address, port))
        _tell((f"Serving at {urls[0]}  (press Ctrl-C to stop)",))

    with listening_for_signals() as ear:
        serve(
            placed.order,
            settings,
            ServeTools(application_of, ear.heard, lambda line: _tell((line,)), ready),
        )
    return Report(command, DocumentOutcome({"url": urls[0]}, ""))


def _started(order: "ServeOrder", settings: "Settings", command: str) -> Report:
    from fabric.daemon.process.control import start

    started = start(order, settings)
    facts = {**_facts(started.daemon), "started": not started.was_running, "log": str(order.log)}
    words = _words(started.daemon, "is already running" if started.was_running else "is running")
    return Report(command, DocumentOutcome(facts, f"{words}\nlog: {order.log}"))


def _stopped(folder: Path) -> Report:
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


def _status(folder: Path) -> Report:
    from fabric.daemon.process.running import running_in

    found = running_in(folder)
    if found is None:
        outcome = DocumentOutcome({"running": False}, "fabricd is not running here")
        return Report("fabricd status", outcome, exit_code=ExitCode.NOT_RUNNING)
    return Report("fabricd status", DocumentOutcome(_facts(found), _words(found, "is running")))


def _facts(found: "RunningDaemon | UnknownDaemon") -> dict[str, object]:
    from fabric.daemon.process.listening import url_of
    from fabric.daemon.process.running import RunningDaemon

    if not isinstance(found, RunningDaemon):
        return {"running": True}
    return {
        "running": True,
        "pid": found.process.pid,
        "address": found.address,
        "port": found.port,
        "url": url_of(found.address, found.port),
        "version": found.version,
        "startedAt": found.started_at,
    }


def _words(found: "RunningDaemon | UnknownDaemon", verb: str) -> str:
    facts = _facts(found)
    if "pid" not in facts:
        return "fabricd is starting"
    return f"fabricd {verb}: {facts['url']} (process {facts['pid']}, since {facts['startedAt']})"


def _screen(flags: "ScreenFlags", settings: "Settings") -> Screen:
    return Screen.of(settings, as_json=flags.as_json, colour=flags.color)


def _tell(lines: tuple[str, ...]) -> None:
    sys.stderr.write(safe("".join(f"{line}\n" for line in lines)))
    sys.stderr.flush()


def _unknown(word: str) -> Problem:
    guess = nearest(word, list(ACTIONS))
    hint = f"did you mean `{guess}`?" if guess else (f"use one of {', '.join(ACTIONS)}, or no word")
    return Problem("usage/unknown-command", f"unknown fabricd command `{word}`", hint)
