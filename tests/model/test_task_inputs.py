"""Which inputs of a task affect its cache key."""

from typing import Any

import pytest
from msgspec.structs import replace

from fabric.model.task import EntryKind, Lane, TaskInputs
from fabric.model.task_inputs import (
    INPUTS_BY_KIND,
    RECORD_KINDS,
    BuildInputs,
    DeployInputs,
    PackageInputs,
    ReleaseInputs,
    RemoveInputs,
    VendorInputs,
    WheelInputs,
    build_output_folder,
    list_package_entries,
)

BUILD = BuildInputs("shop", "hello", ".", "src/hello.ts", "nodejs22.x")
VENDOR = VendorInputs("shop", "api", "requests==2\n", "3.12", "linux_x86_64")
SPECS = (
    ("hello", (("memory", "128"),), (("TOKEN", "ab"),)),
    ("world", (("memory", "256"),), ()),
)
DEPLOY = DeployInputs("shop", "", "cloud2", "dev", "real", (("region", "eu"),), SPECS)


@pytest.mark.parametrize(
    "changes",
    [
        {"service": "cart"},
        {"function": "world"},
        {"root": "api"},
        {"apart": "cloud1"},
        {"is_last": True},
        {"is_wanted": False},
        {"is_portable": True},
        {"brought": ("boto3",)},
    ],
    ids=str,
)
def test_names_and_places_do_not_affect_a_build(changes: dict[str, Any]) -> None:
    assert replace(BUILD, **changes).entries() == BUILD.entries()


@pytest.mark.parametrize(
    "changes",
    [
        {"entry": "src/other.ts"},
        {"runtime": "nodejs20.x"},
        {"minify": True},
        {"sourcemap": True},
        {"include": ("a",)},
        {"ignore": ("a",)},
        {"command": ("make",)},
        {"env": (("A", "1"),)},
        {"external": ("a",)},
        {"provided": ("a",)},
        {"architecture": "arm64"},
        {"format": "esm"},
        {"target": "es2022"},
        {"define": (("A", "1"),)},
        {"loader": ((".txt", "text"),)},
        {"tsconfig": "tsconfig.json"},
        {"keep_names": True},
        {"banner": "// b"},
        {"handlers": ("default",)},
        {"methods": ("fetch",)},
    ],
    ids=str,
)
def test_every_build_setting_affects_a_build(changes: dict[str, Any]) -> None:
    assert replace(BUILD, **changes).entries() != BUILD.entries()


def test_an_option_that_is_not_set_is_not_part_of_the_key() -> None:
    names = {one.name for one in BUILD.entries()}
    assert {"minify", "sourcemap"} <= names
    assert names.isdisjoint({"external", "format", "keep_names", "banner", "handlers"})


def test_the_values_of_a_build_environment_are_hashed() -> None:
    (entry,) = [
        one
        for one in replace(BUILD, env=(("TOKEN", "secret"),)).entries()
        if one.kind == EntryKind.ENV
    ]
    assert entry.name == "TOKEN"
    assert "secret" not in entry.value


@pytest.mark.parametrize(
    ("runtime", "command", "lane"),
    [
        ("nodejs22.x", (), Lane.IO),
        ("nodejs22.x", ("make",), Lane.CPU),
        ("python3.12", (), Lane.CPU),
    ],
)
def test_only_bundles_are_built_outside_of_the_cores(
    runtime: str, command: tuple[str, ...], lane: Lane
) -> None:
    assert replace(BUILD, runtime=runtime, command=command).lane is lane


@pytest.mark.parametrize(
    ("root", "apart", "folder"),
    [
        (".", "", ".fabric/build/shop"),
        ("", "", ".fabric/build/shop"),
        ("apps/api", "", "apps/api/.fabric/build/shop"),
        (".", "cloud1", ".fabric/build/shop@cloud1"),
    ],
)
def test_each_service_and_target_has_an_output_directory(
    root: str, apart: str, folder: str
) -> None:
    assert build_output_folder(root, "shop", apart) == folder
    assert replace(BUILD, root=root, apart=apart).shown_in == f"{folder}/hello"


def test_selected_lines_replace_the_lock_file_in_the_key() -> None:
    chosen = replace(VENDOR, selected="requests==2\n", source="requests==2\nother==1\n")
    assert chosen.entries() == replace(chosen, source="requests==2\n").entries()
    assert chosen.entries() != replace(chosen, selected="requests==3\n").entries()
    assert replace(VENDOR, source="requests==3\n").entries() != VENDOR.entries()


@pytest.mark.parametrize(
    "changes", [{"python": "3.13"}, {"platform": "b"}, {"glibc": 34}, {"folders": (("a", "b"),)}]
)
def test_the_target_affects_vendored_packages(changes: dict[str, Any]) -> None:
    assert replace(VENDOR, **changes).entries() != VENDOR.entries()


@pytest.mark.parametrize(
    "changes", [{"service": "cart"}, {"root": "other"}, {"without": ("boto3",)}]
)
def test_services_share_vendored_packages(changes: dict[str, Any]) -> None:
    assert replace(VENDOR, **changes).entries() == VENDOR.entries()


def test_indexes_affect_a_wheel_only_with_several_hashes() -> None:
    wheel = WheelInputs("one", "1.0", ("a",), "3.12", "x86_64", 34)
    assert "indexes" not in {entry.name for entry in wheel.entries()}
    assert replace(wheel, root="other", batch="vendor:x").entries() == wheel.entries()
    assert replace(wheel, indexes="b").entries() != replace(wheel, indexes="c").entries()


def test_an_archive_depends_only_on_its_parts() -> None:
    assert PackageInputs("shop", "hello", ".", brought=("boto3",)).entries() == ()


def test_inputs_of_a_whole_service_name_their_function() -> None:
    names = [one.name for one in DEPLOY.entries()]
    assert names == [
        *("hello.mode", "hello.provider", "hello.stage", "hello.region", "hello.memory"),
        *("hello.TOKEN", "world.mode", "world.provider", "world.stage", "world.region"),
        "world.memory",
    ]


def test_inputs_of_one_function_have_plain_names() -> None:
    one = replace(DEPLOY, function="hello", functions=SPECS[:1])
    assert [entry.name for entry in one.entries()] == [
        *("mode", "provider", "stage", "region", "memory", "TOKEN")
    ]
    assert one.entries() == DEPLOY.entries_of(SPECS[0])


def test_a_release_depends_on_mode_and_place_and_not_on_its_functions() -> None:
    release = ReleaseInputs("shop", "cloud2", "dev", "real", (("region", "eu"),), ("hello",))
    assert replace(release, functions=()).entries() == release.entries()
    assert replace(release, mode="simulated").entries() != release.entries()
    assert replace(release, place=()).entries() != release.entries()


def test_every_kind_that_changes_a_record_has_an_inputs_class() -> None:
    assert set(INPUTS_BY_KIND) > RECORD_KINDS
    kinds = {"layer", "stack", "deploy", "workflow", "release", "remove", "restore"}
    assert kinds == RECORD_KINDS


@pytest.mark.parametrize(
    "inputs", [BUILD, VENDOR, DEPLOY, RemoveInputs("shop", "", "p", "dev", "real")]
)
def test_only_builds_own_their_directory(inputs: TaskInputs) -> None:
    assert isinstance(inputs, TaskInputs)
    assert inputs.owns_folder == (inputs.kind == "build")


def test_packages_of_a_lock_are_entries_with_their_versions() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    lines = (
        "--index-url https://user:secret@index.example/simple",
        "requests[socks]==2.32.0 --hash=sha256:ab",
        f"kit @ git+https://git.example/kit@{commit} ; python_version > '3'",
        "six>=1",
        "lib @ https://user:secret@index.example/lib.whl",
    )
    entries = list_package_entries("\n".join(lines))
    versions = {one.name: one.value.partition(" ")[0] for one in entries}
    assert versions.pop("requirements")
    assert versions == {"requests": "2.32.0", "kit": commit[:7]}
    assert "secret" not in str(entries)


@pytest.mark.parametrize("number", range(3))
def test_each_line_of_a_lock_affects_its_entries(number: int) -> None:
    lines = ["a==1 ; python_version < '3.12'", "a==2 ; python_version >= '3.12'", "b>=1"]
    before = list_package_entries("\n".join(lines))
    lines[number] += " --hash=sha256:ab"
    changed = set(list_package_entries("\n".join(lines))) - set(before)
    assert [one.name for one in changed] == ["a" if number < 2 else "requirements"]
