"""Node for local calls: the runtime's version if a version manager has installed it."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from fabric.runtimes.nodejs.toolchain import find_node

_MAJOR = re.compile(r"nodejs(\d+)")
_NUMBERS = re.compile(r"\d+")


class _Manager(Struct, frozen=True):
    """Where a version manager installs: its variable, its usual directory below HOME, and the paths
    below them."""

    variable: str
    folder: str
    versions: str
    program: str = "bin/node"


_MANAGERS = (
    _Manager("NVM_DIR", ".nvm", "versions/node/v{}.*"),
    _Manager("FNM_DIR", ".local/share/fnm", "node-versions/v{}.*", "installation/bin/node"),
    _Manager("VOLTA_HOME", ".volta", "tools/image/node/{}.*"),
    _Manager("MISE_DATA_DIR", ".local/share/mise", "installs/node/{}.*"),
    _Manager("ASDF_DATA_DIR", ".asdf", "installs/nodejs/{}.*"),
    _Manager("NODENV_ROOT", ".nodenv", "versions/{}.*"),
    _Manager("N_PREFIX", "n", "n/versions/node/{}.*"),
)


def find_node_of(runtime: str, env: Mapping[str, str]) -> Path:
    """Find Node of the version in `nodejs20.x`; otherwise the Node of builds."""
    major = _MAJOR.match(runtime)
    on_path = shutil.which("node", path=env.get("PATH", ""))
    if major is None or (on_path and _is_version(Path(on_path).resolve(), major[1])):
        return find_node(env)
    installed = next(_list_installed(major[1], env), None)
    return installed if installed is not None else find_node(env)


def _is_version(program: Path, major: str) -> bool:
    """Return whether the path names the version, as that of a version manager does."""
    return any(re.fullmatch(rf"v?{major}\.\d+\.\d+", part) for part in program.parts)


def _list_installed(major: str, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield the programs of a version, the newest of each manager first."""
    for manager in _MANAGERS:
        home = env.get("HOME", "")
        top = env.get(manager.variable) or (home and f"{home}/{manager.folder}")
        found = Path(top).glob(manager.versions.format(major)) if top else ()
        for folder in sorted(found, key=_version_numbers, reverse=True):
            if shutil.which(str(folder / manager.program)):
                yield folder / manager.program


def _version_numbers(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, _NUMBERS.findall(folder.name)))
