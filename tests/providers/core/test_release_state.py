"""The values that a release stores, and its result."""

import pytest
from msgspec.structs import replace

from fabric.model.records.record import RELEASE_UNCERTAIN
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.release_state import ReleaseState, build_released, read_kept_texts
from tests.support.orders import address, trigger
from tests.support.records import function, record

KEPT = (("api", "a"), ("version:hello", "1"), ("version:world", "2"))
HELLO = LiveFunction(
    "hello",
    "shop-hello",
    "1",
    "https://h.example/hello",
    triggers=(trigger("http", path="/hello"),),
)


def test_a_first_release_knows_nothing_for_sure() -> None:
    state = read_kept_texts(address())
    assert (state.texts, state.is_sure, state.sure("api")) == ({}, True, "")


@pytest.mark.parametrize("is_sure", [True, False])
def test_values_after_a_failed_release_are_not_trusted(*, is_sure: bool) -> None:
    kept = KEPT if is_sure else (*KEPT, RELEASE_UNCERTAIN)
    state = read_kept_texts(address(previous=record(kept=kept)))
    assert dict(state.texts) == dict(KEPT)
    assert state.sure("api") == ("a" if is_sure else None)


def test_values_of_a_function_end_with_its_whole_name() -> None:
    state = ReleaseState({**dict(KEPT), "version:hello-world": "3"})
    assert state.of_functions(["world"]) == {"version:world": "2"}
    assert state.of_functions([]) == {}


def test_values_of_functions_that_left_the_config_are_kept_until_they_are_deleted() -> None:
    live = record(kept=KEPT, functions=(function(), function("world")))
    state = read_kept_texts(address(previous=live))
    leaving = state.of_leaving(address(previous=live), frozenset({"hello", "new"}))
    assert leaving == {"version:world": "2"}


def test_a_service_has_the_address_of_its_only_public_function() -> None:
    private = LiveFunction("job", "shop-job", "1")
    found = build_released([HELLO, private], {"api": "a"}, lambda one: one.resource_name)
    assert found.endpoint == "https://h.example"
    assert dict(found.outputs) == {
        "url": "https://h.example",
        "url_hello": "https://h.example/hello",
        "arn_hello": "shop-hello",
        "arn_job": "shop-job",
    }
    assert found.kept == (("api", "a"),)


def test_a_service_with_two_public_functions_has_no_address() -> None:
    other = replace(HELLO, name="other")
    found = build_released([HELLO, other], {}, lambda one: "")
    assert found.endpoint == ""
    assert set(dict(found.outputs)) == {"url_hello", "url_other"}
