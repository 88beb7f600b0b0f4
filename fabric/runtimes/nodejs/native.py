"""Native modules: the system and processor that a `.node` file was built for."""

from collections.abc import Iterable, Sequence

from fabric.model.problems import FabricError, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.contract import BuiltFile

_ELF = b"\x7fELF"
# The field `e_machine` of an ELF header, as npm and people call it.
_MACHINES = {62: "x64", 183: "arm64"}
_MAC = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xfe\xed\xfa\xcf")
_WINDOWS = b"MZ"
_TARGETS = {"": "x64", "x86_64": "x64", "arm64": "arm64"}


def detect_platform(content: bytes) -> str:
    """Return the platform, such as `linux x64`; empty if unknown."""
    if content.startswith(_ELF):
        machine = int.from_bytes(content[18:20], "little")
        return f"linux {_MACHINES[machine]}" if machine in _MACHINES else "linux"
    if content.startswith(_MAC):
        return "macOS"
    return "Windows" if content.startswith(_WINDOWS) else ""


def check_native_platforms(
    inputs: BuildInputs, parts: Iterable[tuple[str, Sequence[BuiltFile]]]
) -> None:
    """Raise for each imported package whose native modules all mismatch the target. `parts` pairs
    such a package with its files."""
    target = f"linux {_TARGETS.get(inputs.architecture, 'x64')}"
    native: dict[str, dict[str, str]] = {}
    for name, files in parts:
        made = {
            file.path: detect_platform(file.content)
            for file in files
            if file.path.endswith(".node")
        }
        native.setdefault(name, {}).update(made)
    foreign = [
        _foreign_module_problem(inputs, name, target, made)
        for name, made in sorted(native.items())
        if made and not {target, ""}.intersection(made.values())
    ]
    if foreign:
        raise FabricError(*foreign)


def _foreign_module_problem(
    inputs: BuildInputs, name: str, target: str, made: dict[str, str]
) -> Problem:
    path, platform = min(made.items())
    system, processor = target.split()
    return Problem(
        "build/foreign-native",
        f"function `{inputs.function}` runs on {target}, but `{path}` is built for {platform}",
        hint=f"run: npm install --os={system} --cpu={processor} --libc=glibc {name}",
    )
