"""Commands without an interpreter's start: real forks of a process that has fabric imported."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.reliability.warmed import Job
from tests.support.project import Done, environment

REPO = Path(__file__).resolve().parents[2]
# What a deploy imports, as late as it does: learned from one that is run and asked for its modules.
_LEARN = (
    "import sys, os, atexit, json\n"
    "out = os.dup(1)\n"
    "end = os._exit\n"
    "def told(code):\n"
    "    names = sorted(n for n in sys.modules if n.partition('.')[0] == 'fabric')\n"
    "    os.write(out, b'\\n' + json.dumps(names).encode() + b'\\n')\n"
    "    end(code)\n"
    "os._exit = told\n"
    "sys.argv[0] = 'fabric'\n"
    "import fabric.__main__\n"
    "fabric.__main__.main()\n"
)


@dataclass(frozen=True, slots=True)
class Ended:
    """A negative code is the signal that ended it."""

    code: int
    seconds: float
    out: str
    err: str

    @property
    def done(self) -> Done:
        return Done(self.code, self.out, self.err)


@dataclass(frozen=True, slots=True)
class Place:
    """Where commands run: a working folder, the environment, and where their output goes."""

    root: Path
    home: Path
    env: Mapping[str, str] = field(default_factory=dict)


class Warm:
    """Commands may run at the same time: `start` some, then `wait` for each."""

    def __init__(self, child: subprocess.Popen[bytes], logs: Path) -> None:
        self._child = child
        self._logs = logs
        self._started = 0
        self._ended: dict[int, tuple[int, float]] = {}

    def start(
        self,
        place: Place,
        *words: str,
        kill_after: float | None = None,
        fault: tuple[int, int, str] | None = None,
    ) -> int:
        self._started += 1
        number, log = self._started, str(self._logs / str(self._started))
        env = environment(place.home, place.env)
        job = Job(number, words, str(place.root), env, log, kill_after, fault)
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
        self._child.stdin.flush()
        return number

    def wait(self, number: int) -> Ended:
        while number not in self._ended:
            self._hear_one()
        return self._taken_off(number)

    def next(self) -> tuple[int, Ended]:
        """Whichever ends first of those that were started."""
        if not self._ended:
            self._hear_one()
        number = next(iter(self._ended))
        return number, self._taken_off(number)

    def _hear_one(self) -> None:
        told = self._heard()
        self._ended[told["number"]] = (told["code"], told["seconds"])

    def _taken_off(self, number: int) -> Ended:
        code, seconds = self._ended.pop(number)
        out, err = (self._taken(f"{number}.{name}") for name in ("out", "err"))
        return Ended(code, seconds, out, err)

    def run(self, place: Place, *words: str, **how: float | tuple[int, int, str] | None) -> Ended:
        return self.wait(self.start(place, *words, **how))  # type: ignore[arg-type]

    def _heard(self) -> dict[str, int]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError("the warm process is gone")
        return dict(json.loads(line))

    def _taken(self, name: str) -> str:
        path = self._logs / name
        text = path.read_text(errors="replace") if path.exists() else ""
        path.unlink(missing_ok=True)
        return text


@contextlib.contextmanager
def warmed(folder: Path, learn: Sequence[tuple[Place, Sequence[str]]]) -> Iterator[Warm]:
    """Warm for what these command lines import: each is run once in a process of its own."""
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    names = sorted({name for place, words in learn for name in _learned(place, words)})
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.reliability.warmed", *names],
        cwd=REPO,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    warm = Warm(child, logs)
    try:
        warm._heard()  # noqa: SLF001 - ready
        yield warm
    finally:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.stdout.close()
        child.wait()


def _learned(place: Place, words: Sequence[str]) -> Sequence[str]:
    done = subprocess.run(
        [sys.executable, "-c", _LEARN, *words],
        cwd=place.root,
        env=environment(place.home, place.env),
        capture_output=True,
        text=True,
        check=True,
    )
    names = json.loads(done.stdout.splitlines()[-1])
    return [name for name in names if name != "fabric.__main__"]
