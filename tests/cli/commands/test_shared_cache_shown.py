"""What others built is brought here where somebody asked for it, and not to be shown beside."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from fabric.app.caching.shared_cache import list_head_names
from fabric.remote.contract import ChangingCarrier
from fabric.remote.heads import WHOLE_SECONDS, decode_head, encode_head
from fabric.remote.seal import build_head_name, open_object, parse_seal_keys, seal_head
from tests.support.project import Project, environment, in_child
from tests.support.servers.fleet import Fleet
from tests.support.shared_caches import KEY, CachePlaceOfTests, on_objstore2
from tests.support.two_machines import CONFIG, another_machine, first_machine

SLOWLY = {"FABRIC_NO_SHORTCUTS": "1"}
BUILT = ".fabric/build/shop/one/src/one.py"


@pytest.fixture
def place(fleet: Fleet) -> CachePlaceOfTests:
    return on_objstore2(fleet)


@pytest.fixture
def first(tmp_path: Path) -> Project:
    return first_machine(tmp_path)


@pytest.fixture
def second(first: Project, place: CachePlaceOfTests, tmp_path: Path) -> Project:
    """Has packaged what the first one made; it runs the installed command."""
    first.json("package", env=place.writing)
    made = replace(another_machine(first, tmp_path), runs=in_child)
    assert ran(made, place.env) == 0
    return made


def ran(machine: Project, env: dict[str, str], verb: str = "package") -> int:
    found = machine.json(verb, env=env).result["summary"]["ran"]
    assert isinstance(found, int)
    return found


def is_built(machine: Project) -> bool:
    return (machine.root / BUILT).exists()


def made_older(machine: Project, place: CachePlaceOfTests) -> None:
    """Its heads say that all was sent longer ago than it may be."""
    keys = parse_seal_keys(KEY)
    with place.carrier() as carrier:
        assert isinstance(carrier, ChangingCarrier)
        for word in list_head_names(machine.root, environment(machine.home)).write:
            name = build_head_name("main", word)
            stored = carrier.get(name)
            opened = open_object(keys, name, stored) if stored else None
            head = decode_head(opened.body) if opened else None
            assert head is not None, word
            older = structs.replace(head, whole_since=head.whole_since - WHOLE_SECONDS)
            content = seal_head(keys, name, encode_head(older))
            carrier.change(name, partial(_instead, content))


def _instead(content: bytes, _: bytes | None) -> bytes:
    return content


def test_builds_that_are_not_requested_are_not_downloaded(
    second: Project, place: CachePlaceOfTests
) -> None:
    assert not is_built(second)
    for env in (place.env, place.env, {**place.env, **SLOWLY}, {}, SLOWLY):
        assert ran(second, env) == 0
        assert not is_built(second)
    planned = second.json("plan", "--for", "package", env=SLOWLY).result["summary"]
    assert (planned["run"], planned["skip"]) == (0, 4)


def test_requested_build_is_downloaded(
    second: Project, first: Project, place: CachePlaceOfTests
) -> None:
    assert ran(second, place.env, "build") == 0
    assert second.outputs() == first.outputs()
    assert ran(second, {}) == 0


def test_requested_build_is_built_without_the_shared_cache(second: Project, first: Project) -> None:
    assert ran(second, {}, "build") == 2
    assert second.outputs() == first.outputs()


@pytest.mark.parametrize("env", [{}, SLOWLY], ids=["with shortcuts", "without"])
def test_a_folder_that_is_there_is_put_right(
    env: dict[str, str], second: Project, first: Project, place: CachePlaceOfTests
) -> None:
    ran(second, {**place.env, **env})
    second.write({BUILT: "of another day", ".fabric/build/shop/one/odd.txt": ""})
    assert ran(second, {**place.env, **env}) == 0
    whole = first.outputs()
    assert second.outputs() == {
        path: seen for path, seen in whole.items() if not f"{path}/".startswith("shop/two/")
    }


def test_edited_function_is_built_and_the_rest_is_not_downloaded(
    second: Project, place: CachePlaceOfTests
) -> None:
    second.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    assert ran(second, place.env) == 2
    assert (second.root / ".fabric/build/shop/two/src/two.py").exists()
    assert not is_built(second)
    for env in (place.env, {}, SLOWLY):
        assert ran(second, env) == 0


def test_first_package_run_reuses_builds_of_others(
    first: Project, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    first.json("build", env=place.writing)
    third = another_machine(first, tmp_path / "third")
    assert ran(third, place.writing) == 2
    first.json("package", env=place.env)
    assert third.archives() == first.archives()
    fourth = another_machine(first, tmp_path / "fourth")
    assert ran(fourth, place.env) == 0


def test_command_build_is_downloaded_completely(place: CachePlaceOfTests, tmp_path: Path) -> None:
    """Made again it might be other bytes, and then its archive would fit no more."""
    command = "build: {command: [sh, -c, 'cp -r src $FABRIC_OUT_DIR']}"
    config = CONFIG.replace("functions:", f"{command}\nfunctions:")
    first = first_machine(tmp_path, config)
    first.json("package", env=place.writing)
    second = replace(another_machine(first, tmp_path), home=first.home)
    assert ran(second, place.env) == 0
    assert second.outputs() == first.outputs()


def test_result_not_downloaded_is_still_uploaded_again(
    first: Project, place: CachePlaceOfTests, tmp_path: Path
) -> None:
    """When all is due to be sent again: servers throw away what is old."""
    first.json("package", env=place.writing)
    made_older(first, place)
    second = another_machine(first, tmp_path)
    done = second.json("package", env=place.writing).result["summary"]
    assert (done["ran"], done["remote"]["hits"]) == (0, 4)
    assert done["remote"]["sentBytes"] > 0
    third = another_machine(first, tmp_path / "third")
    assert ran(third, place.env, "build") == 0
    assert ran(third, place.env) == 0
