"""A project at cloud1, whose server is that of the tests, in a process beside the command."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.places import REPO, WORK
from tests.support.servers.strict_cloud1.client import StrictCloud1, strict_server


@dataclass(frozen=True)
class Cloud1Shop:
    """A project of so many functions, each with an address, and the account that it goes to."""

    folder: Path
    account: StrictCloud1
    role: str

    @classmethod
    def of(cls, folder: Path, url: str, count: int) -> "Cloud1Shop":
        account = StrictCloud1(url)
        made = cls(folder, account, account.role())
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "src").mkdir(parents=True)
        rows = "".join(
            f"  - {{name: f{one}, entry: src/f{one}.js, "
            f"triggers: [{{type: http, path: /f{one}}}]}}\n"
            for one in range(count)
        )
        head = "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs20.x}\n"
        (folder / "fabric.yml").write_text(f"{head}functions:\n{rows}")
        for one in range(count):
            made.write(one, "first")
        return made

    def write(self, number: int, word: str) -> None:
        text = f'exports.handler = async () => ({{statusCode: 200, body: "{word} {number}"}});\n'
        (self.folder / "src" / f"f{number}.js").write_text(text)

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(REPO),
            **self.account.environment,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": self.role,
        }

    def ran(self, *words: str) -> "RanCommand":
        self.account.reset()
        return self.ran_on(*words)

    def ran_on(self, *words: str) -> "RanCommand":
        """Faults and counts of before stay."""
        begun = time.perf_counter()
        argv = (sys.executable, "-m", "fabric", *words)
        done = subprocess.run(
            argv, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - begun
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-3000:]}")
        return RanCommand(seconds, sum(self.account.calls().values()))


@dataclass(frozen=True)
class RanCommand:
    seconds: float
    calls: int


@contextlib.contextmanager
def cloud1_server() -> Iterator[str]:
    folder = WORK / "cloud1"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with strict_server(folder) as url:
        yield url
