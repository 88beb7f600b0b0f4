"""Lock files as uv writes them, from a few names, and the reader's answer for one project."""

from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

from fabric.model.builds.python_target import OptionalDependencies, PythonTarget
from fabric.model.hashing import hash_bytes
from fabric.runtimes.packages.locks.reading import LockText, LockUser, read_lock
from fabric.runtimes.packages.locks.rows import LockedPackages

INTEL, ARM = PythonTarget("3.12", "x86_64", 34), PythonTarget("3.12", "arm64", 34)
OLD = PythonTarget("3.11", "x86_64", 26)
HEAD = 'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n'


def digest_of(name: str) -> str:
    """A hash for a file that no test downloads."""
    return hash_bytes(name.encode())


def uv_package(
    name: str,
    source: str = 'registry = "https://pypi.org/simple"',
    *,
    version: str = "1.0",
    needs: Iterable[str] = (),
    files: Iterable[str] | Mapping[str, str] = (),
) -> str:
    """A row of uv.lock. `needs` are names, or whole tables of an edge. `files` can have hashes."""
    edges = (one if one.startswith("{") else f'{{ name = "{one}" }}' for one in needs)
    named = files or (f"{name.replace('-', '_')}-{version}-py3-none-any.whl",)
    digests = named if isinstance(named, Mapping) else {one: digest_of(one) for one in named}
    wheels = ", ".join(
        f'{{ url = "https://files.example/{file}", hash = "sha256:{digest}", size = 1 }}'
        for file, digest in digests.items()
    )
    return (
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ {source} }}\n'
        f"dependencies = [{', '.join(edges)}]\n"
        + (f"wheels = [{wheels}]\n" if source.startswith("registry") else "")
    )


class _Given(TypedDict, total=False):
    name: str
    project: str
    dependencies: Iterable[str]
    groups: tuple[str, ...]
    extras: tuple[str, ...]


def read(
    text: str,
    target: PythonTarget = INTEL,
    **given: Unpack[_Given],
) -> LockedPackages | None:
    """Read a lock in `/w` for the project in a directory below it."""
    name = given.get("name", "uv.lock")
    user = LockUser(
        folder=given.get("project", "/w"),
        dependencies=tuple(given.get("dependencies", ())),
        target=target,
        optional=OptionalDependencies(given.get("groups", ()), given.get("extras", ())),
    )
    return read_lock(LockText(path=f"/w/{name}", name=name, text=text), user)


def versions(found: LockedPackages | None) -> dict[str, str]:
    assert found is not None
    return {pin.name: pin.version for pin in found.pins}
