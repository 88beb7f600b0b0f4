"""Whatever a store answers: a value, a problem that names the place, never an accident of ours."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.model.backends import BackendKind
from fabric.model.problems import FabricError, Problem
from fabric.state.backends.registry import open_backend
from fabric.state.contract import Backend, MovedError, Version, build_state_key, lock_key
from fabric.system.retry import Patience
from tests.support.records import record
from tests.support.servers.gcs import Answer, Gcs, serving
from tests.support.servers.moto import KEYS

pytestmark = pytest.mark.timeout(600)
REF = record().ref
KEY = build_state_key(REF)
# Twice: the client of cloud1 pauses between its tries by a clock of its own.
_PATIENCE = Patience(tries=2, sleep=lambda _: None)
_BODY = b"what is stored there" * 50
_GOOD = {"ETag": '"1"', "x-goog-generation": "7"}


@pytest.fixture(scope="module")
def server() -> Iterator[Gcs]:
    with serving(Gcs()) as made:
        yield made


def _opened(kind: str, gcs: Gcs, folder: Path) -> Backend:
    """A store on a server that gives just the answers that it was told."""
    key = {"OBJSTORE3_ACCOUNT": "me", "OBJSTORE3_KEY": "a2V5"}
    env = {**KEYS, **key, "OBJSTORE2_ACCESS_TOKEN": gcs.token}
    env |= {f"OBJSTORE{n}_ENDPOINT_URL": gcs.endpoint for n in (1, 2, 3)}
    words = {"objstore1": "objstore1Bucket", "objstore2": "objstore2Bucket"}
    rows = {words.get(kind, "objstore3Container"): "b"}
    if kind == "lock-table":
        rows, kind = {"objstore1Bucket": "b", "lockTable": "locks"}, "objstore1"
        return open_backend(BackendKind(kind), rows, env, folder, _PATIENCE).locks
    return open_backend(BackendKind(kind), rows, env, folder, _PATIENCE).state


KINDS = ("objstore1", "objstore2", "objstore3", "lock-table")
CALLS: dict[str, Callable[[Backend], object]] = {
    "read": lambda backend: backend.read(KEY),
    "create": lambda backend: backend.write(KEY, b"new", None),
    "swap": lambda backend: backend.write(lock_key(REF), b"new", Version("7")),
    "delete": lambda backend: backend.delete(KEY, Version("7")),
    "list": lambda backend: backend.list("shop/"),
}
_XML = (
    b"<a/>", b"<ListBucketResult><Contents/><IsTruncated>maybe</IsTruncated></ListBucketResult>",
    b"<EnumerationResults><NextMarker>x</NextMarker></EnumerationResults>",
    b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", b"<a><b></a>",
    b"<Error/>", b"<Error><Code/></Error>", b"<html><body>log in first</body></html>",
)  # fmt: skip
_JSON = (
    b"null", b"[]", b"7", b'"text"', b"{", b'{"items": 7}', b'{"items": [7]}', b'{"items": [{}]}',
    b'{"generation": null}', b'{"generation": "0"}', b'{"nextPageToken": "again"}', b'{"Item": 7}',
    b'{"nextPageToken": 7}', b'{"Item": {"Content": {"B": 7}, "Version": {"S": "x"}}}',
    b'{"Item": {"Content": {"S": "x"}, "Version": {}}}', b'{"Items": null}', b'{"__type": 7}',
)  # fmt: skip
BODIES = st.sampled_from((b"", b"\xff\xfe\x00", _BODY, *_XML, *_JSON)) | st.binary(max_size=20)
HEADERS = st.dictionaries(
    st.sampled_from(["ETag", "x-goog-generation", "Content-Type", "x-ms-error-code", "Date"]),
    st.sampled_from(["", "7", '"1"', "x", "application/xml", "text/html; charset=nonsense", "-1"]),
    max_size=3,
)
STATUSES = st.sampled_from([200, 201, 204, 206, 301, 302, 304, 400, 404, 409, 412, 418, 500, 503])
ANSWERS = st.builds(Answer, STATUSES, BODIES, HEADERS, st.sampled_from([-1, -1, 0, 3]))


def _said(call: Callable[[], object]) -> Problem | None:
    try:
        call()
    except MovedError:
        return None
    except FabricError as error:
        return error.first
    return None


# The client of cloud1 takes seconds to load.
_SLOW = ("objstore1", "lock-table")
PARAMS = [pytest.param(one, marks=pytest.mark.slow if one in _SLOW else ()) for one in KINDS]


@pytest.fixture(scope="module", params=PARAMS)
def backend(
    request: pytest.FixtureRequest, server: Gcs, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Backend]:
    """One for all answers: to make a client takes longer than a hundred of its calls."""
    made = _opened(request.param, server, tmp_path_factory.mktemp(request.param))
    yield made
    made.close()


@pytest.mark.parametrize("call", CALLS)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(answer=ANSWERS)
def test_no_answer_of_a_store_is_an_accident(
    answer: Answer, call: str, server: Gcs, backend: Backend
) -> None:
    server.faults = [answer] * 30
    said = _said(lambda: CALLS[call](backend))
    server.faults = []
    if said is not None:
        assert said.code.startswith(("backend/", "credentials/")), said
        assert backend.place in said.message


@pytest.mark.parametrize("cut", [0, 1, len(_BODY) - 1])
@pytest.mark.parametrize("kind", ["objstore1", "objstore2", "objstore3"])
def test_truncated_response_body_is_requested_again(
    kind: str, cut: int, server: Gcs, tmp_path: Path
) -> None:
    whole = Answer(200, _BODY, _GOOD)
    backend = _opened(kind, server, tmp_path)
    server.faults = [replace(whole, cut=cut), whole]
    found = backend.read(KEY)
    assert found is not None
    assert found.content == _BODY
    server.faults = [replace(whole, cut=cut)] * 9
    with pytest.raises(FabricError) as caught:
        backend.read(KEY)
    assert caught.value.first.code == "backend/unreachable"
    server.faults = []
    backend.close()
