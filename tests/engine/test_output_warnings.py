"""Warnings that belong to an output: kept with it, and errors to a strict run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.engine.output_warnings import OutputWarnings, encode_warning
from fabric.engine.result import Outcome, Status
from fabric.model.names import Digest
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task import Output, Pairs, Task
from fabric.model.task_id import TaskId, build_task_id
from fabric.model.task_inputs import PackageInputs, VendorInputs
from fabric.tasks.package import PackageKind
from fabric.tasks.unknown_imports import find_unknown_imports

MILD = Problem("config/no-match", "nothing matches", "look again", Place("fabric.yml", 3, 4))
IMPORT = ("import", "reqests 3 src/one.py")
PACKAGE = Task(
    build_task_id("package", "shop", "one"), PackageInputs("shop", "one", ".", ("boto3",))
)
VENDOR = Task(build_task_id("vendor", "x"), VendorInputs("shop", ".", "", "3.12", "x86_64"))


def output(*facts: tuple[str, str]) -> Output:
    return Output(Digest("0"), facts=facts)


def told(
    *facts: tuple[str, str], strict: bool = False, beside: Mapping[TaskId, Pairs] | None = None
) -> list[str]:
    """The codes of what is told of a package, from what its parts note."""
    warnings = OutputWarnings({"package": PackageKind()}, strict=strict)
    parts = [(VENDOR, output(*one)) for one in (beside or {}).values()]
    upstream = [
        (Task(build_task_id("build", "shop", "one"), PACKAGE.inputs), output(*facts)),
        *parts,
    ]
    outcome = Outcome(Status.SKIPPED, output=output())
    return [one.code for one in warnings.add_warnings(PACKAGE, upstream, outcome).warnings]


def test_warnings_stored_with_an_output_are_repeated() -> None:
    warnings = OutputWarnings({}, strict=True)
    outcome = Outcome(Status.SKIPPED, output=output(("handler", "x"), encode_warning(MILD)))
    assert warnings.add_warnings(PACKAGE, (), outcome).warnings == (MILD,)


def test_warning_is_not_reported_twice() -> None:
    warnings = OutputWarnings({}, strict=False)
    outcome = Outcome(Status.RAN, output=output(encode_warning(MILD)), warnings=(MILD,))
    assert warnings.add_warnings(PACKAGE, (), outcome).warnings == (MILD,)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"code": 3}'])
def test_a_warning_that_cannot_be_read_is_left_out(text: str) -> None:
    warnings = OutputWarnings({}, strict=True)
    outcome = Outcome(Status.SKIPPED, output=output(("warning", text)))
    assert warnings.add_warnings(PACKAGE, (), outcome).warnings == ()


def test_a_task_without_an_output_is_warned_of_nothing() -> None:
    outcome = Outcome(Status.FAILED)
    assert OutputWarnings({}, strict=True).add_warnings(PACKAGE, (), outcome) is outcome


def test_unknown_import_warns_and_fails_a_strict_run() -> None:
    assert told(IMPORT) == ["build/unknown-import"]
    assert told(("import", "boto3.session 1 src/one.py"), strict=True) == []
    with pytest.raises(FabricError) as caught:
        told(IMPORT, strict=True)
    assert caught.value.first.where == Place("src/one.py", 3)


def test_with_layers_only_relative_imports_are_reported_as_unknown() -> None:
    build = output(IMPORT, ("import", ".missing 4 src/one.py"))
    (found,) = find_unknown_imports(build, (), None)
    assert found.where == Place("src/one.py", 4)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ((("packages", "2"), ("modules", "reqests")), []),
        ((("packages", "2"), ("modules", "reqests.inner")), []),
        ((("packages", "2"), ("modules", "requests")), ["build/unknown-import"]),
        ((("packages", "2"), ("modules", "")), ["build/unknown-import"]),
        # Fetched before modules were noted.
        ((("packages", "2"),), []),
    ],
)
def test_packages_answer_by_their_modules(facts: Pairs, code: list[str]) -> None:
    assert told(IMPORT, beside={VENDOR.id: facts}) == code


def test_names_of_files_may_hold_blanks() -> None:
    warnings = OutputWarnings({"package": PackageKind()}, strict=True)
    noted = output(("import", f"x 7 {Path('a b') / 'c d.py'}"))
    with pytest.raises(FabricError) as caught:
        warnings.add_warnings(PACKAGE, [(VENDOR, noted)], Outcome(Status.RAN, output=output()))
    assert caught.value.first.where == Place("a b/c d.py", 7)
