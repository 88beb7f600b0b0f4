"""Without the packages of extras every command says which one to install, and how."""

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest
from msgspec import Struct

from fabric.model.catalog import PROVIDERS
from fabric.model.distribution import Extra, format_requirement
from fabric.providers.registry import REAL_PROVIDERS
from tests.support.project import REPO, Done, environment
from tests.support.without_extras import attempts

pytestmark = pytest.mark.slow

NAMES = [name for name, _ in attempts()]
CODES = {
    "provider": "deploy/not-installed",
    "backend": "backend/not-installed",
    "executor": "usage/no-package",
    "reference": "config/not-installed",
    "sealed": "state/not-installed",
    "daemon": "daemon/not-installed",
}
EXTRAS = {
    "backend sql": Extra.POSTGRES,
    "executor dask": Extra.DASK,
    "sealed": Extra.SEALED,
    "daemon": Extra.DAEMON,
}
# Fabric has no deployer of its own for these, or none that needs a package.
PLAIN = {one.id for one in PROVIDERS if one.id not in REAL_PROVIDERS or not one.access.packages}
NEEDING = [
    name
    for name in NAMES
    if name not in ("doctor", "otel")
    and not name.startswith("cache")
    and name.removeprefix("provider ") not in PLAIN
]


class Ended(Struct, frozen=True):
    commands: Mapping[str, Done]
    calls: Mapping[str, str]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("bare")
    words = [sys.executable, "-m", "tests.support.without_extras", str(folder)]
    done = subprocess.run(
        words, cwd=REPO, env=environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return Ended({name: Done(**row) for name, row in found["commands"].items()}, found["calls"])


@pytest.mark.parametrize("name", NEEDING)
def test_missing_package_is_named_with_the_install_command(ended: Ended, name: str) -> None:
    found = {one["code"]: one for one in ended.commands[name].error["problems"]}
    problem = found[CODES[name.split()[0]]]
    assert problem["hint"] == f"pip install '{format_requirement(EXTRAS.get(name, Extra.CLOUD))}'"


def test_unchecked_provider_call_reports_the_same_missing_package(ended: Ended) -> None:
    told = f"deploy/not-installed pip install '{format_requirement(Extra.CLOUD)}'"
    assert ended.calls == dict.fromkeys((one.id for one in PROVIDERS if one.access.packages), told)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_package_is_never_a_bug(ended: Ended, name: str) -> None:
    assert "internal/" not in ended.commands[name].out + ended.commands[name].err
    assert "Traceback" not in ended.commands[name].err


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("cache")])
def test_builds_go_on_without_a_shared_cache(ended: Ended, name: str) -> None:
    done = ended.commands[name]
    assert done.result["summary"]["ran"] == 1
    assert "cache/remote-off" in done.err
    assert format_requirement(Extra.CLOUD) in done.err


def test_run_without_the_otel_exporter_continues_with_a_warning(ended: Ended) -> None:
    done = ended.commands["otel"]
    assert done.result["summary"]["ran"] == 1
    assert format_requirement(Extra.OTEL) in done.err


def test_doctor_lists_all_packages_that_the_config_needs(ended: Ended) -> None:
    rows = ended.commands["doctor"].document["result"]["checks"]
    found = [
        (row["message"].rpartition(": ")[2], row["severity"])
        for row in rows
        if row["name"] == "packages" and not row["ok"]
    ]
    needed = [("boto3", "error"), ("httpx", "error"), ("cryptography", "error")]
    # Runs go on without a shared cache and without traces.
    assert found == [*needed, ("boto3", "warning"), ("opentelemetry", "warning")]
