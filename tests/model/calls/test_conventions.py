"""The calling convention of a handler: by provider, language and triggers."""

import pytest

from fabric.model.calls.conventions import AS_EVENTS, CONVENTIONS, Convention, find_conventions
from fabric.model.catalog import PROVIDER_IDS


def test_every_provider_has_conventions() -> None:
    assert set(CONVENTIONS) == set(PROVIDER_IDS)


@pytest.mark.parametrize(
    ("provider", "runtime", "kinds", "expected"),
    [
        ("cloud1-lambda", "nodejs22.x", ["http"], Convention.EVENT),
        ("cloud2-functions", "nodejs22.x", [], Convention.REQUEST_RESPONSE),
        ("cloud2-functions", "nodejs22.x", ["http", "cron"], Convention.REQUEST_RESPONSE),
        ("cloud2-functions", "nodejs22.x", ["cron"], Convention.CLOUD_EVENT),
        ("cloud2-functions", "python3.12", ["http"], Convention.REQUEST),
        ("cloud3-functions", "python3.12", ["queue"], Convention.MESSAGE),
        ("cloud5-functions", "python3.12", ["http"], Convention.HTTP_ARGUMENTS),
        ("cloud6-functions", "nodejs22.x", ["cron"], Convention.ARGUMENTS),
        ("edge1-workers", "nodejs22.x", ["queue"], Convention.WORKER),
        ("host2", "python3.12", ["http"], Convention.APP),
    ],
)
def test_triggers_and_language_select_the_convention(
    provider: str, runtime: str, kinds: list[str], expected: Convention
) -> None:
    assert find_conventions(provider).of(runtime).convention(kinds) is expected


def test_an_unknown_provider_calls_with_events() -> None:
    assert find_conventions("of-a-plugin") is AS_EVENTS
    assert find_conventions("of-a-plugin").of("nodejs22.x").convention(["http"]) is Convention.EVENT


def test_a_worker_is_an_object_with_one_of_its_methods() -> None:
    assert find_conventions("edge1-workers").of("nodejs22.x").methods[:2] == ("fetch", "scheduled")
    assert find_conventions("cloud1-lambda").of("nodejs22.x").methods == ()
