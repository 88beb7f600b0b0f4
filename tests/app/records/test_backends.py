"""Which services of a run share a store, and which have one of their own."""

from pathlib import Path

import pytest

from fabric.app.project.placement import Placement
from fabric.app.records.backends import BackEnds
from fabric.app.settings import Settings

_VARIABLE = (("sqlConnectionStringEnv", "STATE_DB"),)


def placement(root: Path, service: str, backend: str) -> Placement:
    folder = root / service
    folder.mkdir(exist_ok=True)
    home = str(root / ".fabric")
    return Placement(
        service,
        "dev",
        "local",
        "cloud1-lambda",
        "r",
        "simulate",
        str(folder),
        home,
        backend,
        _VARIABLE,
        declared=("STATE_DB",),
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings({}, tmp_path, 2, stdout_is_terminal=False, stderr_is_terminal=False)


def test_services_with_own_databases_in_env_files_do_not_share_a_database(
    tmp_path: Path, settings: Settings
) -> None:
    shop, bank = (placement(tmp_path, name, "sql") for name in ("shop", "bank"))
    for one in (shop, bank):
        text = f"STATE_DB=sqlite:///{one.service}.db\n"
        Path(one.folder, ".env").write_text(text)
    back_ends = BackEnds(settings)
    try:
        places = {back_ends.record_store(one).stores.state.place for one in (shop, bank)}
    finally:
        back_ends.close()
    assert len(places) == 2


@pytest.mark.parametrize("backend", ["local", "sql"])
def test_services_of_one_project_share_its_store(
    backend: str, tmp_path: Path, settings: Settings
) -> None:
    shop, bank = (placement(tmp_path, name, backend) for name in ("shop", "bank"))
    back_ends = BackEnds(settings)
    try:
        assert back_ends.record_store(shop).stores is back_ends.record_store(bank).stores
    finally:
        back_ends.close()
