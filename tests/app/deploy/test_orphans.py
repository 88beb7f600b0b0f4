"""Warnings of deployed services that no config contains."""

from pathlib import Path

from msgspec.structs import replace

from fabric.app.deploy.orphans import warn_of_orphans
from fabric.app.project.placement import Placement
from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.state.records.receipts import write_receipts
from tests.app.deploy.scopes import deployed, placement, scope, store


def warned(folder: Path, *placements: Placement) -> tuple[Problem, ...]:
    with scope(folder, *placements) as found:
        return warn_of_orphans(found)


def write(folder: Path, one: Record) -> None:
    store(folder, one)
    write_receipts(folder / ".fabric", one)


def test_a_service_under_another_label_is_reported(tmp_path: Path) -> None:
    store(tmp_path, deployed(provider="host1"))
    (problem,) = warned(tmp_path, placement(tmp_path))
    assert problem.code == "deploy/left-behind"
    assert "still deployed to Vercel (`host1`), which is no longer in the config" in problem.message
    assert problem.hint == "run: fabric remove --stage dev --provider host1"
    assert problem.service == "shop"


def test_a_label_of_the_config_is_not_left_behind(tmp_path: Path) -> None:
    store(tmp_path, deployed(provider="host1"))
    assert warned(tmp_path, placement(tmp_path, labels=("cloud1-lambda", "host1"))) == ()


def test_a_service_that_is_deployed_itself_was_not_moved(tmp_path: Path) -> None:
    store(tmp_path, deployed(), deployed(provider="host1"))
    assert warned(tmp_path, placement(tmp_path)) == ()


def test_another_service_and_stage_is_not_the_same_one(tmp_path: Path) -> None:
    other = deployed(provider="host1")
    store(tmp_path, deployed("cart", "host1"), replace(other, ref=replace(other.ref, stage="prod")))
    assert warned(tmp_path, placement(tmp_path)) == ()


def test_a_renamed_service_is_found_by_the_receipt_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "fabric.yml").write_text("service: shop\n")
    write(tmp_path, deployed("store"))
    (problem,) = warned(tmp_path, placement(tmp_path))
    assert "`store` (dev) is still deployed" in problem.message
    assert "was it renamed to `shop`?" in problem.message


def test_a_service_of_another_config_of_the_directory_was_not_renamed(tmp_path: Path) -> None:
    (tmp_path / "store.yml").write_text("service: store\n")
    write(tmp_path, deployed("store"))
    assert warned(tmp_path, placement(tmp_path)) == ()


def test_a_receipt_without_a_record_is_not_reported(tmp_path: Path) -> None:
    write_receipts(tmp_path / ".fabric", deployed("store"))
    assert warned(tmp_path, placement(tmp_path)) == ()


def test_many_services_are_found_by_one_listing(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(20)]
    store(tmp_path, *(deployed(name, "host1") for name in names))
    found = warned(tmp_path, *(placement(tmp_path, name) for name in names))
    assert sorted(one.service for one in found) == sorted(names)


def test_an_unreadable_record_counts_as_deployed(tmp_path: Path) -> None:
    store(tmp_path, deployed(provider="host1"))
    path = tmp_path / ".fabric/state/shop/dev/host1.state.json"
    path.write_text("{}")
    assert [one.code for one in warned(tmp_path, placement(tmp_path))] == ["deploy/left-behind"]
