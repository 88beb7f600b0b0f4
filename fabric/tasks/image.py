"""Build the image of one function: the layers of its packages, and one layer of its files."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec
from msgspec.structs import replace

from fabric.model.builds.image_names import parse_reference, require_reference
from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.problems import (
    ExitCode,
    FabricError,
    Place,
    Problem,
    exit_code_of,
    replace_problems,
)
from fabric.model.records.record import Mode
from fabric.model.task import EntryKind, InputEntry, Output, Task
from fabric.model.task_id import TaskId, is_kind, is_wheel
from fabric.model.task_inputs import ImageInputs, ImageLayersInputs
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.package_layers import group_packages, unpack_group
from fabric.system.registries.bases import BaseQuery, ResolvedBase
from fabric.system.registries.images import (
    BaseImage,
    Image,
    ImageStart,
    build_image,
    build_layout,
    has_entrypoint,
)
from fabric.system.registries.layers import LayerRow, write_layer
from fabric.tasks.contract import TaskResult, TaskTools, WrittenFile, require_inputs
from fabric.tasks.packed import has_packed, read_packed_output, read_packed_paths

_VERSION = "1"
# The registry was not reached, or there is no login for it.
_NOT_CALLED = (ExitCode.UNREACHABLE, ExitCode.NO_CREDENTIALS)
# The rows and paths of the layers, beside their bytes.
_LAYERS = ".layers.json"


class LayerRows(msgspec.Struct, frozen=True):
    """The layers of vendored packages, and the paths in them."""

    layers: tuple[LayerRow, ...]
    paths: tuple[str, ...]


class ImageLayersKind:
    def code(self, task: Task) -> tuple[InputEntry, ...]:
        del task
        return (InputEntry(EntryKind.CODE, "image-layers", _VERSION),)

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        require_inputs(task, ImageLayersInputs)
        [vendor] = [one for one in upstream if is_kind(one, "vendor")]
        files = tuple(read_packed_output(vendor, upstream[vendor], task_tools))
        groups = group_packages(files, _map_owners(upstream, task_tools))
        layers = [write_layer(unpack_group(group)) for group in groups]
        rows = LayerRows(
            tuple(one.row for one in layers),
            tuple(sorted(one.path for one in files)),
        )
        contents = {one.digest: one.content for one in layers}
        return TaskResult(
            digest=hash_fields(one.row.diff_id for one in layers),
            files=(
                WrittenFile(_LAYERS, msgspec.json.encode(rows)),
                *(WrittenFile(_blob_path(digest), content) for digest, content in contents.items()),
            ),
            facts=(("layers", str(len(layers))),),
        )


def _map_owners(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> Mapping[str, str]:
    """Map paths to the names of wheels, as far as each wheel is a task."""
    return {
        path: wheel.partition(":")[2].rsplit("-", 2)[0]
        for wheel, output in upstream.items()
        if is_wheel(wheel)
        for path in read_packed_paths(wheel, output, task_tools)
    }


class BaseImages(Protocol):
    """Resolves base images. Thread-safe; a base has one digest in a run."""

    def resolve(self, query: BaseQuery) -> ResolvedBase: ...
    def read(self, query: BaseQuery) -> BaseImage: ...


class ImageKind:
    def __init__(self, bases: BaseImages) -> None:
        self._bases = bases

    def code(self, task: Task) -> tuple[InputEntry, ...]:
        """Return the version, and the digest of the base: it changes when its tag moves."""
        base = self._resolve(task)
        name = _build_query(task).name
        shown = str(parse_reference(name) or name)
        return (
            InputEntry(EntryKind.CODE, "image", _VERSION),
            InputEntry(EntryKind.IMAGE, shown, base.digest),
        )

    def _resolve(self, task: Task) -> ResolvedBase:
        """Resolve the base. Without its registry, a simulated deploy keeps the tag of an existing
        image: simulated deploys need no network."""
        query, inputs = _build_query(task), require_inputs(task, ImageInputs)
        is_simulated = inputs.existing == Mode.SIMULATED
        if is_simulated and "${" in query.name:  # such as the account, which is not known
            return ResolvedBase(query.name, query.name, _unresolved_problem(query.name))
        with _naming_function(task):
            reference = require_reference(query.name)
            if inputs.is_existing and reference.is_pinned:
                return ResolvedBase(str(reference), reference.digest)
            try:
                return self._bases.resolve(query)
            except FabricError as error:
                if not is_simulated or exit_code_of(error.first) not in _NOT_CALLED:
                    raise
                return ResolvedBase(str(reference), reference.tag, _unresolved_problem(query.name))

    def run(
        self, task: Task, upstream: Mapping[TaskId, Output], task_tools: TaskTools
    ) -> TaskResult:
        inputs = require_inputs(task, ImageInputs)
        if inputs.is_existing:
            return _build_existing(self._resolve(task))
        with task_tools.away(), _naming_function(task):
            base = self._bases.read(_build_query(task))
        layers = _read_layers(upstream, task_tools)
        own = write_layer(_read_own(upstream, task_tools))
        start = ImageStart(
            handler=_find_handler(upstream),
            runtime=inputs.runtime,
            architecture=_build_query(task).platform,
            paths=frozenset(layers.paths),
        )
        image = build_image(base, (*layers.layers, own.row), start)
        _check_entrypoint(inputs, image)
        packages = {one.digest: one for one in _list_layer_contents(upstream, task_tools)}
        contents = {digest: file.content for digest, file in packages.items()}
        layout = build_layout(image, {**contents, own.digest: own.content})
        return TaskResult(
            digest=image.identity,
            files=tuple(WrittenFile(path, content) for path, content in layout.items()),
            facts=(
                ("image", image.digest),
                ("sha256", image.digest.partition(":")[2]),
                ("base", base.reference),
            ),
        )

    def warnings(
        self, task: Task, upstream: Mapping[TaskId, Output], output: Output
    ) -> tuple[Problem, ...]:
        """Warn if the registry of the base could not be reached."""
        del upstream, output
        problem = self._resolve(task).problem
        return (problem,) if problem else ()


@contextlib.contextmanager
def _naming_function(task: Task) -> Iterator[None]:
    """Add the function and the place of its base image to problems of the base."""
    try:
        yield
    except FabricError as error:
        if type(error) is not FabricError:
            raise
        inputs = require_inputs(task, ImageInputs)
        named = [
            replace(
                one,
                message=f"function `{inputs.function}`: {one.message}",
                where=one.where or Place(*inputs.place),
            )
            for one in error.problems
        ]
        raise replace_problems(error, named) from error


def _build_existing(image: ResolvedBase) -> TaskResult:
    """Return the address of an image that another tool built and pushed."""
    pushed = image.reference
    return TaskResult(
        digest=hash_fields((pushed,)),
        facts=(("image", pushed.partition("@")[2]), ("pushed", pushed)),
    )


def _unresolved_problem(name: str) -> Problem:
    message = f"the tag of the image `{name}` could not be resolved: a moved tag is not detected"
    return Problem("image/unresolved", message, "check the network and the login of the registry")


class _LayerFile(msgspec.Struct, frozen=True):
    digest: str
    content: bytes


def _read_layers(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> LayerRows:
    found = [
        task_tools.content(owner, one)
        for owner, output in upstream.items()
        if is_kind(owner, "image-layers")
        for one in output.files
        if one.path == _LAYERS
    ]
    return msgspec.json.decode(found[0], type=LayerRows) if found else LayerRows((), ())


def _list_layer_contents(
    upstream: Mapping[TaskId, Output], task_tools: TaskTools
) -> Iterator[_LayerFile]:
    for owner, output in upstream.items():
        for one in output.files if is_kind(owner, "image-layers") else ():
            if one.path != _LAYERS:
                content = task_tools.content(owner, one)
                yield _LayerFile(f"sha256:{hash_bytes(content)}", content)


def _read_own(upstream: Mapping[TaskId, Output], task_tools: TaskTools) -> list[BuiltFile]:
    return [
        BuiltFile(one.path, task_tools.content(owner, one), one.executable)
        for owner, output in upstream.items()
        if not (has_packed(output) or is_kind(owner, "image-layers"))
        for one in output.files
    ]


def _find_handler(upstream: Mapping[TaskId, Output]) -> str:
    found = (output.fact("handler") for output in upstream.values())
    return next((handler for handler in found if handler), "")


def _check_entrypoint(inputs: ImageInputs, image: Image) -> None:
    if inputs.is_entrypoint_needed and not has_entrypoint(image):
        message = (
            f"the base image `{inputs.base}` of `{inputs.service}/{inputs.function}` has no "
            "entrypoint"
        )
        hint = "use a base whose entrypoint starts a runtime interface client of AWS Lambda"
        raise FabricError(Problem("image/no-entrypoint", message, hint))


def _blob_path(digest: str) -> str:
    return f".layers/{digest.partition(':')[2]}"


def _build_query(task: Task) -> BaseQuery:
    inputs = require_inputs(task, ImageInputs)
    return BaseQuery(inputs.base, inputs.architecture, inputs.is_existing)
