"""Wheels of a few bytes, and a package index of them in a folder: all that pip needs."""

import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.bundler_cache import ENVIRONMENT

ANY = "py3-none-any"


def write_wheel(
    index: Path, name: str, requires: Iterable[str] = (), *, version: str = "1.0", tag: str = ANY
) -> None:
    """One package that holds one module, named like it."""
    module = name.replace("-", "_")
    folder = index / name
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{module}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {one}\n" for one in requires)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nProvides-Extra: more\n"
    with zipfile.ZipFile(folder / f"{module}-{version}-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{module}.py", f"VERSION = '{version}'\n")
        wheel.writestr(f"{info}/METADATA", metadata + needs)
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")
    links = [f'<a href="{one.name}">x</a>' for one in sorted(folder.glob("*.whl"))]
    (folder / "index.html").write_text("".join(links))


def add_to_wheels(index: Path, name: str, files: Mapping[str, str]) -> None:
    """Add files to all wheels of a package."""
    for path in (index / name).glob("*.whl"):
        with zipfile.ZipFile(path, "a") as wheel:
            for file, text in files.items():
                wheel.writestr(file, text)


def environment(index: Path) -> Mapping[str, str]:
    """What makes pip look there, and nowhere else."""
    return {**ENVIRONMENT, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index.as_uri()}
