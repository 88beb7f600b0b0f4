"""`fabric cache status|key`, and what the doctor says of a shared cache."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.project import Done, Project
from tests.support.servers import nginx
from tests.support.servers.faulty_store import StoreFault, faulty_store
from tests.support.servers.fleet import Fleet
from tests.support.servers.nginx import dav_server
from tests.support.shared_caches import CachePlaceOfTests, on_objstore2
from tests.support.two_machines import another_machine, first_machine


@pytest.fixture
def first(tmp_path: Path) -> Project:
    return first_machine(tmp_path)


def checks(done: Done) -> list[dict[str, Any]]:
    return [one for one in done.result["checks"] if one["name"] == "shared-cache"]


def test_nothing_is_shared_without_a_url(first: Project) -> None:
    done = first.json("cache", "status")
    assert done.result["configured"] is False
    assert "not set" in first.fabric("cache", "status").out
    assert checks(first.json("doctor")) == []


def test_status_prints_the_entries_of_this_commit(
    fleet: Fleet, first: Project, tmp_path: Path
) -> None:
    place = on_objstore2(fleet)
    first.json("package", env=place.writing)
    found = another_machine(first, tmp_path).json("cache", "status", env=place.env).result
    assert (found["tasks"], found["segments"], found["scope"]) == (4, 1, "main")
    assert (found["reads"], found["writes"]) == (True, False)
    words = first.fabric("cache", "status", "--cache", "remote:rw", env=place.env).out
    assert "read-write, scope main, 4 tasks in 1 segment" in words


def test_status_ignores_cached_answers(fleet: Fleet, first: Project) -> None:
    place = on_objstore2(fleet)
    first.json("package", env=place.env)
    assert first.json("cache", "status", env=place.env).result["tasks"] == 0
    first.json("package", "--no-cache", env=place.writing)
    assert first.json("cache", "status", env=place.env).result["tasks"] == 4


def test_unreachable_server_is_reported(first: Project) -> None:
    with faulty_store() as store:
        store.fails(StoreFault.FORBIDDEN, "GET")
        done = first.json("cache", "status", env=CachePlaceOfTests(store.address + "/x").env)
    assert done.code == 1
    assert done.error["code"] == "cache/remote-off"
    assert "403" in done.error["message"]


def test_server_that_accepts_every_request_is_reported(first: Project) -> None:
    with faulty_store() as store:
        store.fails(StoreFault.PAGE, "GET", "PUT")
        place = CachePlaceOfTests(store.address + "/x")
        done = first.json("cache", "status", env=place.writing)
        assert (done.code, done.error["code"]) == (1, "cache/remote-off")
        assert "did not return it" in done.error["message"]
        (found,) = checks(first.json("doctor", env=place.writing))
    assert "a login page" in found["fix"]


def test_missing_key_prints_how_to_create_one(first: Project) -> None:
    env = {"FABRIC_REMOTE_CACHE_URL": "https://me:hush@example.invalid"}
    done = first.json("cache", "status", env=env)
    assert (done.code, done.error["code"]) == (1, "cache/remote-off")
    assert "fabric cache key" in done.error["hint"]
    assert "hush" not in json.dumps(done.document)


def test_doctor_reports_a_working_cache(fleet: Fleet, first: Project) -> None:
    place = on_objstore2(fleet)
    (found,) = checks(first.json("doctor", env=place.writing))
    assert found["ok"] is True
    assert "read and write" in found["message"]
    assert checks(first.json("doctor", "--offline", env=place.writing)) == []


def test_doctor_finds_missing_permissions_before_a_run(first: Project) -> None:
    with faulty_store() as store:
        store.fails(StoreFault.LOCKED, "PUT")
        env = CachePlaceOfTests(store.address + "/x").writing
        (found,) = checks(first.json("doctor", env=env))
    assert (found["ok"], found["severity"]) == (False, "warning")
    assert "FABRIC_REMOTE_CACHE_TOKEN" in found["fix"]


def test_lost_connection_is_not_reported_as_a_missing_permission(first: Project) -> None:
    with faulty_store() as store:
        store.fails(StoreFault.RESET, "PUT")
        env = CachePlaceOfTests(store.address + "/x").writing
        (found,) = checks(first.json("doctor", env=env))
    assert (found["ok"], found["severity"]) == (False, "warning")
    assert "check the server and the network" in found["fix"]


@pytest.mark.slow
def test_so_is_a_server_that_takes_small_bodies_only(
    first: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with dav_server(tmp_path_factory.mktemp("small"), largest="1m") as server:
        env = CachePlaceOfTests(server.address, nginx.TOKEN).writing
        (found,) = checks(first.json("doctor", env=env))
    assert found["ok"] is False
    assert "client_max_body_size" in found["fix"]


def test_each_key_is_another_one_and_long_enough(first: Project) -> None:
    keys = {first.fabric("cache", "key").out.strip() for _ in range(3)}
    assert len(keys) == 3
    assert all(len(key) == 43 for key in keys)
    assert first.json("cache", "key").result["key"] not in keys
