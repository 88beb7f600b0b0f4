"""Answers on a real Redis server: what is found, what is not, and what an outage costs."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabric.daemon.cache.pending_invalidations import PendingInvalidations
from fabric.daemon.cache.redis_store import MOST_BYTES, RedisStore, cache_digest
from fabric.model.problems import FabricError
from tests.support.servers.redis import RedisServer, redis_server
from tests.support.until import until

if TYPE_CHECKING:
    from fabric.daemon.cache.answers import Lookup

PREFIX = "team:"
# A busy machine is no outage.
PATIENT = 10.0
NOBODY = "redis://127.0.0.1:1/0"


def owed(folder: Path, url: str = "redis://cache/0") -> PendingInvalidations:
    told: list[str] = []
    return PendingInvalidations(folder / "owed", told.append, cache_digest(url, PREFIX))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as made:
        yield made


@pytest.fixture
def store(server: RedisServer, tmp_path: Path) -> Iterator[RedisStore]:
    with contextlib.closing(server.client()) as client:
        client.flushall()
    with contextlib.closing(RedisStore(server.url, PREFIX, owed(tmp_path), PATIENT)) as made:
        yield made


def kept(store: RedisStore, key: str, stage: str, text: bytes = b"text") -> bool:
    epoch = store.find(key, stage).epoch
    assert epoch is not None
    return store.keep(key, stage, text, epoch, 60)


def test_stored_entry_is_found_only_under_its_key(store: RedisStore, server: RedisServer) -> None:
    assert store.find("plan:abc:dev", "dev").text is None
    assert kept(store, "plan:abc:dev", "dev")
    assert store.find("plan:abc:dev", "dev").text == b"text"
    assert store.find("plan:abd:dev", "dev").text is None
    assert "team:plan:abc:dev" in server.names()


def test_entry_expires_after_the_given_time(store: RedisStore, server: RedisServer) -> None:
    kept(store, "plan:abc:dev", "dev")
    with contextlib.closing(server.client()) as client:
        assert 59_000 < int(client.pttl("team:plan:abc:dev")) <= 60_000


def test_clear_deletes_only_entries_of_its_stage(store: RedisStore, server: RedisServer) -> None:
    for number in range(1_203):
        kept(store, f"plan:{number}:dev", "dev")
    kept(store, "plan:abc:prod", "prod")
    with contextlib.closing(server.client()) as client:
        client.set("somebody:else:dev", "x")
    store.clear("dev")
    ends = {key.rpartition(":")[0] for key in server.names() if key.endswith(":dev")}
    assert ends == {"somebody:else"}
    assert store.find("plan:abc:prod", "prod").text == b"text"
    assert store.find("plan:7:dev", "dev").text is None


def test_entry_started_before_a_clear_is_not_stored_after_it(store: RedisStore) -> None:
    epoch = store.find("plan:abc:dev", "dev").epoch
    assert epoch is not None
    store.clear("dev")
    assert not store.keep("plan:abc:dev", "dev", b"stale", epoch, 60)
    assert store.find("plan:abc:dev", "dev").text is None


def test_an_epoch_that_was_lost_is_another_one(store: RedisStore, server: RedisServer) -> None:
    epoch = store.find("plan:abc:dev", "dev").epoch
    assert epoch is not None
    store.keep("plan:abc:dev", "dev", b"text", epoch, 60)
    with contextlib.closing(server.client()) as client:
        client.delete("team:dev:#epoch")
    assert store.find("plan:abc:dev", "dev").text is None
    assert not store.keep("plan:abc:dev", "dev", b"stale", epoch, 60)


def test_oversized_entry_is_neither_stored_nor_returned(
    store: RedisStore, server: RedisServer
) -> None:
    assert not kept(store, "plan:abc:dev", "dev", b"x" * (MOST_BYTES + 1))
    kept(store, "plan:abc:dev", "dev", b"x")
    with contextlib.closing(server.client()) as client:
        client.append("team:plan:abc:dev", "y" * 3 * MOST_BYTES)
    found = store.find("plan:abc:dev", "dev").text
    assert found is None or len(found) <= MOST_BYTES
    assert store.is_well


def test_a_row_of_another_kind_is_not_there(store: RedisStore, server: RedisServer) -> None:
    with contextlib.closing(server.client()) as client:
        client.lpush("team:plan:abc:dev", "x")
        client.set("team:dev:#epoch", "short")
    assert store.find("plan:abc:dev", "dev").text is None


def test_many_at_once_find_and_keep_without_a_mix_up(store: RedisStore) -> None:
    wrong: list[str] = []

    def work(name: int) -> None:
        for number in range(100):
            key = f"plan:{name}-{number}:dev"
            kept(store, key, "dev", key.encode())
            if store.find(key, "dev").text != key.encode():
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_client_certificate_opens_a_server_that_asks_for_one(tmp_path: Path) -> None:
    with redis_server(tmp_path, has_tls=True) as server:
        store = RedisStore(server.url, PREFIX, owed(tmp_path), PATIENT)
        assert kept(store, "plan:abc:dev", "dev")
        assert store.find("plan:abc:dev", "dev").text == b"text"
        store.close()
        unknown = RedisStore(server.url.partition("&ssl_certfile")[0], PREFIX, owed(tmp_path))
        assert unknown.find("plan:abc:dev", "dev").epoch is None
        assert not unknown.is_well
        unknown.close()


def test_a_server_that_went_away_and_came_back_has_nothing_stale(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        store = RedisStore(server.url, PREFIX, owed(tmp_path), 1.0)
        kept(store, "plan:abc:dev", "dev")
        with contextlib.closing(server.client()) as client:
            client.client_pause(3_000)
        store.clear("dev")
        assert not store.is_well
        found: list[Lookup] = []

        def is_back() -> bool:
            store._breaker.went_well()  # noqa: SLF001 - as five seconds later
            found.append(store.find("plan:abc:dev", "dev"))
            return found[-1].epoch is not None

        until(is_back)
        assert [one.text for one in found] == [None] * len(found)
        store.close()


@contextlib.contextmanager
def talker(say: Callable[[socket.socket], None]) -> Iterator[str]:
    """Somebody who listens where a Redis server should, and is none."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    threading.Thread(target=told, args=(client,), daemon=True).start()

        def told(client: socket.socket) -> None:
            with client, contextlib.suppress(OSError):
                say(client)

        threading.Thread(target=serve, daemon=True).start()
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"


def silent(client: socket.socket) -> None:
    while client.recv(4096):
        pass


def slow(client: socket.socket) -> None:
    client.recv(4096)
    for _ in range(1_000):
        client.sendall(b"$")
        time.sleep(0.05)


def lying(client: socket.socket) -> None:
    client.recv(4096)
    client.sendall(b"$4000000000\r\n")
    while True:
        client.sendall(b"x" * 65_536)


def web(client: socket.socket) -> None:
    client.recv(4096)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def nonsense(client: socket.socket) -> None:
    client.recv(4096)
    client.sendall(b"*1000000000\r\n" + b"\xff\x00" * 9999)


@pytest.mark.parametrize("say", [silent, slow, lying, web, nonsense], ids=lambda one: one.__name__)
def test_server_that_is_not_redis_is_a_miss_and_is_not_called_again(
    say: Callable[[socket.socket], None], tmp_path: Path
) -> None:
    with talker(say) as url, contextlib.closing(RedisStore(url, PREFIX, owed(tmp_path))) as store:
        assert store.find("plan:abc:dev", "dev").epoch is None
        assert not store.is_well
        assert store.find("plan:abc:dev", "dev").epoch is None


def test_unreachable_server_is_a_miss(tmp_path: Path) -> None:
    with contextlib.closing(RedisStore(NOBODY, PREFIX, owed(tmp_path))) as store:
        assert store.find("plan:abc:dev", "dev").text is None


def test_an_address_that_cannot_be_read_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        RedisStore("redis://user:canary@host:notaport/0", PREFIX, owed(tmp_path))
    assert "canary" not in str(caught.value)
