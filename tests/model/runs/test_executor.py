"""The address of a Dask scheduler, as `--executor` takes it."""

import pytest

from fabric.model.problems import FabricError
from fabric.model.runs.executor import DaskAddress, parse_executor


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("dask://builds.example:8786", DaskAddress("builds.example", 8786)),
        ("dask://builds.example:8786/", DaskAddress("builds.example", 8786)),
        ("dask://[::1]:65535", DaskAddress("[::1]", 65535)),
    ],
)
def test_an_address_has_a_host_and_a_port(word: str, address: DaskAddress) -> None:
    assert parse_executor(word) == address
    assert word.startswith(f"dask://{address}")


@pytest.mark.parametrize(
    "word",
    [
        "",
        "builds:8786",
        "tcp://builds:8786",
        "dask://builds",
        "dask://builds:0",
        "dask://builds:65536",
        "dask://user@builds:8786",
        "dask://builds:8786/path",
    ],
)
def test_another_form_is_refused(word: str) -> None:
    with pytest.raises(FabricError) as caught:
        parse_executor(word)
    assert caught.value.first.code == "usage/bad-executor"


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("[::1]", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
    ],
)
def test_only_loopback_is_this_machine(host: str, *, is_here: bool) -> None:
    assert DaskAddress(host, 8786).is_this_machine == is_here
