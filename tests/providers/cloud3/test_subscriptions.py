"""Triggers of blobs: event subscriptions at the storage account, and the events that they bring."""

import pytest
from msgspec.structs import replace

from tests.providers.cloud3.test_provider import problem_of, python_order
from tests.support.cloud3_site import Cloud3Site
from tests.support.orders import HTTP, trigger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

CREATED, REMOVED = "objstore1:ObjectCreated:*", "objstore1:ObjectRemoved:*"
_HANDLER = "export const handler = async (event) => console.log(JSON.stringify(event));"


def bucket(prefix: str = "in/", *events: str) -> str:
    asked = list(events or (CREATED,))
    filters = {"prefix": prefix, "suffix": ".png", "events": asked}
    return trigger("storage", bucket="pictures", existingBucket=True, **filters)


def test_a_changed_blob_that_matches_the_filter_is_a_record(site: Cloud3Site) -> None:
    site.up(site.order("resize", HTTP, bucket("in/", CREATED, REMOVED), source=_HANDLER))
    assert site.cloud3.change_blob("pictures", "in/a b.png") == [202]
    assert '"eventName":"ObjectCreated:Put"' in site.cloud3.log
    assert '"key":"in/a+b.png","size":7,"eTag":"0x8D4BCC2E4835CD0"' in site.cloud3.log
    assert site.cloud3.change_blob("pictures", "in/a.png", "BlobDeleted") == [202]
    assert '"eventName":"ObjectRemoved:Delete"' in site.cloud3.log
    others = [("pictures", "out/a.png"), ("pictures", "in/a.jpg"), ("other", "in/a.png")]
    assert [site.cloud3.change_blob(*one) for one in others] == [[], [], []]


def test_a_python_function_gets_the_same_record(site: Cloud3Site) -> None:
    site.up(python_order(site, "resize", "x", bucket()))
    assert site.cloud3.change_blob("pictures", "in/a b.png") == [202]
    assert "'key': 'in/a+b.png', 'size': 7" in site.cloud3.log
    assert "'eventTime': '2026-01-02T03:04:05Z'" in site.cloud3.log


def test_a_changed_filter_replaces_the_subscription(site: Cloud3Site) -> None:
    first, second = bucket("in/"), bucket("new/")
    site.up(site.order("resize", first, second))
    site.reset()
    site.up(site.order("resize", bucket("old/"), second))
    actions = site.cloud3.actions()
    assert (actions["put_subscription"], actions["delete_subscription"]) == (1, 1)
    found = [site.cloud3.change_blob("pictures", f"{one}/a.png") for one in ("in", "old", "new")]
    assert found == [[], [202], [202]]


def test_a_subscription_ends_with_its_trigger_and_returns_with_a_rollback(
    site: Cloud3Site,
) -> None:
    with_bucket = site.order("hello", HTTP, bucket())
    site.up(with_bucket)
    then = site.live("hello").resource_id
    site.up(site.order("hello", HTTP))
    assert site.cloud3.change_blob("pictures", "in/a.png") == []
    site.reset()
    site.up(site.order("hello", HTTP, word="two"))
    assert not site.cloud3.actions()["list_subscriptions"]
    site.up(replace(with_bucket, version=then))
    assert site.cloud3.change_blob("pictures", "in/a.png") == [202]


def test_subscriptions_of_others_stay(site: Cloud3Site) -> None:
    site.up(site.order("hello", bucket()))
    site.cloud3.storage.subscriptions["theirs"] = {"filter": {"includedEventTypes": []}}
    site.up(site.order("hello", bucket("new/")))
    site.cloud3.storage.containers["pictures"] = {}
    site.dissolve()
    assert list(site.cloud3.storage.subscriptions) == ["theirs"]


def test_a_missing_subscription_is_found(site: Cloud3Site) -> None:
    site.up(site.order("hello", bucket()))
    [name] = site.cloud3.storage.subscriptions
    site.cloud3.storage.subscriptions.clear()
    lost = site.deployer.missing(site.address(site.record), ())
    assert list(lost) == [f"the event subscription `{name}`"]


def test_an_unregistered_namespace_is_reported_with_the_command(site: Cloud3Site) -> None:
    site.cloud3.group.is_grid_registered = False
    error = problem_of(lambda: site.up(site.order("hello", bucket())))
    assert "az provider register --namespace Microsoft.EventGrid" in error.first.hint
