"""What stores make of lost replies, bad moments, broken connections and bad servers."""

import json
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from fabric.model.backends import BackendKind
from fabric.model.problems import FabricError
from fabric.state.backends.postgres import Postgres
from fabric.state.backends.registry import LostReplies
from fabric.state.backends.sql import Sql
from fabric.state.contract import Backend, MovedError, Version
from fabric.state.locks.conditional_writes import refuse_unconditional
from tests.support.servers import stores
from tests.support.servers.fleet import Fleet
from tests.support.servers.gcs import Answer, Gcs, serving
from tests.support.servers.moto import KEYS
from tests.support.servers.stores import IMPATIENT, Space, Store

pytestmark = pytest.mark.timeout(600)
KEY = "api/dev/cloud1-lambda.state.json"


@pytest.fixture
def gcs() -> Iterator[Gcs]:
    with serving(Gcs()) as made:
        yield made


def space_of(gcs: Gcs, folder: Path) -> Space:
    env = {"OBJSTORE2_ACCESS_TOKEN": gcs.token, "OBJSTORE2_ENDPOINT_URL": gcs.endpoint}
    return Space(BackendKind.OBJSTORE2, folder, {"objstore2Bucket": gcs.bucket}, env)


@pytest.fixture
def backend(gcs: Gcs, tmp_path: Path) -> Iterator[Backend]:
    made = space_of(gcs, tmp_path).open_impatiently()
    yield made
    made.close()


def test_create_with_a_lost_reply_is_recognized_as_ours(gcs: Gcs, backend: Backend) -> None:
    gcs.lost_replies = 1
    version = backend.write(KEY, b"mine", None)
    found = backend.read(KEY)
    assert found is not None
    assert (found.content, found.version) == (b"mine", version)


def test_swap_with_a_lost_reply_is_recognized_as_ours(gcs: Gcs, backend: Backend) -> None:
    first = backend.write(KEY, b"one", None)
    gcs.lost_replies = 1
    second = backend.write(KEY, b"two", first)
    assert backend.write(KEY, b"three", second) != second


def test_the_same_bytes_under_the_expected_version_were_not_written_now(tmp_path: Path) -> None:
    class Stubborn(LostReplies):
        """Says of every write that somebody else was first."""

        def write(self, key: str, content: bytes, expected: Version | None) -> Version:
            raise MovedError(key)

    local = stores.LOCAL.space(Fleet(tmp_path), tmp_path).open()
    version = local.write(KEY, b"one", None)
    with pytest.raises(MovedError):
        LostReplies(Stubborn(local)).write(KEY, b"one", version)
    assert LostReplies(Stubborn(local)).write(KEY, b"one", Version("older")) == version


def test_delete_with_a_lost_reply_finds_the_key_deleted(gcs: Gcs, backend: Backend) -> None:
    version = backend.write(KEY, b"one", None)
    gcs.lost_replies = 1
    with pytest.raises(MovedError):
        backend.delete(KEY, version)
    assert backend.read(KEY) is None


def test_a_store_that_ignores_conditions_is_refused(tmp_path: Path) -> None:
    with serving(Gcs(conditions=False)) as careless:
        backend = space_of(careless, tmp_path).open()
        with pytest.raises(FabricError) as caught:
            refuse_unconditional(backend, "0123abcd")
        assert caught.value.first.code == "backend/no-conditions"
        assert backend.list("") == ()
        backend.close()


@pytest.mark.parametrize(
    "fault",
    [
        Answer(503),
        Answer(429, headers={"Retry-After": "1"}),
        Answer(403, b'{"error": {"errors": [{"reason": "rateLimitExceeded"}]}}'),
    ],
    ids=lambda fault: str(fault.status),
)
def test_a_bad_moment_is_waited_for(fault: Answer, gcs: Gcs, backend: Backend) -> None:
    gcs.faults = [fault]
    assert backend.read(KEY) is None
    assert gcs.calls == 2


@pytest.mark.parametrize("service", ["SlowDown", "ThrottlingException", "rateLimitExceeded"])
def test_a_service_may_be_named_like_an_error(service: str, gcs: Gcs, backend: Backend) -> None:
    assert backend.read(f"{service}/dev/x.state.json") is None
    assert gcs.calls == 1


def test_a_bad_moment_that_does_not_end_is_an_unreachable_store(gcs: Gcs, backend: Backend) -> None:
    gcs.faults = [Answer(503)] * IMPATIENT.tries
    with pytest.raises(FabricError, match="503") as caught:
        backend.read(KEY)
    assert caught.value.first.code == "backend/unreachable"


def test_wrong_credentials_are_tried_once(gcs: Gcs, tmp_path: Path) -> None:
    space = space_of(gcs, tmp_path).with_env(OBJSTORE2_ACCESS_TOKEN="wrong")  # noqa: S106
    backend = space.open_impatiently()
    with pytest.raises(FabricError):
        backend.read(KEY)
    assert gcs.calls == 1
    backend.close()


def xml_error(status: int, code: str) -> Answer:
    return Answer(status, f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode())


def bucket_at(gcs: Gcs, folder: Path) -> Backend:
    """Objstore1 on a server that only gives the answers that it was told."""
    env = {**KEYS, "OBJSTORE1_ENDPOINT_URL": gcs.endpoint}
    return Space(BackendKind.OBJSTORE1, folder, {"objstore1Bucket": "b"}, env).open_impatiently()


def test_a_conflict_of_two_conditional_writes_is_tried_again(gcs: Gcs, tmp_path: Path) -> None:
    gcs.faults = [
        xml_error(409, "ConditionalRequestConflict"),
        Answer(200, headers={"ETag": '"1"'}),
    ]
    backend = bucket_at(gcs, tmp_path)
    assert backend.write(KEY, b"one", None) == '"1"'
    backend.close()


@pytest.mark.parametrize(
    ("status", "code", "problem"),
    [
        (403, "AccessDenied", "credentials/refused"),
        (403, "SignatureDoesNotMatch", "credentials/refused"),
        (400, "ExpiredToken", "credentials/refused"),
        (404, "NoSuchBucket", "backend/missing"),
        (301, "PermanentRedirect", "backend/failed"),
        (400, "EntityTooLarge", "backend/failed"),
    ],
)
def test_bucket_errors_map_to_error_codes(
    status: int, code: str, problem: str, gcs: Gcs, tmp_path: Path
) -> None:
    gcs.faults = [xml_error(status, code)]
    backend = bucket_at(gcs, tmp_path)
    with pytest.raises(FabricError, match=code if problem != "backend/missing" else "") as caught:
        backend.write(KEY, b"one", None)
    assert caught.value.first.code == problem
    assert gcs.calls == 1
    backend.close()


def test_a_bucket_that_stays_busy_is_unreachable(gcs: Gcs, tmp_path: Path) -> None:
    gcs.faults = [xml_error(503, "SlowDown")] * IMPATIENT.tries
    backend = bucket_at(gcs, tmp_path)
    with pytest.raises(FabricError) as caught:
        backend.read(KEY)
    assert caught.value.first.code == "backend/unreachable"
    backend.close()


@pytest.mark.slow
def test_a_connection_that_the_server_ended_is_made_again(fleet: Fleet, tmp_path: Path) -> None:
    space = stores.POSTGRES.space(fleet, tmp_path)
    backend = space.open()
    version = backend.write(KEY, b"one", None)
    end_all = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND query LIKE %s"
    )
    with psycopg.connect(space.env["MY_URL"]) as other:
        other.execute(end_all, (f"%{space.settings['sqlTable']}%",))
    assert backend.write(KEY, b"two", version) != version
    backend.close()


@pytest.mark.slow
def test_wait_for_a_locked_row_times_out(fleet: Fleet, tmp_path: Path) -> None:
    space = stores.POSTGRES.space(fleet, tmp_path)
    url, table = space.env["MY_URL"], space.settings["sqlTable"]
    backend = Sql(Postgres(url, "MY_URL", IMPATIENT, silence=0.3), table)
    version = backend.write(KEY, b"one", None)
    with psycopg.connect(url) as other:
        other.execute(f'SELECT 1 FROM "{table}" FOR UPDATE'.encode())  # noqa: S608
        with pytest.raises(FabricError) as caught:
            backend.write(KEY, b"two", version)
    assert caught.value.first.code == "backend/unreachable"
    backend.close()


@pytest.mark.slow
def test_a_database_that_is_not_there_is_missing(fleet: Fleet, tmp_path: Path) -> None:
    space = stores.POSTGRES.space(fleet, tmp_path)
    url = space.env["MY_URL"].removesuffix("postgres") + "nothing"
    backend = space.with_env(MY_URL=url).open()
    with pytest.raises(FabricError) as caught:
        backend.read(KEY)
    assert caught.value.first.code == "backend/missing"
    backend.close()


@pytest.mark.parametrize(
    "store", stores.parameters(stores.LOCAL, stores.SQLITE, stores.POSTGRES, stores.LOCK_TABLE)
)
def test_a_table_is_made_once_by_many_that_come_at_once(
    store: Store, fleet: Fleet, tmp_path: Path
) -> None:
    space = store.space(fleet, tmp_path)
    start = threading.Barrier(8)

    def create(number: int) -> bool:
        backend = space.open()
        start.wait()
        try:
            backend.write(KEY, f"by {number}".encode(), None)
        except MovedError:
            return False
        finally:
            backend.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1


def test_a_service_account_signs_for_its_token(gcs: Gcs, tmp_path: Path) -> None:
    (tmp_path / "account.json").write_text(service_account(gcs, new_key()))
    space = space_of(gcs, tmp_path / ".fabric")
    env = {
        "OBJSTORE2_CREDENTIALS_FILE": "account.json",
        "OBJSTORE2_ENDPOINT_URL": gcs.endpoint,
    }
    backend = Space(space.kind, space.home, space.settings, env).open()
    version = backend.write(KEY, b"one", None)
    backend.write(KEY, b"two", version)
    assert len(gcs.assertions) == 1
    backend.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(400, b'{"error": "invalid_grant"}'), "credentials/refused"),
        (Answer(200, b"{}"), "backend/failed"),
        (Answer(200, b"no JSON"), "backend/failed"),
    ],
    ids=["refused", "empty", "foreign"],
)
def test_a_token_service_without_a_token_is_a_problem(
    answer: Answer, problem: str, gcs: Gcs, tmp_path: Path
) -> None:
    (tmp_path / "account.json").write_text(service_account(gcs, new_key()))
    env = {"OBJSTORE2_CREDENTIALS_FILE": str(tmp_path / "account.json")}
    space = space_of(gcs, tmp_path)
    backend = Space(space.kind, space.home, space.settings, env).open()
    gcs.faults = [answer]
    with pytest.raises(FabricError) as caught:
        backend.read(KEY)
    assert caught.value.first.code == problem
    backend.close()


def service_account(gcs: Gcs, pem: str) -> str:
    return json.dumps(
        {
            "type": "service_account",
            "client_email": "tests@example.com",
            "private_key_id": "1",
            "private_key": pem,
            "token_uri": f"{gcs.endpoint}/token",
        }
    )


def new_key() -> str:
    argv = ["openssl", "genpkey", "-algorithm", "RSA"]
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout
