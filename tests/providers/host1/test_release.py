"""The values of the last release that can be trusted."""

from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.host1.release import read_trusted_texts
from tests.support.orders import address
from tests.support.records import record

KEPT = (("deployment", "d1"),)


def test_values_of_a_complete_release_are_trusted() -> None:
    assert read_trusted_texts(address("host1", previous=record(kept=KEPT))) == dict(KEPT)


def test_values_after_a_failed_release_are_not_trusted() -> None:
    live = record(kept=(*KEPT, RELEASE_UNCERTAIN))
    assert read_trusted_texts(address("host1", previous=live)) == {}


def test_a_first_release_has_no_values() -> None:
    assert read_trusted_texts(address("host1")) == {}
