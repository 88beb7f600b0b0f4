"""A monorepo of many small services, for the compose commands themselves."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.places import WORK, made

_FUNCTION = "  - {{name: f{0}, entry: f{0}.py, triggers: [{{type: http, route: 'GET:/f{0}'}}]}}\n"
_CONFIG = "service: {}\nprovider: {{name: cloud1-lambda, runtime: python3.11}}\nfunctions:\n{}"
_CODE = "def handler(event, context):\n    return '{} {}'\n"
_STRIDE = 10
# What a deploy leaves in a service's `.fabric`, beside what builds leave there.
_STATE = ("archives", "deploy", "state", "wal")


def name_of(number: int) -> str:
    return f"s{number:05d}"


def needs_of(number: int) -> tuple[int, ...]:
    """Two of three services depend on one that lies ten before them: chains of three."""
    return (number - _STRIDE,) if number >= _STRIDE and number % 3 else ()


def fleet(
    services: int,
    functions: int = 5,
    label: str = "fleet",
    needs: Callable[[int], Iterable[int]] = needs_of,
) -> Path:
    """The folder with the compose file; made once."""

    def make(root: Path) -> None:
        rows = [_service(root, number, functions, needs(number)) for number in range(services)]
        (root / "fabric.compose.yml").write_text("services:\n" + "".join(rows))

    return made(WORK / f"{label}-{services}x{functions}", make, "1")


def forget(root: Path) -> None:
    """As if nothing had ever been run here."""
    for folder in (root / ".fabric", *root.glob("s*/.fabric")):
        shutil.rmtree(folder, ignore_errors=True)


def forget_state(root: Path) -> None:
    """As if nothing had ever been deployed; what was built stays."""
    for own in root.glob("s*/.fabric"):
        for name in _STATE:
            shutil.rmtree(own / name, ignore_errors=True)
        for receipt in own.glob("*.json"):
            receipt.unlink()


def _service(root: Path, number: int, functions: int, needs: Iterable[int]) -> str:
    name = name_of(number)
    folder = root / name
    folder.mkdir()
    rows = "".join(_FUNCTION.format(one) for one in range(functions))
    (folder / "fabric.yml").write_text(_CONFIG.format(name, rows))
    for one in range(functions):
        (folder / f"f{one}.py").write_text(_CODE.format(name, one))
    above = ", ".join(map(name_of, needs))
    return f"  - {{name: {name}, config: ./{name}/fabric.yml, dependsOn: [{above}]}}\n"
