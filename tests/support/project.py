"""Temporary projects, and the command line in a clean environment: in a child process of its own,
or in this one (`tests.support.in_process`)."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.bundler_cache import ENVIRONMENT, TOOLCHAIN

REPO = Path(__file__).parents[2]
SECONDS = 60

TYPESCRIPT = """\
service: shop
provider: {name: cloud1-lambda, runtime: nodejs20.x}
functions:
  - name: hello
    entry: src/hello.ts
    triggers: [{type: http, method: GET, path: /hello}]
  - name: bye
    entry: src/bye.ts
    triggers: [{type: cron, schedule: rate(5 minutes)}]
"""
TYPESCRIPT_SOURCES = {
    "src/hello.ts": 'import { word } from "./word";\nexport const handler = async () => word;\n',
    "src/bye.ts": 'export const handler = async () => "bye";\n',
    "src/word.ts": 'export const word: string = "hello";\n',
}
PYTHON = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.handler}
  - {name: two, entry: src/two.handler}
"""
PYTHON_SOURCES = {
    "src/one.py": "from shared import WORD\n\n\ndef handler(event, context):\n    return WORD\n",
    "src/two.py": "def handler(event, context):\n    return 'two'\n",
    "src/shared.py": "WORD = 'one'\n",
}


@dataclass(frozen=True, slots=True)
class Done:
    """How one command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout: anything before or after it is an error."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def result(self) -> dict[str, Any]:
        """What a success answered."""
        assert self.code in (0, 2), self.err + self.out
        assert self.document["ok"] is True
        found = self.document["result"]
        assert isinstance(found, dict)
        return found

    @property
    def error(self) -> dict[str, Any]:
        """What a failure answered."""
        assert self.document["ok"] is False
        found = self.document["error"]
        assert isinstance(found, dict)
        return found


def environment(home: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nothing of the caller's but PATH: no CI, no colours, no settings of a user."""
    return {
        "PATH": ENVIRONMENT["PATH"],
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(REPO),
        "FABRIC_TOOLCHAIN_DIR": str(TOOLCHAIN),
        **{name: ENVIRONMENT[name] for name in ("FABRIC_NO_SHORTCUTS",) if name in ENVIRONMENT},
        **(extra or {}),
    }


# Runs a command line in a folder, with an environment.
Runs: TypeAlias = Callable[[Sequence[str], Path, Mapping[str, str]], Done]


def started(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "fabric", *words],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def in_child(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Done:
    return ended(started(words, cwd, env))


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a project in it, and fabric to be called from there."""

    root: Path
    home: Path
    runs: Runs = in_child

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def start(
        self, *words: str, cwd: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        return started(words, self.root / cwd, environment(self.home, env))

    def fabric(self, *words: str, cwd: str = "", env: Mapping[str, str] | None = None) -> Done:
        return self.runs(words, self.root / cwd, environment(self.home, env))

    def json(self, *words: str, cwd: str = "", env: Mapping[str, str] | None = None) -> Done:
        return self.fabric(*words, "--json", cwd=cwd, env=env)

    def tree(self, below: str = "") -> dict[str, str]:
        """Every path below a folder: what it is, its mode, and its content's digest."""
        base = self.root / below
        return {path.relative_to(base).as_posix(): _look(path) for path in sorted(base.rglob("*"))}

    def outputs(self) -> dict[str, str]:
        return self.tree(".fabric/build")

    def archives(self) -> dict[str, str]:
        return {path: seen for path, seen in self.outputs().items() if path.endswith(".zip")}

    def leftovers(self) -> list[Path]:
        """What a torn write would leave."""
        return sorted(self.root.rglob("*.tmp"))


def ended(child: subprocess.Popen[str]) -> Done:
    out, err = child.communicate(timeout=SECONDS)
    return Done(child.returncode, out, err)


def _look(path: Path) -> str:
    if path.is_symlink():
        return f"link {path.readlink()}"
    if path.is_dir():
        return "folder"
    return f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def project(folder: Path, config: str = "", sources: Mapping[str, str] | None = None) -> Project:
    """A project of your own, or one with two Python functions (they need no bundler)."""
    root, home = folder / "project", folder / "home"
    root.mkdir(parents=True)
    home.mkdir()
    made = Project(root, home)
    made.write({"fabric.yml": config or PYTHON, **(PYTHON_SOURCES if sources is None else sources)})
    return made


def typescript(folder: Path) -> Project:
    return project(folder, TYPESCRIPT, TYPESCRIPT_SOURCES)


def service(name: str, *functions: str) -> str:
    """A small config: Python functions, each in `<function>.py` beside it."""
    rows = [f"  - {{name: {one}, entry: {one}.py}}\n" for one in functions or ("main",)]
    head = f"service: {name}\nprovider: {{name: cloud1-lambda, runtime: python3.11}}\n"
    return head + "functions:\n" + "".join(rows)


def handler(answer: str) -> str:
    return f"def handler(event, context):\n    return {answer!r}\n"


def compose(folder: Path, **needs: tuple[str, ...]) -> Project:
    """One service for each name, in a folder of that name, with what it depends on."""
    rows = [
        f"  - {{name: {name}, config: ./{name}, dependsOn: [{', '.join(ups)}]}}\n"
        for name, ups in needs.items()
    ]
    made = project(folder, sources={})
    (made.root / "fabric.yml").unlink()
    made.write({"fabric.compose.yml": "services:\n" + "".join(rows)})
    for name in needs:
        made.write({f"{name}/fabric.yml": service(name), f"{name}/main.py": handler(name)})
    return made
