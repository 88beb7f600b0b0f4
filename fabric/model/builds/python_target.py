"""The platform that packages are chosen for: its markers, its wheel tags, and the flags of pip."""

from msgspec import Struct

from fabric.model.catalog import OLDEST_GLIBC
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs

_MACHINES = {"arm64": "aarch64", "aarch64": "aarch64", "x86_64": "x86_64", "": "x86_64"}
# Further names for systems of 2014 and before: pip takes a platform tag literally.
_OLD_SYSTEMS = ("manylinux2014", "manylinux2010", "manylinux1", "manylinux_2_12", "manylinux_2_5")


class OptionalDependencies(Struct, frozen=True):
    """Names of dependency groups and extras of a project: dependencies beside its main ones."""

    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    @property
    def pairs(self) -> Pairs:
        """The names with their kind, sorted."""
        extras = {("extra", name) for name in self.extras}
        return tuple(sorted(extras | {("group", name) for name in self.groups}))

    @classmethod
    def of(cls, pairs: Pairs) -> "OptionalDependencies":
        names = {kind: tuple(name for one, name in pairs if one == kind) for kind, _ in pairs}
        return cls(names.get("group", ()), names.get("extra", ()))


MAIN_ONLY = OptionalDependencies()


class PythonTarget(Struct, frozen=True):
    """The target platform of packages, never the local machine."""

    python: str
    architecture: str
    glibc: int = OLDEST_GLIBC

    @property
    def title(self) -> str:
        """The target as lock files name it."""
        return f"{self.python}-{self.machine}-glibc2.{self.glibc}"

    @property
    def machine(self) -> str:
        """The architecture as Python names it."""
        machine = _MACHINES.get(self.architecture)
        if machine is None:
            raise FabricError(
                Problem(
                    "vendor/unknown-platform",
                    f"unsupported architecture for Python packages: `{self.architecture}`",
                    hint="use x86_64 or arm64",
                )
            )
        return machine

    @property
    def full_python(self) -> str:
        """The version with its last part. A missing one is 0, as for `--python-version`."""
        return self.python if self.python.count(".") > 1 else f"{self.python}.0"

    def markers(self) -> dict[str, str]:
        """Return the environment marker values of the target; the system release is unknown."""
        full = self.full_python
        return {
            "implementation_name": "cpython",
            "implementation_version": full,
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "0",
            "platform_system": "Linux",
            "platform_version": "0",
            "python_full_version": full,
            "python_version": ".".join(full.split(".")[:2]),
            "sys_platform": "linux",
        }

    def flags(self) -> list[str]:
        return [
            "--only-binary=:all:",
            "--implementation=cp",
            f"--python-version={self.python}",
            *(flag for name in self.platforms for flag in ("--platform", name)),
        ]

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platform tags of its wheels, best first."""
        newer = (f"manylinux_2_{minor}" for minor in range(self.glibc, OLDEST_GLIBC - 1, -1))
        return tuple(f"{name}_{self.machine}" for name in (*newer, *_OLD_SYSTEMS))
