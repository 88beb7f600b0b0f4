"""Versions that no deployment goes back to any more are deleted with the next change."""

import pytest
from msgspec.structs import replace

from fabric.model.records.endings import HISTORY
from tests.support.cloud1_site import Cloud1Site

pytestmark = pytest.mark.slow


def numbers(site: Cloud1Site) -> list[int]:
    client = site.cloud1.client("lambda")
    pages = client.get_paginator("list_versions_by_function")
    found = [
        one["Version"]
        for page in pages.paginate(FunctionName="shop-dev-hello")
        for one in page["Versions"]
    ]
    return [int(one) for one in found if one != "$LATEST"]


def forget(site: Cloud1Site, keeps: int) -> None:
    """As a history does with its oldest deployments."""
    assert site.record is not None
    site.record = replace(site.record, history=site.record.history[:keeps])


def test_every_version_of_the_history_stays(site: Cloud1Site) -> None:
    for number in range(4):
        site.up(site.order("hello", word=str(number)))
    assert "lambda.ListVersionsByFunction" not in site.cloud1.calls()
    assert numbers(site) == [1, 2, 3, 4]


def test_version_outside_the_history_is_deleted_with_one_call(site: Cloud1Site) -> None:
    for number in range(4):
        site.up(site.order("hello", word=str(number)))
    forget(site, 1)
    site.cloud1.reset()
    site.up(site.order("hello", word="new"))
    assert numbers(site) == [4, 5]
    assert site.cloud1.calls()["lambda.DeleteFunction"] == 3
    site.cloud1.reset()
    site.up(site.order("hello", word="newer"))
    assert "lambda.DeleteFunction" not in site.cloud1.calls()


def test_unreleased_version_is_deleted_too(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    site.deploy(site.order("hello", word="never"))
    site.up(site.order("hello", word="two"))
    assert numbers(site) == [1, 3]


def test_version_held_by_another_alias_is_not_deleted_and_is_reported(site: Cloud1Site) -> None:
    site.up(site.order("hello"))
    client = site.cloud1.client("lambda")
    client.create_alias(FunctionName="shop-dev-hello", Name="held", FunctionVersion="1")
    for word in ("two", "three"):
        forget(site, 0)
        site.up(site.order("hello", word=word))
    assert 1 in numbers(site)
    assert any("version 1 could not be deleted" in line for line in site.talk)
    client.delete_alias(FunctionName="shop-dev-hello", Name="held")
    forget(site, 0)
    site.up(site.order("hello", word="four"))
    assert 1 not in numbers(site)


def test_versions_are_listed_if_the_record_lacks_them(site: Cloud1Site) -> None:
    for word in ("one", "two"):
        site.up(site.order("hello", word=word))
    assert site.record is not None
    kept = tuple(pair for pair in site.record.kept if pair[0] != "versions:hello")
    site.record = replace(site.record, kept=kept)
    forget(site, 1)
    site.up(site.order("hello", word="three"))
    assert numbers(site) == [2, 3]


def test_long_history_costs_one_extra_call_per_deleted_version(site: Cloud1Site) -> None:
    site.cloud1.changes_take(0)
    for number in range(HISTORY + 1):
        site.up(site.order("hello", word=str(number)))
    assert len(numbers(site)) == HISTORY + 1
    site.cloud1.reset()
    site.up(site.order("hello", word="new"))
    assert len(numbers(site)) == HISTORY + 1
    assert site.cloud1.calls()["lambda.DeleteFunction"] == 1
