"""Concurrency as records say it: plain words, also where an earlier version wrote another form."""

import pytest

from fabric.model.calls.concurrency import encode_concurrency, format_settings

TOLD = {
    (None, None): "",
    (5, None): "reserved=5",
    (None, 2): "provisioned=2",
    (5, 2): "reserved=5,provisioned=2",
    (0, None): "reserved=0",
}


@pytest.mark.parametrize(("both", "words"), TOLD.items(), ids=str)
def test_concurrency_is_formatted_for_display(
    both: tuple[int | None, int | None], words: str
) -> None:
    settings = (("memory", "(None, None)"), ("concurrency", encode_concurrency(*both)))
    told = (("memory", "(None, None)"), ("concurrency", words))
    assert format_settings(settings) == told
    assert format_settings(told) == told


def test_encoding_of_existing_keys_stays_stable() -> None:
    assert encode_concurrency(5, None) == "(5, None)"
