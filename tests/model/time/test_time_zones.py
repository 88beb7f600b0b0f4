"""Names of time zones."""

import pytest

from fabric.model.time.time_zones import TIME_ZONES


@pytest.mark.parametrize(
    "name", ["UTC", "Europe/Berlin", "America/Indiana/Knox", "Etc/GMT+12", "US/Pacific"]
)
def test_names_of_all_depths_are_known(name: str) -> None:
    assert name in TIME_ZONES


@pytest.mark.parametrize("name", ["", "europe/berlin", "Berlin", "Europe/", "Mars/Phobos"])
def test_other_names_are_not_known(name: str) -> None:
    assert name not in TIME_ZONES


def test_no_name_depends_on_the_machine() -> None:
    assert TIME_ZONES.isdisjoint({"localtime", "posixrules", "Factory"})
    assert not any(name.startswith(("posix/", "right/")) for name in TIME_ZONES)
