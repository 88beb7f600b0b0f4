"""What each kind of task is made from, and which of it counts for its key.

A new kind is a class here, its row below, and a file of its own in `tasks`.
"""

from typing import ClassVar, TypeAlias

from msgspec import Struct

from fabric.model.catalog import OLDEST_GLIBC
from fabric.model.hashing import digest_fields
from fabric.model.task import EntryKind, InputEntry, Lane, Pairs, TaskInputs


def option_entries(inputs: Struct, *skip: str) -> tuple[InputEntry, ...]:
    """Every field of a frozen inputs class as an option entry, so that none is forgotten."""
    left_out = frozenset(skip)
    names = [name for name in inputs.__struct_fields__ if name not in left_out]
    return tuple(InputEntry(EntryKind.OPTION, name, _text(getattr(inputs, name))) for name in names)


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def output_folder(root: str, service: str, apart: str = "") -> str:
    """Where people find what was built for a service, and for which target of several."""
    prefix = "" if root in ("", ".") else f"{root}/"
    return f"{prefix}.fabric/build/{service}{'@' if apart else ''}{apart}"


class VendorInputs(Struct, frozen=True):
    """Third-party packages of one lock file, for one platform and interpreter version.

    `root` is the folder of that file; `without` are packages it names that the provider brings;
    `glibc` is the minor version of glibc 2 on the platform.
    """

    kind: ClassVar[str] = "vendor"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    root: str
    source: str
    python: str
    platform: str
    without: tuple[str, ...] = ()
    glibc: int = OLDEST_GLIBC

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        """`source` is the text of the lock: its digest is enough to tell that it changed."""
        lock = InputEntry(EntryKind.OPTION, "requirements", digest_fields((self.source,)))
        return (lock, *option_entries(self, "service", "root", "source", "without"))


_NAMES = ("service", "function", "root", "apart", "is_wanted", "is_portable")
_ASKED_FOR = (
    "external", "provided", "architecture", "format", "target", "define", "loader", "tsconfig",
    "keep_names", "banner", "handlers", "methods",
)  # fmt: skip


class BuildInputs(Struct, frozen=True):
    """One function's source: where it is and how it is to be built.

    `external` to `banner` are what the bundler is told besides, `provided` the packages that the
    provider's runtime brings; `architecture` counts where packages come along as they are.
    With `is_last` no archive follows, and the build itself reports unknown imports. `brought` are
    the modules of the provider's runtime; None if packages, layers or a command bring unknown ones.
    Neither changes the files of a build.
    `handlers` are the exports that count after `handler` where the entry names none; an object is
    a handler where it has one of `methods`. With `apart` it is shown beside those for other
    targets. Where it is not wanted for itself, only for what needs it, a folder that is not there
    is not made for what is merely remembered. A command that is portable gives the same wherever
    the files of the workspace are.
    """

    kind: ClassVar[str] = "build"
    owns_folder: ClassVar[bool] = True

    service: str
    function: str
    root: str
    entry: str
    runtime: str
    minify: bool = False
    sourcemap: bool = False
    include: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Pairs = ()
    external: tuple[str, ...] = ()
    provided: tuple[str, ...] = ()
    architecture: str = ""
    format: str = ""
    target: str = ""
    define: Pairs = ()
    loader: Pairs = ()
    tsconfig: str = ""
    keep_names: bool = False
    banner: str = ""
    is_last: bool = False
    brought: tuple[str, ...] | None = None
    handlers: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    apart: str = ""
    is_wanted: bool = True
    is_portable: bool = False

    @property
    def lane(self) -> Lane:
        """Bundling happens in one warm child for all functions: here it is waiting."""
        bundled = self.runtime.startswith("nodejs") and not self.command
        return Lane.IO if bundled else Lane.CPU

    @property
    def shown_in(self) -> str:
        return f"{output_folder(self.root, self.service, self.apart)}/{self.function}"

    def entries(self) -> tuple[InputEntry, ...]:
        env = tuple(
            InputEntry(EntryKind.ENV, name, digest_fields((value,))) for name, value in self.env
        )
        # What nobody asked for is no input: functions that were live before an option came stay so.
        unasked = (name for name in _ASKED_FOR if not getattr(self, name))
        return (
            *option_entries(self, *_NAMES, "env", "is_last", "brought", *unasked),
            *env,
        )


class PackageInputs(Struct, frozen=True):
    """The archive of one function: its build, and the packages vendored for it.

    `brought` are the modules that the provider's runtime has; None where layers bring some that
    nobody here can look into.
    """

    kind: ClassVar[str] = "package"
    lane: ClassVar[Lane] = Lane.CPU
    owns_folder: ClassVar[bool] = False

    service: str
    function: str
    root: str
    brought: tuple[str, ...] | None = None
    apart: str = ""

    @property
    def shown_in(self) -> str:
        return output_folder(self.root, self.service, self.apart)

    def entries(self) -> tuple[InputEntry, ...]:
        """Its parts say it all: what is brought decides what is told, not what is packed."""
        return ()


# One function of a deploy: its name, its settings, and its environment as digests.
Spec: TypeAlias = tuple[str, Pairs, Pairs]


class DeployInputs(Struct, frozen=True):
    """What one deploy replaces at a provider: a function, or a whole service (no `function`).

    `place` says which account it is, at which address; it is in the key of every function.
    `others` are functions that the config names and this deploy leaves as they are; `outside` are
    releases that it stands on and that are no tasks of this run.
    """

    kind: ClassVar[str] = "deploy"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    function: str
    provider: str
    stage: str
    mode: str
    place: Pairs
    functions: tuple[Spec, ...]
    others: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return tuple(
            entry for spec in self.functions for entry in self.entries_of(spec, inside=True)
        )

    def entries_of(self, spec: Spec, *, inside: bool = False) -> tuple[InputEntry, ...]:
        """The inputs of one function; `inside` a unit of many they carry its name."""
        name, settings, env = spec
        prefix = f"{name}." if inside and not self.function else ""
        shared = (("mode", self.mode), ("provider", self.provider), ("stage", self.stage))
        options = (*shared, *self.place, *settings)
        return (
            *(InputEntry(EntryKind.OPTION, prefix + option, value) for option, value in options),
            *(InputEntry(EntryKind.ENV, prefix + variable, value) for variable, value in env),
        )


class ReleaseInputs(Struct, frozen=True):
    """What a service has as a whole at a provider, after its functions are there.

    `functions` are all that the config names, also when just some of them are deployed.
    """

    kind: ClassVar[str] = "release"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    provider: str
    stage: str
    mode: str
    place: Pairs
    functions: tuple[str, ...]
    outside: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        shared = (("mode", self.mode), ("provider", self.provider), ("stage", self.stage))
        return tuple(InputEntry(EntryKind.OPTION, *pair) for pair in (*shared, *self.place))


class RemoveInputs(Struct, frozen=True):
    """A function that is no longer wanted at a provider, or a whole service (no `function`)."""

    kind: ClassVar[str] = "remove"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    function: str
    provider: str
    stage: str
    mode: str

    def entries(self) -> tuple[InputEntry, ...]:
        return option_entries(self, "service", "function")


class RestoreInputs(Struct, frozen=True):
    """Functions that go back to what they were in an earlier deployment, from kept archives.

    Without functions it is the service as a whole that goes back, after its functions did.
    """

    kind: ClassVar[str] = "restore"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    function: str
    provider: str
    stage: str
    mode: str
    deployment: str
    functions: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return option_entries(self, "service", "function")


class DnsSyncInputs(Struct, frozen=True):
    """A router's name that is led to what was released. `router` is the digest of all that the
    config says of it; where the endpoints are is known from records."""

    kind: ClassVar[str] = "dns-sync"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    provider: str
    stage: str
    router: str

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        return option_entries(self, "service")


class ProbeInputs(Struct, frozen=True):
    """One look at the surroundings of a service; what it finds holds for this moment only."""

    kind: ClassVar[str] = "probe"
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False

    service: str
    provider: str
    stage: str
    check: str

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        return option_entries(self, "service")


# Tasks that change more than files on this machine.
RECORD_KINDS = frozenset(
    cls.kind for cls in (DeployInputs, ReleaseInputs, RemoveInputs, RestoreInputs)
)
INPUTS_BY_KIND: dict[str, type[TaskInputs]] = {
    cls.kind: cls
    for cls in (
        VendorInputs,
        BuildInputs,
        PackageInputs,
        DeployInputs,
        ReleaseInputs,
        RemoveInputs,
        RestoreInputs,
        DnsSyncInputs,
        ProbeInputs,
    )
}
