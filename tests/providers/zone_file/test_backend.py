"""The zone in a file: records of other hands stay, and only ours are written."""

from pathlib import Path

import pytest

from fabric.model.routing.routing import DesiredRouting, EndpointShare, Weights
from fabric.providers.zone_file.backend import ZoneFile
from fabric.providers.zone_file.records import compare_zone, plan_zone_records
from fabric.router.diff import Drift, compute_drift

HOST = "api.example.com"
BY_HAND = "www 300 IN A 192.0.2.7"


def desired(weights: Weights = (("a", 60), ("b", 40))) -> DesiredRouting:
    shares = tuple(EndpointShare(one, f"https://{one}.example.net", part) for one, part in weights)
    return DesiredRouting(HOST, "shop/dev", shares, 60, "failover", "")


def zone(folder: Path) -> ZoneFile:
    return ZoneFile("local", folder / "zone.json", plan_zone_records, folder / "zone.zone")


def drift(one: ZoneFile, wanted: DesiredRouting) -> Drift:
    return compute_drift(one.want(wanted), one.read(wanted))


@pytest.fixture
def synced(tmp_path: Path) -> ZoneFile:
    made = zone(tmp_path)
    made.apply(desired(), drift(made, desired()).actions)
    return made


def changed(one: ZoneFile, wanted: DesiredRouting) -> list[str]:
    return [action.name for action in drift(one, wanted).changes]


def test_a_record_that_was_added_by_hand_outlives_a_shift(synced: ZoneFile, tmp_path: Path) -> None:
    path = tmp_path / "zone.zone"
    path.write_text(f"{path.read_text()}; of the team\n{BY_HAND}\n")
    assert changed(synced, desired()) == []
    wanted = desired((("a", 30), ("b", 70)))
    found = drift(synced, wanted)
    assert len(found.changes) == 3
    synced.apply(wanted, found.actions)
    assert path.read_text().endswith(f"; of the team\n{BY_HAND}\n")
    assert changed(synced, wanted) == []


def test_a_record_of_ours_that_was_edited_is_the_only_update(
    synced: ZoneFile, tmp_path: Path
) -> None:
    path = tmp_path / "zone.zone"
    path.write_text(path.read_text().replace("CNAME a.example.net.", "CNAME other.example.net."))
    assert changed(synced, desired()) == [f"{HOST}."]
    synced.apply(desired(), drift(synced, desired()).actions)
    assert "other.example.net" not in path.read_text()


@pytest.mark.parametrize(
    "line",
    [f"{HOST}. 60 IN TXT mine", "api IN TXT mine", f"_https._tcp.{HOST}. 60 IN SRV 1 9 1 x."],
)
def test_a_record_of_another_hand_at_our_name_is_in_the_way(
    synced: ZoneFile, tmp_path: Path, line: str
) -> None:
    path = tmp_path / "zone.zone"
    path.write_text(f"{path.read_text()}{line}\n")
    [foreign] = drift(synced, desired()).foreign
    assert foreign.detail == line


def test_deleted_zone_file_is_written_again(synced: ZoneFile, tmp_path: Path) -> None:
    (tmp_path / "zone.zone").unlink()
    assert len(changed(synced, desired())) == 3
    synced.apply(desired(), drift(synced, desired()).actions)
    assert changed(synced, desired()) == []


def test_a_line_without_a_name_belongs_to_the_name_before() -> None:
    written = "$ORIGIN example.com.\n"
    found = compare_zone(f"{written}www 60 IN A 192.0.2.1\n  60 IN A 192.0.2.2\n", written)
    assert [(one.name, one.type) for one in found.foreign] == [("www.example.com.", "A")] * 2
