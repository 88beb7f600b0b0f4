"""What is owed to caches on real servers, over changes of the cache and outages."""

import contextlib
import socket
import threading
from pathlib import Path

import pytest

from fabric.daemon.cache.redis_store import RedisStore, cache_digest
from tests.daemon.cache.test_redis_store import NOBODY, PATIENT, PREFIX, kept, owed, talker
from tests.support.servers.redis import redis_server
from tests.support.until import until


def lines(folder: Path) -> list[str]:
    return (folder / "owed").read_text().splitlines()


def reached(folder: Path, url: str) -> contextlib.closing[RedisStore]:
    return contextlib.closing(RedisStore(url, PREFIX, owed(folder, url), PATIENT))


def test_next_process_completes_pending_invalidations_for_that_cache_only(
    tmp_path: Path,
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with redis_server(tmp_path / "one") as one, redis_server(tmp_path / "other") as other:
        for server in (one, other):
            with reached(tmp_path, server.url) as store:
                for stage in ("dev", "test"):
                    kept(store, f"plan:abc:{stage}", stage)
        with reached(tmp_path, NOBODY) as away:
            away.clear("dev")
        names = [cache_digest(url, PREFIX) for url in (one.url, other.url, NOBODY)]
        assert lines(tmp_path) == [f"{name} dev" for name in names]
        with reached(tmp_path, other.url) as store:
            store.pay()
        assert lines(tmp_path) == [f"{names[0]} dev", f"{names[2]} dev", names[1]]
        assert f"{PREFIX}plan:abc:dev" in one.names()
        with reached(tmp_path, one.url) as store:
            assert store.find("plan:abc:test", "test").text == b"text"
            assert lines(tmp_path) == [f"{names[2]} dev", names[1], names[0]]
            assert store.find("plan:abc:dev", "dev").text is None
        assert f"{PREFIX}plan:abc:dev" not in other.names()


def test_failed_invalidation_stays_pending_for_that_cache_only(tmp_path: Path) -> None:
    other = "redis://other/0"
    owed(tmp_path, NOBODY).keep_all(["dev"])
    owed(tmp_path, other)
    with reached(tmp_path, NOBODY) as store:
        store.pay()
    assert owed(tmp_path, other).owed == ()
    assert [one.stage for one in owed(tmp_path, NOBODY).owed] == ["dev"]


@pytest.mark.parametrize(
    ("url", "is_same"),
    [
        ("redis://cache:6379/0", True),
        ("redis://user:canary@cache:6379/0", True),
        ("rediss://:canary@cache/0?ssl_ca_certs=/etc/ca.pem", True),
        ("redis://cache/1", False),
        ("redis://cache?db=1", False),
        ("redis://cache:6380", False),
        ("redis://caches", False),
    ],
)
def test_cache_is_identified_by_its_location_not_its_user(url: str, *, is_same: bool) -> None:
    digest = cache_digest("redis://cache", PREFIX)
    assert (cache_digest(url, PREFIX) == digest) is is_same
    assert cache_digest(url, "other:") != cache_digest(url, PREFIX)


def test_invalidation_added_while_its_stage_is_cleared_stays_pending(tmp_path: Path) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def late(client: socket.socket) -> None:
        client.recv(4096)
        asked.set()
        may_answer.wait(PATIENT)
        client.sendall(b"+OK\r\n")
        client.recv(4096)
        client.sendall(b"*0\r\n")

    shared = owed(tmp_path)
    shared.keep_all(["dev"])
    with talker(late) as url, contextlib.ExitStack() as stack:
        paying = RedisStore(url, PREFIX, shared, PATIENT)
        failing = RedisStore(NOBODY, PREFIX, shared)
        stack.callback(paying.close)
        stack.callback(failing.close)
        thread = threading.Thread(target=paying.pay)
        thread.start()
        until(asked.is_set)
        failing.clear("dev")
        may_answer.set()
        thread.join()
        assert paying.is_well
    assert [one.stage for one in shared.owed] == ["dev"]
    assert [one.stage for one in owed(tmp_path).owed] == ["dev"]
