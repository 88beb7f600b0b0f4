"""Optional packages: found without an import, and installed by the tool that installed fabric."""

from pathlib import Path

import pytest

from fabric.model.distribution import DISTRIBUTION, Extra, PackageNeed
from fabric.model.problems import FabricError
from fabric.system.optional_packages import find_missing_modules, install_command, require_packages

NEED = PackageNeed("shops need", Extra.CLOUD, "shop/not-installed")


def test_a_missing_import_is_a_problem_with_its_package() -> None:
    with pytest.raises(FabricError) as caught, require_packages(NEED):
        raise ModuleNotFoundError("no", name="boto3")
    problem = caught.value.first
    assert problem.code == "shop/not-installed"
    assert problem.message == "shops need a package that is not installed: boto3"
    assert f"{DISTRIBUTION}[cloud" in problem.hint


def test_modules_are_found_without_an_import() -> None:
    assert find_missing_modules(("json", "no_such_package", "no_such_package.below")) == (
        "no_such_package",
        "no_such_package.below",
    )


@pytest.mark.parametrize(
    ("receipt", "tool"),
    [
        ("", "pip install"),
        ("uv-receipt.toml", "uv tool install"),
        ("pipx_metadata.json", "pipx install --force"),
    ],
)
def test_the_command_is_that_of_the_tool_that_made_the_environment(
    receipt: str, tool: str, tmp_path: Path
) -> None:
    if receipt:
        (tmp_path / receipt).touch()
    command = install_command(Extra.OTEL, environment=tmp_path)
    assert command.startswith(f"{tool} '{DISTRIBUTION}[")
    assert "otel" in command
