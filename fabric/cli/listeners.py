"""Who hears a run: the terminal, the journal, an events file, a profile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric.app.settings import Settings
from fabric.cli.progress import Lines, Live
from fabric.cli.screen import Screen
from fabric.engine.bus import Listener
from fabric.engine.chrome_trace import Profile
from fabric.engine.journal import EventFile, Journal


@dataclass(frozen=True, slots=True)
class Outlets:
    """Files that the user asked for besides the terminal; empty for none."""

    events: str
    profile: str


def listeners(
    screen: Screen, settings: Settings, outlets: Outlets
) -> Callable[[str, Path], Sequence[Listener]]:
    """A maker of listeners: called once the run has an id and a place to be kept."""

    def make(run_id: str, home: Path) -> Sequence[Listener]:
        heard: list[Listener] = [Journal(home / "runs", run_id)]
        if outlets.events:
            heard.append(EventFile(settings.cwd / Path(outlets.events)))
        if outlets.profile:
            heard.append(Profile(settings.cwd / Path(outlets.profile)))
        heard.append(_terminal(screen, settings))
        return heard

    return make


def _terminal(screen: Screen, settings: Settings) -> Listener:
    live = settings.stderr_is_terminal and not settings.in_ci
    if live and settings.env.get("TERM") != "dumb" and not screen.as_json:
        return Live(screen.err)
    return Lines(screen.err, github=settings.in_github)
