"""The differences between a local call and the provider: which ones are warnings."""

import pytest

from fabric.runtimes.calls.call_end import CallEnd
from fabric.runtimes.calls.differences import LocalCall, list_differences
from fabric.runtimes.calls.function import CodeArchive, InstalledPackages, LocalFunction
from fabric.runtimes.calls.native_files import ForeignPackage

CODE = CodeArchive("0" * 64, lambda: b"")


def codes(call: LocalCall) -> list[str]:
    return [one.code for one in list_differences(call)]


def function(runtime: str = "python", layers: tuple[str, ...] = ()) -> LocalFunction:
    installed = InstalledPackages(missing_layers=layers)
    return LocalFunction("hello", CODE, "main.handler", runtime, installed=installed)


@pytest.mark.parametrize(
    ("runtime", "version"),
    [("nodejs20.x", "20.1.0"), ("nodejs", "18.0.0"), ("python3.11", "3.11.7"), ("python", "3.12")],
)
def test_matching_runtime_version_gives_no_notice(runtime: str, version: str) -> None:
    assert not codes(LocalCall(function(runtime), CallEnd(version=version)))


@pytest.mark.parametrize(
    ("runtime", "version"),
    [("nodejs22.x", "20.1.0"), ("nodejs2.x", "20.1.0"), ("python3.1", "3.11.7")],
)
def test_other_runtime_version_is_reported(runtime: str, version: str) -> None:
    (notice,) = list_differences(LocalCall(function(runtime), CallEnd(version=version)))
    assert notice.code == "local/other-version"
    assert version in notice.message


def test_a_call_without_its_layer_is_reported_with_the_address() -> None:
    arn = "arn:aws:lambda:eu-west-1:123456789012:layer:tools:3"
    (notice,) = list_differences(LocalCall(function(layers=(arn,)), CallEnd()))
    assert notice.code == "local/no-layer"
    assert arn in notice.message


def test_replaced_and_unloadable_packages_are_separate_warnings() -> None:
    foreign = (
        ForeignPackage("numpy", "Linux arm64", "/project/.venv/numpy"),
        ForeignPackage("orjson", "Linux arm64"),
    )
    found = list_differences(LocalCall(function(), CallEnd(), foreign))
    assert [one.code for one in found] == ["local/other-packages", "local/foreign-packages"]
    assert "numpy" in found[0].message
    assert "orjson" in found[1].message


def test_a_warning_names_the_function_once() -> None:
    (warning,) = list_differences(LocalCall(function(), CallEnd(is_ignored=True)))
    assert warning.code == "local/ignored-value"
    assert warning.message.startswith("function `hello`: returned a value")
