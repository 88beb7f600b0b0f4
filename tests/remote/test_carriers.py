"""One contract for all carriers, on servers as their users run them."""

import threading
from collections.abc import Iterator
from random import Random

import pytest

from fabric.model.hashing import hash_bytes
from fabric.remote.contract import (
    CAPS,
    Carrier,
    CarrierError,
    CarrierRefusedError,
    ChangingCarrier,
    ObjectKind,
    ObjectName,
    OversizedError,
    change_object,
)
from fabric.remote.seal import build_head_name
from tests.support.servers import nginx
from tests.support.servers.faulty_store import StoreFault, faulty_store
from tests.support.servers.fleet import Fleet
from tests.support.servers.moto import KEYS
from tests.support.servers.nginx import dav_server
from tests.support.servers.process import free_port
from tests.support.shared_caches import (
    ALL,
    CachePlaceOfTests,
    Makes,
    on_nginx,
    on_objstore2,
    on_turbo,
)

CREDENTIALS = ("CLOUD1_SECRET_ACCESS_KEY", "OBJSTORE2_ACCESS_TOKEN", "OBJSTORE3_KEY")
HEAD = build_head_name("main", "latest/main")


def endpoints(address: str) -> dict[str, str]:
    """Credentials of nobody, and where they lead."""
    return {
        **KEYS,
        "OBJSTORE1_ENDPOINT_URL": address,
        "OBJSTORE2_ACCESS_TOKEN": "of-a-test",
        "OBJSTORE2_ENDPOINT_URL": address,
        "OBJSTORE3_ACCOUNT": "test",
        "OBJSTORE3_KEY": "b2YtYS10ZXN0",
        "OBJSTORE3_ENDPOINT_URL": address,
    }


def named(content: bytes, kind: ObjectKind = ObjectKind.PACK) -> ObjectName:
    return ObjectName(kind, hash_bytes(content))


@pytest.fixture
def place(fleet: Fleet, request: pytest.FixtureRequest) -> CachePlaceOfTests:
    made: Makes = request.param
    return made(fleet)


@pytest.fixture
def carrier(place: CachePlaceOfTests) -> Iterator[Carrier]:
    with place.carrier() as opened:
        yield opened


every = pytest.mark.parametrize("place", ALL, indirect=True)


@every
def test_stored_object_can_be_fetched(carrier: Carrier) -> None:
    contents = [b"", b"small", Random(1).randbytes(CAPS[ObjectKind.PACK])]
    for content in contents:
        for kind in (ObjectKind.SEGMENT, ObjectKind.PACK):
            carrier.put(named(content, kind), content)
            assert carrier.get(named(content, kind)) == content


@every
def test_missing_object_reads_as_none(carrier: Carrier) -> None:
    assert carrier.get(HEAD) is None
    assert carrier.get(named(b"nobody put this")) is None


@every
def test_the_same_object_may_be_put_again(carrier: Carrier) -> None:
    carrier.put(named(b"twice"), b"twice")
    carrier.put(named(b"twice"), b"twice")
    assert carrier.get(named(b"twice")) == b"twice"


@every
def test_head_changes_are_applied_in_order(carrier: Carrier) -> None:
    change_object(carrier, HEAD, lambda before: (before or b"") + b"a")
    change_object(carrier, HEAD, lambda before: (before or b"") + b"b")
    assert carrier.get(HEAD) == b"ab"


@every
def test_conditional_writes_lose_no_concurrent_change(
    place: CachePlaceOfTests, carrier: Carrier
) -> None:
    assert isinstance(carrier, ChangingCarrier) is place.keeps_conditions
    if not place.keeps_conditions:
        return
    words = [f"<{number}>".encode() for number in range(8)]

    def add(word: bytes) -> None:
        change_object(carrier, HEAD, lambda before: (before or b"") + word)

    writers = [threading.Thread(target=add, args=(word,)) for word in words]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    found = carrier.get(HEAD) or b""
    assert sorted(found.replace(b">", b"> ").split()) == sorted(words)


@every
def test_oversized_object_is_not_read(carrier: Carrier) -> None:
    large = b"x" * (CAPS[ObjectKind.HEAD] + 1)
    carrier.put(HEAD, large)
    with pytest.raises(Exception, match="exceeds"):
        carrier.get(HEAD)


@every
def test_its_place_holds_no_credential(place: CachePlaceOfTests, carrier: Carrier) -> None:
    said = carrier.place
    credentials = [place.token, *(place.more.get(name, "") for name in CREDENTIALS)]
    assert not any(one in said for one in credentials if one)


web = pytest.mark.parametrize(
    "place",
    [
        pytest.param(on_turbo, id="turbo", marks=pytest.mark.slow),
        pytest.param(on_nginx, id="nginx", marks=pytest.mark.slow),
    ],
    indirect=True,
)


@web
def test_wrong_token_is_refused_and_not_printed(place: CachePlaceOfTests) -> None:
    with place.carrier("wrong-secret") as carrier:
        with pytest.raises(CarrierRefusedError) as caught:
            carrier.get(HEAD)
        assert "wrong-secret" not in str(caught.value)
        with pytest.raises(CarrierRefusedError):
            carrier.put(HEAD, b"head")


def test_unreachable_server_is_refused() -> None:
    place = CachePlaceOfTests(f"http://127.0.0.1:{free_port()}")
    with place.carrier() as carrier, pytest.raises(CarrierRefusedError):
        carrier.get(HEAD)


@pytest.mark.slow
def test_server_with_a_small_body_limit_reports_oversize(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with dav_server(tmp_path_factory.mktemp("small"), largest="1m") as server:
        place = CachePlaceOfTests(server.address, nginx.TOKEN)
        with place.carrier() as carrier, pytest.raises(OversizedError):
            carrier.put(named(b"x" * (2 << 20)), b"x" * (2 << 20))


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/cache",
        "turbo+http://example.com",
        "https://user:hush-hush@example.com",
        "https://example.com/?token=hush-hush",
        "ftp://example.com",
        "objstore1://",
        "objstore1://user:hush-hush@bucket/x",
        "objstore9://bucket",
        "https://",
        "hush-hush",
    ],
)
def test_invalid_cache_url_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught, CachePlaceOfTests(url).carrier():
        pass
    assert "hush-hush" not in str(caught.value)


@pytest.mark.parametrize("kind", ["objstore1", "objstore2", "objstore3", "https"])
def test_response_is_not_read_beyond_the_object_limit(kind: str) -> None:
    with faulty_store() as store:
        store.fails(StoreFault.ENDLESS, "GET", kinds=("cas", "o"))
        url = f"{store.address}/x" if kind == "https" else f"{kind}://cas"
        place = CachePlaceOfTests(url, more=endpoints(store.address))
        with place.carrier() as opened, pytest.raises(CarrierError, match="exceeds|larger than"):
            opened.get(named(b"nobody put this"))


def test_damaged_object_is_overwritten(fleet: Fleet) -> None:
    place = on_objstore2(fleet)
    name = named(b"whole")
    with place.carrier() as carrier:
        carrier.put(name, b"wh0le")
        carrier.put(name, b"whole")
        assert carrier.get(name) == b"whole"
