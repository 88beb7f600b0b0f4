"""Differences between a local call and the provider, as warnings: one table for all commands.

Only a difference that matters for this call is a warning. The guide lists all of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from fabric.model.problems import Problem
from fabric.runtimes.calls.call_end import CallEnd
from fabric.runtimes.calls.function import LocalFunction
from fabric.runtimes.calls.native_files import ForeignPackage

OTHER_VERSION = "local/other-version"
_VERSION = re.compile(r"\d+(?:\.\d+)?(?=\.x|\Z)")


class LocalCall(Struct, frozen=True):
    """A call, its end, and what its archive has for another platform."""

    function: LocalFunction
    end: CallEnd
    foreign: tuple[ForeignPackage, ...] = ()
    # The program that runs its `bootstrap` for another processor; empty without one.
    emulator: str = ""


def list_differences(call: LocalCall) -> tuple[Problem, ...]:
    """List the differences between this call and the provider."""
    return tuple(problem for find in DIFFERENCES for problem in find(call))


def _find_other_version(call: LocalCall) -> Iterator[Problem]:
    if call.function.caller.calls.workers:
        return  # workerd runs it, and not Node.js
    runtime, version = call.function.runtime, call.end.version
    wanted = _VERSION.search(runtime)
    if wanted and version and not f"{version}.".startswith(f"{wanted[0]}."):
        yield Problem(
            OTHER_VERSION,
            f"function `{call.function.name}`: runs on version {version} locally, but its runtime "
            f"is {runtime}",
            "add the version of the runtime to PATH, or change `runtime`",
        )


def _find_missing_layers(call: LocalCall) -> Iterator[Problem]:
    layers = ", ".join(call.function.installed.missing_layers)
    if layers:
        yield Problem(
            "local/no-layer",
            f"function `{call.function.name}`: runs without its layers, which are not on this "
            f"machine: {layers}",
            "invoke the deployed function, or add the packages to those of the project",
        )


def _find_replaced_packages(call: LocalCall) -> Iterator[Problem]:
    found = [one for one in call.foreign if one.path]
    if found:
        names = ", ".join(one.name for one in found)
        yield Problem(
            "local/other-packages",
            f"function `{call.function.name}`: uses {names} of the project's `.venv`, because its "
            f"archive is for {found[0].platform}",
            "compare the versions in `.venv` with those of the archive",
        )


def _find_unloadable_packages(call: LocalCall) -> Iterator[Problem]:
    found = [one for one in call.foreign if not one.path]
    if found:
        names = ", ".join(one.name for one in found)
        yield Problem(
            "local/foreign-packages",
            f"function `{call.function.name}`: cannot load the compiled files of {names}, because "
            f"its archive is for {found[0].platform}",
            "install these packages in the project's `.venv`, with the Python version of the "
            "runtime",
        )


def _find_other_processor(call: LocalCall) -> Iterator[Problem]:
    if call.emulator:
        yield Problem(
            "local/other-architecture",
            f"function `{call.function.name}`: runs in {call.emulator}, because its program is for "
            "another processor",
            "expect longer times than on AWS Lambda",
        )


def _find_ignored_value(call: LocalCall) -> Iterator[Problem]:
    if call.end.is_ignored:
        yield Problem(
            "local/ignored-value",
            f"function `{call.function.name}`: returned a value that AWS Lambda ignores, because "
            "the handler is not async",
            "make the handler async, or pass the value to its callback",
        )


DIFFERENCES: Sequence[Callable[[LocalCall], Iterator[Problem]]] = (
    _find_other_version,
    _find_missing_layers,
    _find_replaced_packages,
    _find_unloadable_packages,
    _find_other_processor,
    _find_ignored_value,
)
