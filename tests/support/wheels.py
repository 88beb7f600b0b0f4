"""Wheels of a few bytes, and a package index of them in a folder: all that pip needs."""

import base64
import hashlib
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
    files = {
        f"{module}.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": metadata + needs,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    _write(folder / f"{module}-{version}-{tag}.whl", files)
    links = [f'<a href="{one.name}">x</a>' for one in sorted(folder.glob("*.whl"))]
    (folder / "index.html").write_text("".join(links))


def add_to_wheels(index: Path, name: str, files: Mapping[str, str]) -> None:
    """Add files to all wheels of a package."""
    for path in (index / name).glob("*.whl"):
        with zipfile.ZipFile(path) as wheel:
            old = {
                name: wheel.read(name).decode()
                for name in wheel.namelist()
                if not name.endswith("/RECORD")
            }
        _write(path, {**old, **files})


def _write(path: Path, files: Mapping[str, str]) -> None:
    """A wheel with the RECORD of its files."""
    info = "-".join(path.name.split("-")[:2]) + ".dist-info"
    rows = "".join(f"{name},{_hash(text)},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{info}/RECORD", f"{rows}{info}/RECORD,,\n")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def environment(index: Path) -> Mapping[str, str]:
    """What makes pip look there, and nowhere else."""
    return {**ENVIRONMENT, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index.as_uri()}
