"""Packages of an archive that this machine cannot load, because of their compiled files.

fabric installs packages for the deploy platform. A compiled module of another system, processor or
Python version does not load here, so the project's own environment can supply the package.
"""

import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from fabric.runtimes.contract import BuiltFile

_ELF = b"\x7fELF"
# The position of the processor in an ELF header, and its values.
_PROCESSOR = slice(18, 20)
_PROCESSORS = {b"\x3e\x00": "x86_64", b"\xb7\x00": "arm64"}
_TAG = re.compile(r"\.cpython-(\d)(\d+)-[^/]*\.so$")
_NAMES = {"amd64": "x86_64", "aarch64": "arm64"}


class Machine(Struct, frozen=True):
    """The platform that loads compiled files: its system, its processor, and the Python version."""

    system: str
    processor: str
    python: str = ""


def describe_this_machine(python: str = "") -> Machine:
    processor = platform.machine().lower()
    return Machine(sys.platform, _NAMES.get(processor, processor), python)


class ForeignPackage(Struct, frozen=True, order=True):
    """A top-level name of the archive with compiled files for another platform. `path` is the
    package of this machine that replaces it, if there is one."""

    name: str
    platform: str
    path: str = ""


def find_processor(content: bytes) -> str:
    """Return the processor of an ELF file; empty for any other file or processor."""
    return _PROCESSORS.get(content[_PROCESSOR], "") if content.startswith(_ELF) else ""


def find_foreign_platform(file: BuiltFile, machine: Machine) -> str:
    """Describe the platform of a compiled Python module, if it is not this machine's."""
    if not file.path.endswith(".so") or not (processor := find_processor(file.content)):
        return ""
    tag = _TAG.search(file.path)
    version = f"{tag[1]}.{tag[2]}" if tag else ""
    is_same_version = not version or version == machine.python
    if machine.system == "linux" and processor == machine.processor and is_same_version:
        return ""
    return f"Linux {processor}" + (f" and Python {version}" if version else "")


def find_replacement(name: str, folders: Sequence[str], machine: Machine) -> str:
    """Find a top-level package or module in the `site-packages` of this Python version."""
    own = [Path(one) for one in folders if Path(one).parent.name == f"python{machine.python}"]
    stem = name.partition(".")[0]
    pattern = stem if stem == name else f"{stem}.*so"
    paths = (path for folder in own for path in sorted(folder.glob(pattern)))
    return next((str(path) for path in paths), "")
