"""What every state store promises, through one suite."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fabric.model.problems import ExitCode, FabricError
from fabric.model.records.record import RecordRef
from fabric.state.contract import Backend, MovedError, Version, build_archive_key
from fabric.state.locks.conditional_writes import refuse_unconditional
from tests.support.servers import stores
from tests.support.servers.fleet import Fleet
from tests.support.servers.stores import Space, Store

# The first run on a machine installs servers.
pytestmark = [pytest.mark.timeout(600), pytest.mark.sampled]
ARCHIVE = build_archive_key(RecordRef("api", "dev", "edge"), "0" * 64)
KEY = "api-1/dev.eu/cloud1-lambda.state.json"
WRITERS = 8
_REMOTE = (stores.OBJSTORE1, stores.OBJSTORE2, stores.OBJSTORE3)


@pytest.fixture(params=stores.parameters(*stores.ALL))
def space(request: pytest.FixtureRequest, fleet: Fleet, tmp_path: Path) -> Space:
    store: Store = request.param
    return store.space(fleet, tmp_path)


@pytest.fixture
def backend(space: Space) -> Iterator[Backend]:
    made = space.open()
    yield made
    made.close()


def together(count: int, work: Callable[[int], object]) -> None:
    """All begin at once; the first error of any of them is raised."""
    start = threading.Barrier(count)

    def one(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


def problems(call: Callable[[], object]) -> FabricError:
    with pytest.raises(FabricError) as caught:
        call()
    return caught.value


def all_words(error: BaseException) -> str:
    """An error with everything that it came from, as a traceback would show it."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    own = f"{error!r} {error}"
    return own if cause is None else f"{own} {all_words(cause)}"


def test_missing_key_reads_as_none(backend: Backend) -> None:
    assert backend.read(KEY) is None
    assert backend.list("") == ()


def test_written_content_is_read_with_its_version(backend: Backend) -> None:
    version = backend.write(KEY, b"one", None)
    found = backend.read(KEY)
    assert found is not None
    assert (found.content, found.version) == (b"one", version)


def test_empty_content_is_content(backend: Backend) -> None:
    version = backend.write(KEY, b"", None)
    found = backend.read(KEY)
    assert found is not None
    assert (found.content, found.version) == (b"", version)


def test_existing_key_is_not_created_again(backend: Backend) -> None:
    backend.write(KEY, b"one", None)
    with pytest.raises(MovedError):
        backend.write(KEY, b"two", None)
    assert content(backend) == b"one"


def test_one_of_many_creators_wins(space: Space, backend: Backend) -> None:
    won: list[int] = []

    def create(number: int) -> None:
        try:
            backend.write(KEY, f"by {number}".encode(), None)
        except MovedError:
            return
        won.append(number)

    together(WRITERS, create)
    assert len(won) == 1
    assert content(backend) == f"by {won[0]}".encode()


def test_no_increment_is_lost(backend: Backend) -> None:
    backend.write(KEY, b"0 nobody", None)

    def increment(number: int) -> None:
        for _ in range(3):
            while not _tried(backend, number):
                pass

    together(WRITERS, increment)
    assert content(backend).split()[0] == b"%d" % (WRITERS * 3)


def _tried(backend: Backend, number: int) -> bool:
    found = backend.read(KEY)
    assert found is not None
    count = int(found.content.split()[0]) + 1
    try:
        # The writer's number tells its write from another one of the same count.
        backend.write(KEY, f"{count} {number}".encode(), found.version)
    except MovedError:
        return False
    return True


def test_an_old_version_moves_nothing(backend: Backend) -> None:
    first = backend.write(KEY, b"one", None)
    backend.write(KEY, b"two", first)
    with pytest.raises(MovedError):
        backend.write(KEY, b"three", first)
    with pytest.raises(MovedError):
        backend.delete(KEY, first)
    assert content(backend) == b"two"


def test_version_of_a_deleted_key_changes_nothing(backend: Backend) -> None:
    version = backend.write(KEY, b"one", None)
    backend.delete(KEY, version)
    with pytest.raises(MovedError):
        backend.write(KEY, b"two", version)
    with pytest.raises(MovedError):
        backend.delete(KEY, version)
    assert backend.read(KEY) is None


def test_a_version_on_a_store_that_was_never_used_moves_nothing(backend: Backend) -> None:
    with pytest.raises(MovedError):
        backend.write(KEY, b"two", Version("1"))
    with pytest.raises(MovedError):
        backend.delete(KEY, Version("1"))
    assert backend.read(KEY) is None


def test_key_recreated_after_a_delete_has_a_new_version(backend: Backend) -> None:
    first = backend.write(KEY, b"one", None)
    backend.delete(KEY, first)
    second = backend.write(KEY, b"two", None)
    assert second != first
    with pytest.raises(MovedError):
        backend.delete(KEY, first)
    assert content(backend) == b"two"


def test_keys_are_listed_by_prefix_and_sorted(backend: Backend) -> None:
    keys = ["a-b/dev/x.state.json", "a.b/dev/x.state.json", "a/dev/x.state.json", ".locks/a.json"]
    for key in keys:
        backend.write(key, key.encode(), None)
    assert backend.list("") == tuple(sorted(keys))
    assert backend.list("a/") == ("a/dev/x.state.json",)
    assert backend.list("a") == tuple(sorted(keys[:3]))
    assert backend.list(".locks/") == (".locks/a.json",)
    assert backend.list("b") == ()
    assert backend.list("%") == backend.list("_") == ()


def test_an_archive_comes_back_byte_by_byte(space: Space, backend: Backend) -> None:
    size = 300_000 if space.in_lock_table else 3_000_000
    archive = bytes(range(256)) * (size // 256) + b"\r\n\x00"
    backend.write(ARCHIVE, archive, None)
    found = backend.read(ARCHIVE)
    assert found is not None
    assert found.content == archive


def test_two_instances_see_each_others_writes(space: Space, backend: Backend) -> None:
    other = space.open()
    try:
        version = backend.write(KEY, b"one", None)
        second = other.write(KEY, b"two", version)
        assert content(backend) == b"two"
        backend.delete(KEY, second)
        assert other.read(KEY) is None
        assert other.list("") == ()
    finally:
        other.close()


def test_a_good_store_passes_the_probe_and_keeps_nothing_of_it(backend: Backend) -> None:
    refuse_unconditional(backend, "0123abcd")
    assert backend.list("") == ()


def test_displayed_backend_fields_contain_no_secret(space: Space, backend: Backend) -> None:
    backend.write(KEY, b"one", None)
    seen = f"{backend.place} {backend!r} {backend.kind}"
    assert backend.kind == space.kind.value
    assert not any(secret in seen for secret in space.secrets)


@pytest.mark.parametrize("store", stores.parameters(*stores.ALL))
def test_a_store_that_is_not_there_is_unreachable(
    store: Store, fleet: Fleet, tmp_path: Path
) -> None:
    lost = store.lost(store.space(fleet, tmp_path))
    backend = lost.open_impatiently()
    calls: Sequence[Callable[[], object]] = (
        lambda: backend.read(KEY),
        lambda: backend.list(""),
    )
    for call in calls:
        error = problems(call)
        assert error.first.code == "backend/unreachable"
        assert error.exit_code is ExitCode.UNREACHABLE
        assert not any(secret in all_words(error) for secret in (*lost.secrets, "hush-hush"))
    backend.close()


@pytest.mark.parametrize(
    "store", stores.parameters(*(store for store in stores.ALL if store.wrong is not None))
)
def test_wrong_credentials_are_refused_and_not_shown(
    store: Store, fleet: Fleet, tmp_path: Path
) -> None:
    assert store.wrong is not None
    wrong = store.wrong(fleet, store.space(fleet, tmp_path))
    backend = wrong.open()
    for call in (lambda: backend.read(KEY), lambda: backend.write(KEY, b"one", None)):
        error = problems(call)
        assert error.first.code == "credentials/refused"
        assert error.exit_code is ExitCode.NO_CREDENTIALS
        assert not any(secret in all_words(error) for secret in wrong.secrets)
    backend.close()


@pytest.mark.parametrize("store", stores.parameters(*_REMOTE))
def test_long_lists_come_in_many_pages(store: Store, fleet: Fleet, tmp_path: Path) -> None:
    backend = store.space(fleet, tmp_path).open()
    keys = [f"many/{number:03}.state.json" for number in range(201)]
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda key: backend.write(key, b"", None), keys))
    assert backend.list("many/") == tuple(keys)
    backend.close()


@pytest.mark.parametrize("store", stores.parameters(*_REMOTE))
def test_a_missing_bucket_is_named_as_missing(store: Store, fleet: Fleet, tmp_path: Path) -> None:
    space = store.space(fleet, tmp_path)
    settings = {name: value for name, value in space.settings.items() if "Prefix" in name}
    (holder,) = space.settings.keys() - settings.keys()
    missing = Space(space.kind, space.home, {**settings, holder: "not-there"}, space.env)
    backend = missing.open()
    calls: Sequence[Callable[[], object]] = (
        lambda: backend.read(KEY),
        lambda: backend.write(KEY, b"one", None),
        lambda: backend.delete(KEY, Version('"1"')),
        lambda: backend.list(""),
    )
    codes = {problems(call).first.code for call in calls if not _moves(call)}
    assert codes == {"backend/missing"}
    backend.close()


def _moves(call: Callable[[], object]) -> bool:
    """Whether a call is answered with "moved" before it is seen that there is no bucket."""
    try:
        call()
    except MovedError:
        return True
    except FabricError:
        return False
    return False


def content(backend: Backend) -> bytes:
    found = backend.read(KEY)
    assert found is not None
    return found.content
