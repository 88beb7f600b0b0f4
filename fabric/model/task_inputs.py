"""The inputs of each task kind, and which of them affect its key.

A new kind needs a class here, a row below, and a file in `tasks`.
"""

import re
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct

from fabric.model.catalog import OLDEST_GLIBC
from fabric.model.hashing import hash_fields
from fabric.model.task import EntryKind, InputEntry, Lane, Pairs, TaskInputs
from fabric.model.task_id import is_kind, name_of, passes_output


def list_option_entries(inputs: Struct, *skip: str) -> tuple[InputEntry, ...]:
    """List every field of a frozen inputs class as an option entry, so that none is forgotten."""
    left_out = frozenset(skip)
    names = [name for name in inputs.__struct_fields__ if name not in left_out]
    return tuple(
        InputEntry(EntryKind.OPTION, name, _encode_option(getattr(inputs, name))) for name in names
    )


def _encode_option(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def build_output_folder(root: str, service: str, apart: str = "", what: str = "build") -> str:
    """Build the output directory of a service, for one of several targets."""
    prefix = "" if root in ("", ".") else f"{root}/"
    return f"{prefix}.fabric/{what}/{service}{'@' if apart else ''}{apart}"


def _encode_pairs(pairs: Pairs) -> tuple[InputEntry, ...]:
    return tuple(InputEntry(EntryKind.OPTION, *pair) for pair in pairs)


def _list_target_pairs(inputs: Struct) -> Pairs:
    """List the fields that select the target of a change."""
    return tuple((name, getattr(inputs, name)) for name in ("mode", "provider", "stage"))


_PACKAGE_LINE = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*"
    r"(?:===?\s*(?P<version>[^\s;*]+)|@\s*git\+\S+@(?P<commit>[0-9a-f]{7})[0-9a-f]{33})(?!\S)"
)


def list_package_entries(requirements: str) -> tuple[InputEntry, ...]:
    """List each package of a lock with its version and the hash of its lines, and the other lines
    as one entry. The lines are hashed because a URL can contain a login."""
    rest: list[str] = []
    lines: dict[str, list[str]] = {}
    versions: dict[str, str] = {}
    for line in requirements.splitlines():
        found = _PACKAGE_LINE.match(line)
        if found is None:
            rest.append(line)
            continue
        lines.setdefault(found["name"], []).append(line)
        versions.setdefault(found["name"], found["version"] or found["commit"])
    packages = (
        InputEntry(EntryKind.PACKAGE, name, f"{versions[name]} {hash_fields(texts)}")
        for name, texts in lines.items()
    )
    return (*packages, InputEntry(EntryKind.OPTION, "requirements", hash_fields(rest)))


class _Inputs(Struct, frozen=True):
    """The defaults of a kind: limited by I/O, without a visible output, for a whole service."""

    kind: ClassVar[str]
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False

    @property
    def lane(self) -> Lane:
        return Lane.IO

    @property
    def shown_in(self) -> str:
        return ""

    @property
    def function(self) -> str:
        return ""


class _CpuInputs(_Inputs, frozen=True):
    """The defaults of a kind that is limited by the processors."""

    @property
    def lane(self) -> Lane:
        return Lane.CPU


class WheelInputs(_Inputs, frozen=True):
    """One wheel of a lock, for one platform and interpreter version.

    The lock does not affect its key. The indexes do only if several hashes are allowed, because one
    hash identifies the bytes. Indexes in files of pip (`pip.conf`) are not read for the key.
    """

    kind = "wheel"

    name: str
    version: str
    # The SHA-256 hashes of the files that the lock allows. The index selects one of several.
    hashes: tuple[str, ...]
    python: str
    platform: str
    glibc: int
    # Empty if several services share it.
    service: str = ""
    # The first vendor task that needs it: its missing wheels are downloaded together.
    batch: str = ""
    # The lock file's directory of that task, for the indexes that the requirements name.
    root: str = "."
    # The hash of the index options and variables, without user names and passwords. Empty with one
    # allowed hash.
    indexes: str = ""

    def entries(self) -> tuple[InputEntry, ...]:
        unused = () if self.indexes else ("indexes",)
        return list_option_entries(self, "service", "batch", "root", *unused)


class GitWheelInputs(_CpuInputs, frozen=True):
    """A wheel that is built from a commit of a repository. Every target uses the same one."""

    kind = "git-wheel"

    name: str
    # Without login.
    url: str
    commit: str
    subdirectory: str = ""
    # Empty if several services share it.
    service: str = ""
    # The files that list it, relative to the workspace. They can contain the login of its URL, and
    # the indexes of build dependencies.
    files: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service", "files")


class VendorInputs(_Inputs, frozen=True):
    """Third-party packages of one lock file, for one platform and interpreter version."""

    kind = "vendor"

    service: str
    # The lock file's directory.
    root: str
    source: str
    python: str
    platform: str
    # Packages that the provider's runtime has.
    without: tuple[str, ...] = ()
    # The platform's minor version of glibc 2.
    glibc: int = OLDEST_GLIBC
    # Packages in the checkout: name and directory. Their files are recorded inputs.
    folders: Pairs = ()
    # The lines of `source` that select packages for this target; empty for all of it.
    selected: str = ""
    # Groups and extras of the project that count beside its main dependencies: kind and name.
    optional: Pairs = ()

    def entries(self) -> tuple[InputEntry, ...]:
        unused = ("service", "root", "source", "selected", "without", "optional")
        more = () if self.folders else ("folders",)
        whole = InputEntry(EntryKind.OPTION, "requirements", hash_fields((self.source,)))
        lock = list_package_entries(self.selected) if self.selected else (whole,)
        return (*lock, *list_option_entries(self, *unused, *more))


class BeforeInputs(_CpuInputs, frozen=True):
    """A command of the config whose result is cached: `build.before`, and hooks of builds and
    packages. Its outputs are files of the service directory."""

    kind = "before"
    shares_folder = True

    service: str
    name: str
    root: str
    event: str
    command: tuple[str, ...]
    # Globs of the service directory; without inputs all its files count.
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    # Ignore rules: of the config, and for outputs of this and other steps.
    ignore: tuple[str, ...] = ()
    # Empty unless the command names it.
    stage: str = ""
    timeout: int = 600
    # Of each input in the config: file, line and column.
    places: tuple[tuple[str, int, int], ...] = ()
    # Of the command in the config.
    place: tuple[str, int, int] = ("", 0, 0)

    @property
    def shown_in(self) -> str:
        return self.root or "."

    def entries(self) -> tuple[InputEntry, ...]:
        unasked = () if self.stage else ("stage",)
        return list_option_entries(self, *_NOT_OF_STEPS, *unasked)


_NOT_OF_STEPS = ("name", "root", "event", "timeout", "places", "place")
# A task of a hook: its id, its needs and the values of its inputs.
HookedTask: TypeAlias = tuple[str, tuple[str, ...], tuple[Any, ...]]


_NOT_OF_HOOKS = ("service", "name", "root", "hooked", "timeout", "place")


class HookInputs(_Inputs, frozen=True):
    """A command that runs whenever one of the `hooked` tasks of its service runs."""

    kind = "hook"

    service: str
    name: str
    root: str
    event: str
    command: tuple[str, ...]
    provider: str
    stage: str
    mode: str
    timeout: int = 600
    simulated: bool = False
    hooked: tuple[HookedTask, ...] = ()
    # Of the command in the config: file, line and column.
    place: tuple[str, int, int] = ("", 0, 0)

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, *_NOT_OF_HOOKS)


_NAMES = (
    "service", "function", "root", "apart", "is_wanted", "is_portable", "is_after_steps",
    "place",
)  # fmt: skip
_ASKED_FOR = (
    "external", "provided", "architecture", "format", "target", "define", "loader", "tsconfig",
    "keep_names", "banner", "handlers", "methods", "preset", "inputs", "depfile", "outputs",
    "caches", "tools", "layered",
)  # fmt: skip


class BuildInputs(_Inputs, frozen=True):
    """One function's source and build settings.

    `external` to `banner` are bundler settings.

    With `is_last` no archive follows, and the build reports unknown imports. Neither changes the
    built files.

    `handlers` are fallback exports; an object is a handler if it has one of `methods`. With `apart`
    the output is beside that of other targets. An output directory that was not requested is not
    created for a cached result. A portable command gives the same result anywhere.
    """

    kind = "build"
    owns_folder = True

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
    # The runtime's packages.
    provided: tuple[str, ...] = ()
    # Counts only for unbundled packages.
    architecture: str = ""
    format: str = ""
    target: str = ""
    define: Pairs = ()
    loader: Pairs = ()
    tsconfig: str = ""
    keep_names: bool = False
    banner: str = ""
    is_last: bool = False
    # The runtime's modules; None if unknown.
    brought: tuple[str, ...] | None = None
    handlers: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    apart: str = ""
    is_wanted: bool = True
    is_portable: bool = False
    # Steps of the service write files that it may read.
    is_after_steps: bool = False
    # The packages of its layers, which are external and not packed.
    layered: tuple[str, ...] = ()
    # The preset of the command. Its defaults are in the fields below.
    preset: str = ""
    # Globs of files that the command reads. With `depfile` they count in addition to its list.
    inputs: tuple[str, ...] = ()
    depfile: bool = False
    # Globs of files that it must write.
    outputs: tuple[str, ...] = ()
    # Maps variables to the names of kept directories.
    caches: Pairs = ()
    # Commands whose output is part of the key.
    tools: tuple[tuple[str, ...], ...] = ()
    # Of the command in the config: file, line and column.
    place: tuple[str, int, int] = ("", 0, 0)

    @property
    def lane(self) -> Lane:
        """Bundling happens in one warm child for all functions: here it is waiting."""
        bundled = self.runtime.startswith("nodejs") and not self.command
        return Lane.IO if bundled else Lane.CPU

    @property
    def shown_in(self) -> str:
        return f"{build_output_folder(self.root, self.service, self.apart)}/{self.function}"

    def entries(self) -> tuple[InputEntry, ...]:
        env = tuple(
            InputEntry(EntryKind.ENV, name, hash_fields((value,))) for name, value in self.env
        )
        # What nobody asked for is no input: functions that were live before an option came stay so.
        unasked = (name for name in _ASKED_FOR if not getattr(self, name))
        return (
            *list_option_entries(self, *_NAMES, "env", "is_last", "brought", *unasked),
            *env,
        )


class PackageInputs(_CpuInputs, frozen=True):
    """The archive of one function: its build and vendored packages."""

    kind = "package"

    service: str
    function: str
    root: str
    # The modules of the provider's runtime; None if layers add unknown ones.
    brought: tuple[str, ...] | None = None
    apart: str = ""

    @property
    def shown_in(self) -> str:
        return build_output_folder(self.root, self.service, self.apart)

    def entries(self) -> tuple[InputEntry, ...]:
        """Return the entries: only the parts count. `brought` affects warnings, not the archive."""
        return ()


class StoredArchiveInputs(_Inputs, frozen=True):
    """The archive of a function that another stage has deployed, in place of its package."""

    kind = "stored-archive"

    service: str
    function: str
    # The record that stores it.
    stage: str
    provider: str
    sha256: str
    # The hash of its files, which keys of deploys contain.
    content: str
    handler: str

    def entries(self) -> tuple[InputEntry, ...]:
        return (InputEntry(EntryKind.OPTION, "archive", self.sha256),)


class CheckInputs(_CpuInputs, frozen=True):
    """A call of a packaged function on this machine, with the expected response."""

    kind = "check"

    service: str
    function: str
    name: str
    provider: str
    stage: str
    # The directory of the service.
    root: str
    # Canonical JSON, or a file of the directory.
    event: str
    file: str
    expect: str
    # Of the function, as in deploys: without secrets and values that are known later.
    settings: Pairs
    env: Pairs

    def entries(self) -> tuple[InputEntry, ...]:
        return (
            *list_option_entries(self, "name", "root", "settings", "env"),
            *(InputEntry(EntryKind.OPTION, name, text) for name, text in self.settings),
            *(InputEntry(EntryKind.ENV, name, text) for name, text in self.env),
        )


class LayerArchiveInputs(_CpuInputs, frozen=True):
    """The archive of a layer of the project, from exactly one of `packages`, `path` and
    `command`."""

    kind = "layer-archive"

    service: str
    name: str
    root: str
    provider: str
    packages: tuple[str, ...] = ()
    path: str = ""
    command: tuple[str, ...] = ()
    # Globs of the service directory that the command reads; without inputs all files count.
    inputs: tuple[str, ...] = ()
    # Globs of the written files; without outputs all belong to the layer.
    outputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: int = 600
    # The target of the packages.
    runtime: str = ""
    architecture: str = ""
    # The values of the vendor inputs, if the lock has no wheel tasks.
    lock: tuple[Any, ...] = ()
    # Of the layer in the config: file, line and column.
    place: tuple[str, int, int] = ("", 0, 0)

    @property
    def shown_in(self) -> str:
        return build_output_folder(self.root, self.service, self.provider, "layers")

    def entries(self) -> tuple[InputEntry, ...]:
        rows = VendorInputs(*self.lock).entries() if self.lock else ()
        skipped = ("service", "name", "provider", "lock", "place", "timeout")
        return (*list_option_entries(self, *skipped), *rows)


class LayerInputs(_Inputs, frozen=True):
    """A layer of the project at a provider. Each change publishes a version."""

    kind = "layer"

    service: str
    name: str
    provider: str
    stage: str
    mode: str
    place: Pairs
    # Description, license, runtimes and architectures.
    settings: Pairs = ()
    # Affects no version, but which versions are deleted.
    retain: bool = False

    def entries(self) -> tuple[InputEntry, ...]:
        name = ("name", self.name)
        return _encode_pairs((name, *_list_target_pairs(self), *self.place, *self.settings))


class StackInputs(_Inputs, frozen=True):
    """A CloudFormation stack of a service. With `is_removed` it is to be deleted."""

    kind = "stack"

    service: str
    phase: str
    provider: str
    stage: str
    mode: str
    place: Pairs = ()
    # The template, the parameters and the tags as hashes.
    settings: Pairs = ()
    parameters: Pairs = ()
    # Affects no resources, only the protection and the removal of the stack.
    policy: Pairs = ()
    is_removed: bool = False
    # Tasks whose outputs the parameters can contain.
    uses: tuple[str, ...] = ()
    # Hashes of the single tags, for reasons.
    tags: Pairs = ()
    # The deployment to return to, and the logical ids of resources that it did not have.
    restores: str = ""
    disposable: tuple[str, ...] = ()
    # Whether the parameters use the API of the service, which its release creates.
    uses_api: bool = False

    def entries(self) -> tuple[InputEntry, ...]:
        phase = ("phase", self.phase)
        return (
            *_encode_pairs((phase, *_list_target_pairs(self), *self.place, *self.settings)),
            *(InputEntry(EntryKind.ENV, *pair) for pair in self.parameters),
        )


class WorkflowInputs(_Inputs, frozen=True):
    """A state machine of a service. With `is_removed` it is to be deleted."""

    kind = "workflow"

    service: str
    name: str
    provider: str
    stage: str
    mode: str
    place: Pairs = ()
    # The definition and the triggers as hashes.
    settings: Pairs = ()
    is_removed: bool = False

    def entries(self) -> tuple[InputEntry, ...]:
        name = ("name", self.name)
        return _encode_pairs((name, *_list_target_pairs(self), *self.place, *self.settings))


class ImageLayersInputs(_CpuInputs, frozen=True):
    """The layers of vendored packages for images. Only the packages affect them."""

    kind = "image-layers"

    service: str

    def entries(self) -> tuple[InputEntry, ...]:
        return ()


_NOT_OF_IMAGES = ("service", "function", "root", "base", "apart", "place")


class ImageInputs(_CpuInputs, frozen=True):
    """The image of one function: base, packages and build, as an OCI layout without the layers of
    the base."""

    kind = "image"
    owns_folder = True

    service: str
    function: str
    root: str
    # As in the config. Its digest belongs to the code entries.
    base: str
    runtime: str
    architecture: str = ""
    # The provider starts the entrypoint of the image.
    is_entrypoint_needed: bool = False
    apart: str = ""
    # Of the base image in the config: file, line and column.
    place: tuple[str, int, int] = ("", 0, 0)
    # The mode of deploys if the base is an existing image, to which nothing is added.
    existing: str = ""

    @property
    def is_existing(self) -> bool:
        return bool(self.existing)

    @property
    def shown_in(self) -> str:
        folder = build_output_folder(self.root, self.service, self.apart)
        return "" if self.is_existing else f"{folder}/{self.function}.oci"

    def entries(self) -> tuple[InputEntry, ...]:
        options = list_option_entries(self, *_NOT_OF_IMAGES, "existing")
        is_existing = InputEntry(EntryKind.OPTION, "is_existing", "True")
        return (*options, is_existing) if self.is_existing else options


# One function of a deploy: its name, its settings, and its environment as digests.
Spec: TypeAlias = tuple[str, Pairs, Pairs]


class DeployInputs(_Inputs, frozen=True):
    """The unit of one deploy: a function, or a whole service without `function`."""

    kind = "deploy"

    service: str
    function: str
    provider: str
    stage: str
    mode: str
    # The account and API address, part of every function's key.
    place: Pairs
    functions: tuple[Spec, ...]
    # Config functions that this deploy leaves unchanged.
    others: tuple[str, ...] = ()
    # Needed releases of other runs.
    outside: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return tuple(
            entry for spec in self.functions for entry in self.entries_of(spec, inside=True)
        )

    def entries_of(self, spec: Spec, *, inside: bool = False) -> tuple[InputEntry, ...]:
        """Return the inputs of one function, with its name if `inside` a larger unit."""
        name, settings, env = spec
        prefix = f"{name}." if inside and not self.function else ""
        options = (*_list_target_pairs(self), *self.place, *settings)
        return (
            *(InputEntry(EntryKind.OPTION, prefix + option, value) for option, value in options),
            *(InputEntry(EntryKind.ENV, prefix + variable, value) for variable, value in env),
        )


class ReleaseInputs(_Inputs, frozen=True):
    """The service-wide resources at a provider, after its functions are deployed."""

    kind = "release"

    service: str
    provider: str
    stage: str
    mode: str
    place: Pairs
    # All functions of the config, even if only some are deployed.
    functions: tuple[str, ...]
    outside: tuple[str, ...] = ()
    # All state machines of the config.
    workflows: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return _encode_pairs((*_list_target_pairs(self), *self.place))


class RemoveInputs(_Inputs, frozen=True):
    """A function to delete, or a whole service without `function`."""

    kind = "remove"

    service: str
    function: str
    provider: str
    stage: str
    mode: str

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service", "function")


class RestoreInputs(_Inputs, frozen=True):
    """Functions to restore from an earlier deployment's archives.

    Without functions it is the service-wide release after them.
    """

    kind = "restore"

    service: str
    function: str
    provider: str
    stage: str
    mode: str
    deployment: str
    functions: tuple[str, ...] = ()

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service", "function")


class DnsSyncInputs(_Inputs, frozen=True):
    """A router's hostname to point to released endpoints.

    Records contain the endpoints.
    """

    kind = "dns-sync"

    service: str
    provider: str
    stage: str
    # The hash of its config.
    router: str

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service")


class ProbeInputs(_Inputs, frozen=True):
    """One environment check of a service. Its result is valid only at that time."""

    kind = "probe"

    service: str
    provider: str
    stage: str
    check: str

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service")


def uses_output(need: str, inputs: TaskInputs) -> bool:
    """Return whether a task uses the output of a need, or only waits for it. Deploys wait for the
    stack of their service also without a binding to it."""
    if isinstance(inputs, DeployInputs) and is_kind(need, "stack"):
        is_own = name_of(need).service == inputs.service
        settings = (name for _, settings, _ in inputs.functions for name, _ in settings)
        return not is_own or "stack" in settings
    return passes_output(need, inputs.kind, _list_used_needs(inputs))


def _list_used_needs(inputs: TaskInputs) -> tuple[str, ...]:
    return inputs.uses if isinstance(inputs, StackInputs) else ()


def is_late_hook(inputs: TaskInputs) -> bool:
    """Return whether it is a hook after a deploy, whose failure stops nothing else."""
    return isinstance(inputs, HookInputs) and inputs.event.startswith("after")


# Tasks that change more than files on this machine.
RECORD_KINDS = frozenset(
    cls.kind
    for cls in (
        *(LayerInputs, StackInputs, DeployInputs, WorkflowInputs),
        *(ReleaseInputs, RemoveInputs, RestoreInputs),
    )
)
INPUTS_BY_KIND: dict[str, type[TaskInputs]] = {
    cls.kind: cls
    for cls in (
        WheelInputs,
        GitWheelInputs,
        VendorInputs,
        BeforeInputs,
        BuildInputs,
        PackageInputs,
        StoredArchiveInputs,
        CheckInputs,
        ImageLayersInputs,
        ImageInputs,
        HookInputs,
        LayerArchiveInputs,
        LayerInputs,
        StackInputs,
        DeployInputs,
        WorkflowInputs,
        ReleaseInputs,
        RemoveInputs,
        RestoreInputs,
        DnsSyncInputs,
        ProbeInputs,
    )
}
