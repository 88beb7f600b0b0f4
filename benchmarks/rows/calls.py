"""A compose deploy whose provider calls only wait, beside make, ninja and a level barrier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.naps import Naps, naps
from benchmarks.peers import python_peers
from benchmarks.places import program
from benchmarks.rounds import Side, Timing, alternate
from benchmarks.row import Options, Result, Row, beside, ms, shown

_BOUND = 1.1


@dataclass(frozen=True, slots=True)
class Player:
    """One side at one width, and the makespans of its rounds."""

    name: str
    width: int
    argv: Sequence[str]
    spans: list[float] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("fabric")

    def side(self, work: Naps) -> Side:
        env = {
            "FABRIC_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_DEPLOY_CMD": work.command,
            "NAPS": str(work.peers),
        }
        root = work.fleet if self.is_ours else work.peers
        title = f"{self.name}, {self.width} at once"
        return Side(title, self.argv, root, env, work.forget, self._heard(work))

    def _heard(self, work: Naps) -> Callable[[str], None]:
        def check(output: str) -> None:
            del output
            self.spans.append(work.makespan())

        return check


def _players(width: int) -> list[Player]:
    ninja = str(python_peers() / "bin/ninja")
    return [
        Player("fabric", width, (program("fabric"), *_DEPLOY, str(width))),
        Player("fabric, calls in process", width, (program("waiting"), *_DEPLOY, str(width))),
        Player("make", width, ("make", f"-j{width}")),
        Player("ninja", width, (ninja, "--quiet", f"-j{width}")),
        Player("level barrier", width, ("make", "-f", "levels.mk", f"-j{width}")),
    ]


_DEPLOY = ("compose", "deploy", "--concurrency")


def _makespan(options: Options) -> Sequence[Result]:
    work = naps(options.size(200))
    players = [player for width in (8, 64) for player in _players(width)]
    durations = shown(alternate([one.side(work) for one in players], options.rounds))
    spans = [_span(work, one, options.rounds) for one in players]
    return [*spans, *_whole(players, durations)]


def _span(work: Naps, player: Player, rounds: int) -> Result:
    kept, best = player.spans[-rounds:], work.bound(player.width)
    claim = f"makespan of {work.services} calls, {player.width} at once, {player.name} / bound"
    ours = f"{ms(median(kept))} ({ms(min(kept))}..{ms(max(kept))})"
    limit = _BOUND if player.is_ours or player.name == "level barrier" else None
    at_least = not player.is_ours
    return Result(claim, ours, ms(best), median(kept) / best, limit, at_least=at_least)


def _whole(players: Sequence[Player], durations: Sequence[Timing]) -> Sequence[Result]:
    """What else a deploy does: start, plan, claim the records, close them."""
    found = {(one.name, one.width): timing for one, timing in zip(players, durations, strict=True)}
    return [
        beside(f"whole process, {width} at once / {peer}", ours, found[peer, width])
        for (name, width), ours in found.items()
        if name == "fabric"
        for peer in ("make", "ninja")
    ]


ROWS = (
    Row("compose-makespan", "provider calls of 50 to 400 ms, beside make and ninja", _makespan),
)
