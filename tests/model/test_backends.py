"""The table of back ends: what is asked of it is told by a row, and never by a kind's name."""

import pytest

from fabric.model.backends import (
    BACK_ENDS,
    BackendKind,
    back_end_facts,
    is_of_other_back_end,
    is_store_variable,
)


def test_every_kind_has_one_row() -> None:
    assert [facts.kind for facts in BACK_ENDS] == list(BackendKind)


def test_a_setting_belongs_to_one_kind() -> None:
    settings = [key for facts in BACK_ENDS for key in facts.settings]
    assert len(settings) == len(set(settings))


@pytest.mark.parametrize("facts", BACK_ENDS)
def test_what_a_row_names_is_a_setting_of_it(facts: object) -> None:
    assert isinstance(facts, type(BACK_ENDS[0]))
    named = {facts.needed, facts.address_setting, *dict(facts.defaults)} - {""}
    assert named <= set(facts.settings)


def test_a_kind_without_a_row_has_no_virtue() -> None:
    unknown = back_end_facts("nothing")
    assert not unknown.is_own_folder
    assert not unknown.keeps_conditions


def test_an_address_of_one_store_is_nothing_to_the_others() -> None:
    assert is_store_variable("objstore1", "OBJSTORE1_ENDPOINT_URL")
    assert is_store_variable("objstore1", "AWS_ENDPOINT_URL_S3")
    assert not is_store_variable("objstore2", "OBJSTORE1_ENDPOINT_URL")
    assert not is_store_variable("local", "OBJSTORE1_ENDPOINT_URL")


def test_a_variable_that_others_than_stores_read_is_nobody_elses() -> None:
    assert is_of_other_back_end("local", "OBJSTORE1_ENDPOINT_URL")
    assert is_of_other_back_end("objstore2", "OBJSTORE1_ENDPOINT_URL")
    assert not is_of_other_back_end("objstore1", "OBJSTORE1_ENDPOINT_URL")
    assert not is_of_other_back_end("local", "AWS_ENDPOINT_URL")
    assert not is_of_other_back_end("local", "EDGE1_API_BASE_URL")
