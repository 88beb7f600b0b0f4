"""Build functions in TypeScript and JavaScript: bundled, or unchanged if no bundler is
available."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import Built, Toolchain
from fabric.runtimes.entry import NODE_EXTENSIONS, EntryFile, locate, refuse_not_utf8
from fabric.runtimes.nodejs import closure, external, formats, optional_packages, options
from fabric.runtimes.nodejs.bundler import Bundler, read_modules, select_bundled
from fabric.runtimes.nodejs.decorators import find_decorators
from fabric.runtimes.nodejs.handler_exports import Bundle, refuse_missing
from fabric.runtimes.nodejs.lookups import look_ups
from fabric.runtimes.nodejs.refusals import refuse_unfit
from fabric.runtimes.nodejs.toolchain import (
    Tools,
    bundler_missing_error,
    find_bundler,
    find_node,
    find_tools,
    identify_toolchain,
    install_pinned,
)
from fabric.runtimes.nodejs.unbundled_files import find_bundle_problems, find_unpacked_files
from fabric.runtimes.recorded_inputs import merge, record_tried


class NodeRuntime:
    """The Node.js runtime. Thread-safe; one warm bundler for all builds. `folder` contains tools
    that fabric installs."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, install: bool = True
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._failure = None if install else bundler_missing_error("installation is disabled")
        self._bundler: Bundler | None = None
        self._pinned: Path | None = None
        self._tools: Tools | None = None
        self._lock = threading.Lock()
        # Each `stat` gives the interpreter's lock away; threads that take turns at it cost double.
        self._looking = threading.Lock()

    def toolchain(self, workspace: Path, root: str) -> Toolchain:
        tools = self._find_tools_once()
        installable = tools.installable and self._failure is None
        return identify_toolchain(workspace, root, replace(tools, installable=installable))

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        entry = locate(workspace, inputs, NODE_EXTENSIONS)
        refuse_not_utf8(inputs, [entry.path])
        refuse_unfit(entry, inputs)
        found = find_bundler(entry.root)
        try:
            folder = found.folder or self._install_once()
            bundler = self._get_bundler()
        except FabricError as error:
            return closure.build(entry, error)
        ask = partial(_bundle_entry, partial(bundler.ask, folder), entry, inputs)
        wanted = formats.format_of(entry, inputs)
        answer = ask(wanted)
        if other := formats.find_required_format(entry, inputs, answer):
            wanted = other
            answer = ask(wanted)
        with self._looking:
            built = _build_result(entry, inputs, answer, wanted)
        return replace(built, toolchain=found.identity(installable=True))

    def close(self) -> None:
        with self._lock:
            bundler, self._bundler = self._bundler, None
        if bundler is not None:
            bundler.close()

    def _find_tools_once(self) -> Tools:
        with self._lock:
            if self._tools is None:
                self._tools = find_tools(self._folder, self._environment)
            return self._tools

    def _get_bundler(self) -> Bundler:
        with self._lock:
            if self._bundler is None or self._bundler.is_dead:
                self._bundler = Bundler(find_node(self._environment), self._environment)
            return self._bundler

    def _install_once(self) -> Path:
        """Install the bundler at most once per run; a failure is remembered and not repeated for
        each function."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._pinned is None:
                try:
                    self._pinned = install_pinned(self._folder, self._environment)
                except FabricError as error:
                    self._failure = error
                    raise
            return self._pinned


def _bundle_entry(
    ask: Callable[[dict[str, Json]], dict[str, Any]],
    entry: EntryFile,
    inputs: BuildInputs,
    wanted: str,
) -> Mapping[str, Any]:
    """Bundle an entry without optional packages that are not installed."""
    answer = ask(options.bundle_options(entry, inputs, wanted))
    while missing := optional_packages.find_missing_optionals(entry, answer) - {*inputs.external}:
        inputs = replace(inputs, external=(*inputs.external, *sorted(missing)))
        answer = ask(options.bundle_options(entry, inputs, wanted))
    return answer


def _build_result(
    entry: EntryFile, inputs: BuildInputs, answer: Mapping[str, Any], wanted: str
) -> Built:
    if not answer["ok"]:
        raise options.build_failed(entry, inputs, answer)
    files = options.read_files(entry.root, answer)
    modules = read_modules(entry.root, answer["inputs"])
    code = next(file for file in files if file.path == formats.build_output_path(entry, wanted))
    bundle = Bundle(code, tuple(answer["exports"]))
    refuse_missing(entry, formats.build_wanted_export(entry, inputs), bundle, modules)
    packed = external.pack(entry, inputs, select_bundled(modules, answer["outside"]))
    compiler = find_decorators(entry, inputs)
    looked_at = compiler.tried if compiler else ()
    manifest = options.build_module_manifest(entry) if wanted == formats.CJS else ()
    return Built(
        (*files, *manifest, *packed.files),
        merge(
            look_ups(entry, (*modules, *packed.modules), inputs.tsconfig),
            packed.seen,
            record_tried(entry.workspace, looked_at, entry.probe),
        ),
        (
            *options.read_warnings(entry, answer),
            *packed.warnings,
            *find_bundle_problems(inputs, modules, code.content),
            *find_unpacked_files(entry, inputs, modules),
        ),
        handler=formats.format_handler(entry, inputs, wanted, answer["exports"]),
    )
