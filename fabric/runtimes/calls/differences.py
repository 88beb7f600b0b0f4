"""Differences between a local call and the provider, as warnings: one table for all commands.

Only a difference that matters for this call is a warning. The guide lists all of them.
"""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fabric.runtimes.calls.call_end import CallEnd, CallNotice
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.native_files import ForeignPackage

OTHER_VERSION = "local/other-version"
_VERSION = re.compile(r"\d+(?:\.\d+)?(?=\.x|\Z)")


class LocalCall(Struct, frozen=True):
    """A call, its end, and the packages of its archive that were built for another platform."""

    function: LocalFunction
    end: CallEnd
    foreign: tuple[ForeignPackage, ...] = ()


class Difference(Struct, frozen=True):
    """A kind of difference. `find` returns texts that continue the function's name."""

    code: str
    find: Callable[[LocalCall], Iterator[str]]
    hint: str


def list_differences(call: LocalCall) -> tuple[CallNotice, ...]:
    """List the differences between this call and the provider."""
    return tuple(
        CallNotice(row.code, text, row.hint) for row in DIFFERENCES for text in row.find(call)
    )


def _find_other_version(call: LocalCall) -> Iterator[str]:
    runtime, version = call.function.runtime, call.end.version
    wanted = _VERSION.search(runtime)
    if wanted and version and not f"{version}.".startswith(f"{wanted[0]}."):
        yield f"runs on version {version} locally, but its runtime is {runtime}"


def _find_missing_layers(call: LocalCall) -> Iterator[str]:
    layers = call.function.installed.missing_layers
    if layers:
        yield f"runs without its layers {', '.join(layers)}, which are not on this machine"


def _find_replaced_packages(call: LocalCall) -> Iterator[str]:
    found = [one for one in call.foreign if one.path]
    if found:
        names, where = (", ".join(one.name for one in found)), found[0].platform
        yield f"uses {names} of the project's `.venv`, because its archive is for {where}"


def _find_unloadable_packages(call: LocalCall) -> Iterator[str]:
    found = [one for one in call.foreign if not one.path]
    if found:
        names, where = (", ".join(one.name for one in found)), found[0].platform
        yield f"cannot load the compiled files of {names}, because its archive is for {where}"


def _find_ignored_value(call: LocalCall) -> Iterator[str]:
    if call.end.is_ignored:
        yield "returned a value that AWS Lambda ignores, because the handler is not async"


DIFFERENCES = (
    Difference(
        OTHER_VERSION,
        _find_other_version,
        "add the version of the runtime to PATH, or change `runtime`",
    ),
    Difference(
        "local/no-layer",
        _find_missing_layers,
        "invoke the deployed function, or add the packages to those of the project",
    ),
    Difference(
        "local/other-packages",
        _find_replaced_packages,
        "compare the versions in `.venv` with those of the archive",
    ),
    Difference(
        "local/foreign-packages",
        _find_unloadable_packages,
        "install these packages in the project's `.venv`, with the Python version of the runtime",
    ),
    Difference(
        "local/ignored-value",
        _find_ignored_value,
        "make the handler async, or pass the value to its callback",
    ),
)
