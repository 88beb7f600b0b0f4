"""Packages outside a bundle: packed from node_modules with all their production dependencies.

The archive has no links. Node must find each package from its importer. So it is placed at the top,
or below its parent if another version occupies the top.
"""

import collections
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import BuiltFile, InputTrace, Listing
from fabric.runtimes.entry import EntryFile, unreadable_file_error
from fabric.runtimes.globs import list_files
from fabric.runtimes.nodejs.bundler import Import, Module
from fabric.runtimes.nodejs.candidates import NODE_MODULES, is_own
from fabric.runtimes.nodejs.options import ALL_PACKAGES
from fabric.runtimes.nodejs.packages import find_manifest
from fabric.runtimes.nodejs.tsconfig import list_ancestors, package_name, read_jsonc
from fabric.runtimes.recorded_inputs import merge, place, record_tried
from fabric.system.files.disk import is_executable, read_bytes

# What Node has itself, where a package of that name may be installed too.
_BUILT_IN = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram "
    "diagnostics_channel dns domain events fs http http2 https inspector module net os path "
    "perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls "
    "trace_events tty url util v8 vm wasi worker_threads zlib".split()
)
# Packages that import code which they generate in `node_modules`, without a dependency on it.
_GENERATED = {"@prisma/client": ".prisma/client"}
_NO_PACKAGE = re.compile(r"[./#]|[a-z]+:")


class Packed(Struct, frozen=True):
    """Packed packages."""

    files: tuple[BuiltFile, ...] = ()
    # The manifests, with one import per dependency.
    modules: tuple[Module, ...] = ()
    # The recorded searches through packages of the project itself.
    seen: InputTrace = InputTrace()
    warnings: tuple[Problem, ...] = ()


class NativeTarget(Struct, frozen=True):
    """The architecture that native modules must fit, and whose it is, for messages."""

    title: str
    architecture: str = ""


class _Package(Struct, frozen=True):
    """A package to pack. `at` is its path in the archive, `manifest` its source."""

    at: str
    manifest: str
    # The package in the code that required it.
    asked: str

    @property
    def folder(self) -> str:
        return os.path.realpath(os.path.dirname(self.manifest))


def pack(entry: EntryFile, inputs: BuildInputs, modules: Iterable[Module]) -> Packed:
    """Pack the external packages that a bundle imports and the provider's runtime lacks."""
    wanted = dict.fromkeys(_find_external_imports(inputs, modules))
    found = {name: path for name, path in wanted if path}
    target = NativeTarget(f"function `{inputs.function}`", inputs.architecture)
    packed = pack_packages(entry, found, target)
    missing = (*_find_missing_externals(inputs, wanted), *packed.warnings)
    return replace(packed, warnings=missing)


def pack_packages(entry: EntryFile, found: Mapping[str, str], target: NativeTarget) -> Packed:
    """Pack packages with all their production dependencies. `found` maps names to manifests."""
    packages = _arrange_packages(found)
    if not packages:
        return Packed()
    parts = [(package, tuple(_read_package_files(entry, package))) for package in packages]
    _check_native_platforms(target, [(one.asked, files) for one, files in parts])
    return Packed(
        tuple(file for _, files in parts for file in files),
        tuple(Module(one.manifest, _list_dependencies(one)) for one in packages),
        merge(*(_record_search(entry, one.folder) for one in packages if is_own(one.folder))),
        tuple(_find_missing_dependencies(target.title, packages)),
    )


def _find_external_imports(
    inputs: BuildInputs, modules: Iterable[Module]
) -> Iterator[tuple[str, str]]:
    """Yield each external package with the manifest that Node would find, empty if there is
    none."""
    for module in modules:
        for item in module.imports:
            name = package_name(item.specifier)
            if item.path or _NO_PACKAGE.match(name) or name in _BUILT_IN:
                continue
            elsewhere = (*inputs.provided, *inputs.layered)
            if not any(_is_match(pattern, item.specifier) for pattern in elsewhere):
                yield name, find_manifest(os.path.dirname(module.path), name)


def _is_match(pattern: str, specifier: str) -> bool:
    before, star, after = pattern.partition("*")
    if not star:
        return specifier == pattern or specifier.startswith(f"{pattern}/")
    return specifier.startswith(before) and specifier.endswith(after)


def _find_missing_externals(
    inputs: BuildInputs, wanted: Iterable[tuple[str, str]]
) -> Iterator[Problem]:
    for name, manifest in wanted:
        if not manifest and any(_is_external(pattern, name) for pattern in inputs.external):
            yield Problem(
                "build/not-packed",
                f"function `{inputs.function}`: `{name}` is external and not installed, so the "
                "archive does not contain it",
                hint="install it, unless a layer provides it",
            )


def _is_external(pattern: str, name: str) -> bool:
    return pattern in ALL_PACKAGES or _is_match(pattern, name)


def _find_missing_dependencies(title: str, packages: Iterable[_Package]) -> Iterator[Problem]:
    """Find dependencies of packed packages that are not installed. Optional ones can be missing."""
    seen = set[str]()
    for one in packages:
        document = read_jsonc(one.manifest)
        needed, optional = (
            set(part) if isinstance(part := document.get(key), dict) else set[str]()
            for key in ("dependencies", "optionalDependencies")
        )
        for name in sorted(needed - optional - seen):
            if not find_manifest(one.folder, name):
                seen.add(name)
                yield Problem(
                    "build/not-packed",
                    f"{title}: the package `{document.get('name', one.asked)}` needs `{name}`, "
                    "which is not installed, so the archive does not contain it",
                    hint="run: npm install (or the command of your package manager)",
                )


def _arrange_packages(found: Mapping[str, str]) -> tuple[_Package, ...]:
    """Arrange parents before their dependencies: the first request for a package gets the place at
    the top."""
    placed: dict[str, _Package] = {}
    waiting = collections.deque(
        _Package(f"{NODE_MODULES}/{name}", manifest, name) for name, manifest in found.items()
    )
    placed.update((package.at, package) for package in waiting)
    while waiting:
        parent = waiting.popleft()
        for item in _list_dependencies(parent):
            at = _place_for(parent.at, item, placed) if item.path else ""
            if at:
                placed[at] = package = _Package(at, item.path, parent.asked)
                waiting.append(package)
    return tuple(placed[at] for at in sorted(placed))


def _place_for(parent: str, item: Import, placed: dict[str, _Package]) -> str:
    """Return the place where a parent finds its dependency; empty if it does already."""
    folder = os.path.realpath(os.path.dirname(item.path))
    for above in (parent, *_list_parents(parent), ""):
        at = f"{above}/{NODE_MODULES}/{item.specifier}".lstrip("/")
        if at in placed:
            is_it = placed[at].folder == folder
            return "" if is_it else f"{parent}/{NODE_MODULES}/{item.specifier}"
    return f"{NODE_MODULES}/{item.specifier}"


def _list_parents(at: str) -> Iterator[str]:
    """Yield the packages around a nested one, nearest first."""
    while f"/{NODE_MODULES}/" in at:
        at = at.rpartition(f"/{NODE_MODULES}/")[0]
        yield at


def _list_dependencies(package: _Package) -> tuple[Import, ...]:
    """List the runtime dependencies; a missing one has no path."""
    document = read_jsonc(package.manifest)
    optional = document.get("peerDependenciesMeta")
    names = {
        name
        for key in ("dependencies", "optionalDependencies", "peerDependencies")
        if isinstance(part := document.get(key), dict)
        for name in part
        if key != "peerDependencies" or not (isinstance(optional, dict) and name in optional)
    }
    found = tuple(Import(name, find_manifest(package.folder, name)) for name in sorted(names))
    generated = _GENERATED.get(document.get("name", ""))
    return (
        (*found, Import(generated, _find_generated_code(package, generated)))
        if generated
        else found
    )


def _find_generated_code(package: _Package, name: str) -> str:
    """Find code that a package generates beside itself, in a directory whose name packages cannot
    have."""
    for parent in list_ancestors(package.folder):
        path = os.path.join(parent, NODE_MODULES, name, "package.json")
        if os.path.isfile(path):
            return path
    return ""


def _record_search(entry: EntryFile, folder: str) -> InputTrace:
    """Record a package of the project itself, whose files change separately."""
    names = list_files(folder, "**")
    files = record_tried(
        entry.workspace, [os.path.join(folder, name) for name in names], entry.probe
    )
    return merge(
        files, InputTrace(listings=(Listing(place(entry.workspace, folder), "**", names),))
    )


def _read_package_files(entry: EntryFile, package: _Package) -> Iterator[BuiltFile]:
    """Yield a package's own files. Packages in its node_modules are separate packages."""
    folder = package.folder
    for name in list_files(folder, "**") if is_own(folder) else _list_all_below(folder):
        path = os.path.join(folder, name)
        _refuse_led_out(entry, folder, path)
        try:
            yield BuiltFile(f"{package.at}/{name}", read_bytes(path), is_executable(path))
        except OSError as error:
            raise unreadable_file_error(
                place(entry.workspace, path), str(error.strerror)
            ) from error


def _list_all_below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != NODE_MODULES)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(parent, name), folder)


def _refuse_led_out(entry: EntryFile, folder: str, path: str) -> None:
    real = os.path.realpath(path) if os.path.islink(path) else path
    if not real.startswith((f"{folder}/", f"{entry.workspace}/")):
        shown = place(entry.workspace, path)
        raise FabricError(
            Problem(
                "build/include-outside",
                f"refusing to package `{shown}` of an external package: it is a link to a path "
                "outside the project",
                hint="replace it with a copy",
                where=Place(shown),
            )
        )


_ELF = b"\x7fELF"
# The field `e_machine` of an ELF header, as npm and people call it.
_MACHINES = {62: "x64", 183: "arm64"}
_MAC = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")
_WINDOWS = b"MZ"
_TARGETS = {"": "x64", "x86_64": "x64", "arm64": "arm64"}


def _detect_platform(content: bytes) -> str:
    """Return the platform, such as `linux x64`; empty if unknown."""
    if content.startswith(_ELF):
        machine = int.from_bytes(content[18:20], "little")
        return f"linux {_MACHINES[machine]}" if machine in _MACHINES else "linux"
    if content.startswith(_MAC):
        return "macOS"
    return "Windows" if content.startswith(_WINDOWS) else ""


def _check_native_platforms(
    wanted: NativeTarget, parts: Iterable[tuple[str, Sequence[BuiltFile]]]
) -> None:
    """Raise for each imported package whose native modules all mismatch the target. `parts` pairs
    such a package with its files."""
    target = f"linux {_TARGETS.get(wanted.architecture, 'x64')}"
    native: dict[str, dict[str, str]] = {}
    for name, files in parts:
        made = {
            file.path: _detect_platform(file.content)
            for file in files
            if file.path.endswith(".node")
        }
        native.setdefault(name, {}).update(made)
    foreign = [
        _foreign_module_problem(wanted.title, name, target, made)
        for name, made in sorted(native.items())
        if made and not {target, ""}.intersection(made.values())
    ]
    if foreign:
        raise FabricError(*foreign)


def _foreign_module_problem(title: str, name: str, target: str, made: dict[str, str]) -> Problem:
    path, platform = min(made.items())
    system, processor = target.split()
    return Problem(
        "build/foreign-native",
        f"{title} runs on {target}, but `{path}` is built for {platform}",
        hint=f"run: npm install --os={system} --cpu={processor} --libc=glibc {shlex.quote(name)}",
    )
