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
def test_keys_named_by_a_backend_are_among_its_settings(facts: object) -> None:
    assert isinstance(facts, type(BACK_ENDS[0]))
    named = {facts.needed, facts.client.address_setting, *dict(facts.defaults)} - {""}
    assert named <= set(facts.settings)


def test_a_kind_without_a_row_has_no_virtue() -> None:
    unknown = back_end_facts("nothing")
    assert not unknown.is_own_folder
    assert not unknown.keeps_conditions


def test_store_variable_belongs_to_one_store_only() -> None:
    assert is_store_variable("objstore1", "OBJSTORE1_ENDPOINT_URL")
    assert is_store_variable("objstore1", "AWS_ENDPOINT_URL_S3")
    assert not is_store_variable("objstore2", "OBJSTORE1_ENDPOINT_URL")
    assert not is_store_variable("local", "OBJSTORE1_ENDPOINT_URL")


def test_variable_shared_with_other_tools_belongs_to_no_backend() -> None:
    assert is_of_other_back_end("local", "OBJSTORE1_ENDPOINT_URL")
    assert is_of_other_back_end("objstore2", "OBJSTORE1_ENDPOINT_URL")
    assert not is_of_other_back_end("objstore1", "OBJSTORE1_ENDPOINT_URL")
    assert not is_of_other_back_end("local", "AWS_ENDPOINT_URL")
    assert not is_of_other_back_end("local", "EDGE1_API_BASE_URL")
