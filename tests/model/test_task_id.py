"""Task ids: built and parsed."""

import pytest

from fabric.model.task_id import (
    TaskId,
    TaskName,
    build_dns_sync_id,
    build_task_id,
    is_kind,
    name_of,
    package_of,
    parse_task_kind,
    release_id,
    remove_target_suffix,
)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("vendor:0a1b", TaskName("vendor", "0a1b")),
        ("build:shop/hello", TaskName("build", "shop", "hello")),
        ("release:shop@cloud1", TaskName("release", "shop", "", "cloud1")),
        ("deploy:shop/hello@cloud1", TaskName("deploy", "shop", "hello", "cloud1")),
    ],
)
def test_an_id_is_parsed_into_the_parts_it_was_built_from(task: str, name: TaskName) -> None:
    assert name_of(task) == name
    assert name.id == task
    assert build_task_id(*name) == task
    assert parse_task_kind(task) == name.kind


@pytest.mark.parametrize(
    ("task", "shared"),
    [
        ("build:shop/hello@cloud1", "build:shop/hello"),
        ("package:shop/hello@cloud1", "package:shop/hello"),
        ("package:shop/hello", "package:shop/hello"),
        ("deploy:shop/hello@cloud1", "deploy:shop/hello@cloud1"),
        ("release:shop@cloud1", "release:shop@cloud1"),
    ],
)
def test_only_builds_and_packages_are_shared_between_targets(task: str, shared: str) -> None:
    assert remove_target_suffix(TaskId(task)) == shared


def test_the_package_of_a_function_is_found_for_any_target() -> None:
    needs = [TaskId("package:shop/world@a"), TaskId("package:shop/hello@a")]
    assert package_of(needs, "shop", "hello") == "package:shop/hello@a"
    assert package_of(needs, "shop", "other") == "package:shop/other"


def test_a_kind_is_the_whole_word_before_the_colon() -> None:
    assert is_kind("release:shop@a", "release")
    assert not is_kind("releases:shop@a", "release")


def test_a_dns_task_is_named_by_stage_and_a_release_by_provider() -> None:
    assert build_dns_sync_id("shop", "dev") == "dns-sync:shop@dev"
    assert release_id("shop", "cloud1") == "release:shop@cloud1"
