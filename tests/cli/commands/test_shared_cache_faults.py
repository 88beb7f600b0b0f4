"""Whatever a server does: the run is what it would be without one, and says so once."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.model.hashing import hash_bytes, hash_fields
from fabric.model.names import Digest
from fabric.remote.contract import ObjectKind, ObjectName
from fabric.remote.seal import open_object, parse_seal_keys
from tests.support.git import commit
from tests.support.project import Done, Project
from tests.support.servers.faulty_store import FaultyStore, StoreFault, faulty_store
from tests.support.shared_caches import KEY, CachePlaceOfTests
from tests.support.two_machines import CONFIG, SECRET, another_machine, first_machine

TOKEN = "the-token-of-a-test"  # noqa: S105


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store() as made:
        yield made


@pytest.fixture
def env(store: FaultyStore) -> dict[str, str]:
    place = CachePlaceOfTests(f"{store.address}/shared", TOKEN)
    return place.writing


# A server that never answers is waited for, so not for long; all others answer, however late.
_NEVER = (StoreFault.SILENT, StoreFault.TRICKLING_HEAD, StoreFault.TRICKLING_BODY)


def wait_for(fault: StoreFault | None) -> str:
    return "1s" if fault in _NEVER else "60s"


@pytest.fixture
def first(tmp_path: Path) -> Project:
    return first_machine(tmp_path)


@pytest.fixture
def second(first: Project, tmp_path: Path) -> Project:
    return another_machine(first, tmp_path)


def package(machine: Project, env: dict[str, str], fault: StoreFault | None = None) -> Done:
    wait = wait_for(fault)
    given = {**env, "FABRIC_REMOTE_CACHE_WAIT": wait}
    done = machine.json("package", "--remote-cache-upload-wait", wait, env=given)
    assert done.code == 0
    assert TOKEN not in done.err + json.dumps(done.document)
    return done


def warnings(done: Done) -> list[str]:
    return [line for line in done.err.splitlines() if "cache/remote" in line]


every_fault = pytest.mark.parametrize("fault", list(StoreFault), ids=lambda one: str(one.value))


@every_fault
def test_everything_is_built_locally_if_the_store_cannot_be_read(
    store: FaultyStore, env: dict[str, str], first: Project, fault: StoreFault
) -> None:
    store.fails(fault, "GET", "PUT")
    done = package(first, env, fault)
    assert done.result["summary"]["ran"] == 4
    assert done.result["summary"]["remote"]["hits"] == 0
    if fault not in (StoreFault.CUT, StoreFault.ELSEWHERE, StoreFault.PAGE):
        assert len(warnings(done)) == 1


@every_fault
def test_missing_contents_are_built_locally(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project, fault: StoreFault
) -> None:
    made = package(first, env)
    second.json("build", "--function", "one")
    learnt = second.json("plan", "--for", "package", env=env).result
    assert learnt["summary"]["skip"] == 4
    # What was learnt is kept: only packs are wanted now.
    store.fails(fault, "GET", kinds=("cas",))
    store.calls.clear()
    done = package(second, env, fault)
    assert ("GET", "cas") in store.calls
    assert done.result["summary"]["ran"] == 2
    assert second.archives() == first.archives()
    again = {**env, "FABRIC_REMOTE_CACHE_WAIT": wait_for(fault)}
    assert second.json("build", env=again).result["summary"]["failed"] == 0
    assert second.outputs() == first.outputs()
    assert [one["sha256"] for one in done.result["artifacts"]] == [
        one["sha256"] for one in made.result["artifacts"]
    ]


@every_fault
def test_run_succeeds_if_uploads_fail(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project, fault: StoreFault
) -> None:
    store.fails(fault, "PUT")
    done = package(first, env, fault)
    assert done.result["summary"]["ran"] == 4
    store.faults.clear()
    assert package(second, env).code == 0


def test_failed_server_is_not_contacted_for_a_while(
    store: FaultyStore, env: dict[str, str], first: Project
) -> None:
    store.fails(StoreFault.BROKEN, "GET", "PUT")
    package(first, env)
    before = len(store.calls)
    first.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    shortcuts = {**env, "FABRIC_NO_SHORTCUTS": "1"}
    assert len(warnings(package(first, shortcuts))) == 1
    assert len(store.calls) == before


def test_a_redirect_to_another_host_is_sent_no_token(
    store: FaultyStore, env: dict[str, str], first: Project
) -> None:
    store.fails(StoreFault.ELSEWHERE, "GET", kinds=("ac",))
    package(first, env)
    assert f"Bearer {TOKEN}" in store.tokens
    assert "" in store.tokens, "who was led elsewhere came without it"


def test_no_object_holds_a_value_or_a_plain_digest_of_an_input(
    store: FaultyStore, env: dict[str, str], tmp_path: Path
) -> None:
    """Of a command all files of a service are inputs, and all its variables."""
    command = "build: {command: [sh, -c, 'cp src/*.py $FABRIC_OUT_DIR']}\n"
    machine = first_machine(tmp_path, CONFIG + command)
    machine.write({"pin.txt": "4711"})
    package(machine, env)
    digests = (hash_fields((SECRET,)), hash_bytes(SECRET.encode()), hash_bytes(b"4711"))
    bodies = [opened(path, stored) for path, stored in store.objects.items()]
    assert any(b"pin.txt" in body for body in bodies)
    for canary in (SECRET, *digests):
        assert not any(canary.encode() in body for body in (*bodies, *store.objects.values()))


def opened(path: str, stored: bytes) -> bytes:
    """What is in an object, for who has the key."""
    digest = Digest(path.rpartition("/")[2])
    kinds = (ObjectKind.HEAD,) if "/ac/" in path else (ObjectKind.SEGMENT, ObjectKind.PACK)
    found = [open_object(parse_seal_keys(KEY), ObjectName(kind, digest), stored) for kind in kinds]
    (body,) = [one.body for one in found if one]
    return body


def test_corrupt_pack_is_not_used(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project
) -> None:
    package(first, env)
    for path, stored in list(store.objects.items()):
        if "/cas/" in path:
            store.objects[path] = stored[:-1] + bytes([stored[-1] ^ 1])
    done = package(second, env)
    assert done.result["summary"]["ran"] == 4
    assert second.outputs() == first.outputs()


def test_an_edit_needs_no_network(store: FaultyStore, env: dict[str, str], first: Project) -> None:
    package(first, env)
    package(first, env)
    before = len(store.calls)
    package(first, env)
    first.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    assert package(first, env).result["summary"]["ran"] == 2
    assert len(store.calls) == before


def test_another_commit_triggers_a_new_query(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project
) -> None:
    package(second, env)
    package(second, env)
    for machine in (first, second):
        machine.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
        commit(machine)
    package(first, env)
    assert package(second, env).result["summary"]["remote"]["hits"] == 2


def test_a_head_of_yesterday_is_only_older(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project
) -> None:
    """Who puts an old head in the place of a new one hides results, and adds none."""
    package(first, env)
    heads = {path: stored for path, stored in store.objects.items() if "/ac/" in path}
    first.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    package(first, {**env, "FABRIC_NO_SHORTCUTS": "1"})
    store.objects.update(heads)
    second.write({"src/two.py": "def handler(event, context):\n    return 22\n"})
    done = package(second, env)
    assert (done.result["summary"]["ran"], done.result["summary"]["remote"]["hits"]) == (2, 2)
    assert second.archives() == first.archives()


def test_heads_that_change_places_lead_nowhere(
    store: FaultyStore, env: dict[str, str], first: Project, second: Project
) -> None:
    package(first, env)
    heads = [path for path in store.objects if "/ac/" in path]
    assert len(heads) == 2
    stored = [store.objects[path] for path in reversed(heads)]
    store.objects.update(zip(heads, stored, strict=True))
    assert package(second, env).result["summary"]["ran"] == 4
