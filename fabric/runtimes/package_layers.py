"""The files of packages as layers of images: an upgrade of one package changes one layer."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fabric.runtimes.archive import PackedFile
from fabric.runtimes.contract import BuiltFile

# The aim for one layer of packages, and the size of a package that has a separate layer.
_LAYER_BYTES, _LARGE_BYTES = 20 << 20, 10 << 20
_MOST_LARGE, _MOST_GROUPS = 32, 16
# `numpy.libs`, `numpy-2.1.3.dist-info` and `six.py` belong to `numpy` and `six`.
_SUFFIX = re.compile(r"(?:-[^-]+\.(?:dist-info|data)|\.libs|(?:\.[\w-]+)?\.(?:py|so|pth))$")


def group_packages(
    files: Sequence[PackedFile], owners: Mapping[str, str]
) -> tuple[tuple[PackedFile, ...], ...]:
    """Group files by package into layers, so that an upgrade of one package changes one layer.

    `owners` maps paths to the names of their wheels. Other files belong to their top-level module.
    A large package has a separate layer. The others are distributed by their names, because a limit
    on the size of each group would move packages to other groups whenever one grows.
    """
    packages: dict[str, list[PackedFile]] = {}
    for one in files:
        owner = owners.get(one.path) or find_module(one.path)
        packages.setdefault(owner, []).append(one)
    sizes = {name: sum(len(one.deflated) for one in own) for name, own in packages.items()}
    large = sorted(name for name in sizes if sizes[name] >= _LARGE_BYTES)[:_MOST_LARGE]
    count = _count_groups(sum(size for name, size in sizes.items() if name not in large))
    groups: dict[str, list[PackedFile]] = {}
    for name, own in sorted(packages.items()):
        key = f"1 {name}" if name in large else f"0 {_choose_group(name, count):02d}"
        groups.setdefault(key, []).extend(own)
    return tuple(tuple(group) for _, group in sorted(groups.items()))


def _count_groups(size: int) -> int:
    """Return a power of two, which moves few packages when it changes."""
    count = 1
    while count * _LAYER_BYTES < size and count < _MOST_GROUPS:
        count *= 2
    return count


def _choose_group(package: str, count: int) -> int:
    return int.from_bytes(hashlib.sha256(package.encode()).digest()[:4]) % count


def find_module(path: str) -> str:
    """Return the top-level module of a file. Libraries and metadata belong to it too."""
    top = path.partition("/")[0]
    return _SUFFIX.sub("", top).lower()


def unpack_group(group: Iterable[PackedFile]) -> Iterator[BuiltFile]:
    return (BuiltFile(one.path, one.unpack(), one.executable) for one in group)
