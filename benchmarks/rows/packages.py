"""Packages of Python functions after small changes, with an older fabric beside."""

import itertools
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.places import WORK, made, program, program_of
from benchmarks.rounds import Side, Timing, alternate
from benchmarks.row import Options, Result, Row, ms, shown

# With their dependencies more than 50 wheels for each architecture.
_REQUIREMENTS = """\
numpy<2.4
pandas<3
pydantic
fastapi
sqlalchemy
cryptography
aiohttp
lxml
pillow
requests
httpx
boto3
jinja2
rich
orjson
redis
psycopg[binary]
uvicorn
alembic
tenacity
structlog
"""
_FEW = "fastapi\nstructlog\n"
_CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.12}
functions:
  - {name: one, entry: main.handler}
"""
_LOCK = "requirements.without-boto3.lock"
_LOCKING = """
import os, sys
from pathlib import Path
from fabric.model.task_inputs import VendorInputs
from fabric.runtimes.packages.vendor import lock_requirements
text = Path("requirements.txt").read_text()
targets = [VendorInputs("shop", ".", text, "3.12", one, glibc=34) for one in ("x86_64", "aarch64")]
lock_requirements(Path.cwd(), targets, os.environ)
"""
_COUNT = itertools.count()


def _run(options: Options) -> Sequence[Result]:
    if options.before is None:
        return []
    text = _FEW if options.small else _REQUIREMENTS
    index = made(WORK / "packages", lambda folder: _download(folder, text), text) / "simple"
    with _served(index) as address:
        env = {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": address,
            "PIP_FIND_LINKS": "",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        return _measure(options, text, env)


def _measure(options: Options, text: str, env: Mapping[str, str]) -> Sequence[Result]:
    if options.before is None:
        return []
    programs = {"now": program("fabric"), "before": program_of(options.before.resolve())}
    sides = [_side(name, one, text, env) for name, one in programs.items()]
    alternate(sides, 1, warm_up=0)
    changes: dict[str, tuple[Callable[[Path], None], float]] = {
        "`package` after an edit of the function": (_edit, 0.1),
        "`package` after an update of one package": (_update, 0.15),
    }
    found = [
        _compare(claim, [_prepared(one, change) for one in sides], options, bound)
        for claim, (change, bound) in changes.items()
    ]
    locking = [
        replace(one, argv=(str(Path(one.argv[0]).with_name("python")), "-c", _LOCKING))
        for one in sides
    ]
    claim = "lock of all packages for two architectures"
    return [*found, _compare(claim, [_prepared(one, _unlock) for one in locking], options, 0.05)]


def _download(folder: Path, text: str) -> None:
    (folder / "requirements.txt").write_text(text)
    for machine in ("x86_64", "aarch64"):
        platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (17, 28, 34)]
        argv = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
        argv += ["--python-version=3.12", f"--platform=manylinux2014_{machine}", *platforms]
        argv += ["--dest", str(folder), "--requirement", str(folder / "requirements.txt")]
        subprocess.run(argv, check=True)
    for wheel in folder.glob("*.whl"):
        _add_to_index(wheel, folder / "simple")


def _add_to_index(wheel: Path, index: Path) -> None:
    """With the metadata beside the file, as the public index has it."""
    package = index / re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
    package.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as opened:
        name = next(filter(re.compile(r"[^/]+\.dist-info/METADATA").fullmatch, opened.namelist()))
        metadata = opened.read(name)
    (package / wheel.name).hardlink_to(wheel)
    (package / f"{wheel.name}.metadata").write_bytes(metadata)
    digest, other = (sha256(one).hexdigest() for one in (wheel.read_bytes(), metadata))
    link = f'<a href="{wheel.name}#sha256={digest}" data-core-metadata="sha256={other}">x</a>\n'
    with (package / "index.html").open("a") as page:
        page.write(link)


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            del words

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def _side(name: str, fabric: str, text: str, env: Mapping[str, str]) -> Side:
    root = WORK / f"packages-{name}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    (root / "fabric.yml").write_text(_CONFIG)
    (root / "requirements.txt").write_text(text)
    _edit(root)
    return Side(name, (fabric, "package", "--json"), root, env)


def _prepared(side: Side, change: Callable[[Path], None]) -> Side:
    return replace(side, prepare=lambda: change(side.cwd))


def _edit(root: Path) -> None:
    answer = next(_COUNT)
    (root / "main.py").write_text(f"def handler(event, context):\n    return {answer}\n")


def _update(root: Path) -> None:
    """Allow one more file of a package: it is downloaded again, with the same result."""
    path = root / _LOCK
    if not path.exists():
        path = root / "requirements.lock"
    lines = path.read_text().splitlines(keepends=True)
    changed = [
        f"{line.rstrip()} --hash=sha256:{random.getrandbits(256):064x}\n"
        if line.startswith("structlog==")
        else line
        for line in lines
    ]
    path.write_text("".join(changed))


def _unlock(root: Path) -> None:
    for path in root.glob("*.lock"):
        path.unlink()


def _compare(claim: str, sides: Sequence[Side], options: Options, bound: float) -> Result:
    """Compare processor times, children included: the disk and the network have no part in them."""
    now, before = map(_cpu, shown(alternate(sides, options.rounds)))
    return Result(f"{claim} / before", ms(now), ms(before), now / before, bound, note="CPU")


def _cpu(timing: Timing) -> float:
    return statistics.median(one.cpu for one in timing.samples)


ROWS = (Row("packages", "packages of a Python function after small changes, beside before", _run),)
