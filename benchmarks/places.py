"""Where the benchmarks work, and the clean venv that all ratios to a bare python are taken in."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
WORK = REPO / "benchmarks" / ".work"
_PROGRAMS = ("copytool", "sleepers", "trivial", "waiting")
_OWN = ("__init__", "copygraph", "copyrun", "stores", "trivialgraph", *_PROGRAMS)
_LAUNCHER = """#!{python}
import sys
from benchmarks.{module} import main
if __name__ == "__main__":
    sys.exit(main())
"""


def run(*argv: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run([str(one) for one in argv], cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        text = (done.stdout + done.stderr).decode(errors="replace")
        raise SystemExit(f"{' '.join(map(str, argv))} failed:\n{text[-3000:]}")


def made(folder: Path, make: Callable[[Path], None], mark: str = "") -> Path:
    """A folder that is made once; again if `mark`, a digest of what it is made from, differs."""
    stamp = folder / ".made"
    if not stamp.exists() or stamp.read_text() != mark:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        stamp.write_text(mark)
    return folder


def digest_of_sources(*places: Path) -> str:
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(place)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def venv() -> Path:
    """Fabric from a wheel, bytecode compiled, with the programs of this package beside it."""
    own = (REPO / "benchmarks" / f"{name}.py" for name in _OWN)
    sources = digest_of_sources(REPO / "fabric", REPO / "schemas", *own)
    return made(WORK / "venv", _make_venv, sources)


def _install(folder: Path, checkout: Path) -> None:
    run(sys.executable, "-m", "venv", folder)
    # Older ones write a script that imports `re`: that alone takes as long as stage 0.
    run(folder / "bin/pip", "install", "--quiet", "--upgrade", "pip")
    # What a shared cache needs is there too; nobody else imports it.
    run(folder / "bin/pip", "install", "--quiet", "--compile", checkout, "httpx>=0.28")


def _make_venv(folder: Path) -> None:
    _install(folder, REPO)
    info = next((folder / "lib").glob("python3*/site-packages"))
    own = info / "benchmarks"
    own.mkdir()
    for name in _OWN:
        shutil.copy2(REPO / "benchmarks" / f"{name}.py", own)
    run(folder / "bin/python", "-m", "compileall", "-q", own)
    for module in _PROGRAMS:
        launcher = folder / "bin" / module
        launcher.write_text(_LAUNCHER.format(python=folder / "bin/python", module=module))
        launcher.chmod(0o755)


def program(name: str) -> str:
    return str(venv() / "bin" / name)


@cache
def program_of(checkout: Path) -> str:
    """The command line of another checkout of fabric, installed from a wheel as well."""

    name = hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
    sources = digest_of_sources(checkout / "fabric", checkout / "schemas")
    return str(
        made(WORK / f"venv-{name}", lambda folder: _install(folder, checkout), sources)
        / "bin/fabric"
    )
