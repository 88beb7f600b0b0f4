"""What a compose file lists: as it stands, or as the configs of a stage have it."""

from pathlib import Path

import pytest

from fabric.app.compose import list_services
from fabric.app.settings import Settings
from fabric.model.outcomes.queried import ListedService, ServicesOutcome
from fabric.model.problems import FabricError

CONFIG = """
service: shop-${stage}
provider: {name: cloud1-lambda, runtime: python3.11}
functions: [{name: main, entry: main.handler}]
stages:
  odd: {provider: {region: "${env:NOWHERE}"}}
"""


def project(folder: Path, compose: str) -> Settings:
    (folder / "shop").mkdir()
    (folder / "shop" / "fabric.yml").write_text(CONFIG)
    (folder / "shop" / "main.py").write_text("def handler(event, context): ...\n")
    (folder / "fabric.compose.yml").write_text(compose)
    return Settings(env={}, cwd=folder, cores=1, stdout_is_terminal=False, stderr_is_terminal=False)


def listed(settings: Settings, stage: str) -> tuple[ListedService, ...]:
    outcome = list_services("", stage, settings).outcome
    assert isinstance(outcome, ServicesOutcome)
    return outcome.services


def test_compose_file_is_read_without_a_stage(tmp_path: Path) -> None:
    settings = project(tmp_path, "services: [{name: api, config: nowhere}]\n")
    assert [one.name for one in listed(settings, "")] == ["api"]


def test_included_services_are_named_after_the_stage(tmp_path: Path) -> None:
    settings = project(tmp_path, "include: ['*/fabric.yml']\n")
    assert [one.name for one in listed(settings, "")] == ["shop-dev"]
    assert [one.name for one in listed(settings, "prod")] == ["shop-prod"]


@pytest.mark.parametrize(
    ("stage", "code"), [("no stage!", "usage/bad-stage"), ("odd", "config/unset-variable")]
)
def test_a_stage_that_cannot_be_is_refused_like_everywhere(
    tmp_path: Path, stage: str, code: str
) -> None:
    settings = project(tmp_path, "services: [{name: api, config: shop}]\n")
    with pytest.raises(FabricError) as found:
        list_services("", stage, settings)
    assert found.value.first.code == code
