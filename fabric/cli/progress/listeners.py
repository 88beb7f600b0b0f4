"""Who hears a run: the terminal, the journal, an events file, a profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.app.settings import Settings
from fabric.cli.progress.lines import Lines, Live
from fabric.cli.progress.live_table import LiveTable
from fabric.cli.progress.log_lines import Logs, Talk
from fabric.cli.screen import Screen
from fabric.engine.bus import Listener
from fabric.engine.listeners.chrome_trace import Profile
from fabric.engine.listeners.journal import EventFile, Journal
from fabric.engine.listeners.service_progress import Tally
from fabric.engine.run_info import MakeListeners, Scene
from fabric.system.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Outlets:
    """Files that the user asked for besides the terminal; empty for none."""

    events: str
    profile: str = ""
    logs: Logs = Logs.FULL


def listeners(screen: Screen, settings: Settings, outlets: Outlets) -> MakeListeners:
    """A maker of listeners: called once the run has an id and a place to be kept."""

    def make(scene: Scene) -> Sequence[Listener]:
        heard: list[Listener] = []
        if not scene.is_idle:
            heard.append(Journal(scene.home / "runs", scene.run))
        if outlets.events:
            heard.append(EventFile(settings.cwd / Path(outlets.events)))
        if outlets.profile:
            heard.append(Profile(settings.cwd / Path(outlets.profile)))
        if outlets.logs is not Logs.NONE and not scene.is_idle:
            heard.append(_terminal(screen, settings, outlets.logs, scene))
        return heard

    return make


def _terminal(screen: Screen, settings: Settings, logs: Logs, scene: Scene) -> Listener:
    tally = Tally(scene) if scene.many else None
    talk = Talk(logs, screen.err, tally)
    live = settings.stderr_is_terminal and not settings.in_ci
    if not live or settings.env.get("TERM") == "dumb" or screen.as_json:
        return Lines(talk, github=settings.in_github)
    if tally is None:
        return Live(talk)
    return LiveTable(talk, tally, SystemClock())
