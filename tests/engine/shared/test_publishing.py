"""What is sent can be read by those who look for it; what could not be is left out, and said."""

import base64
from random import Random

import pytest

from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.engine.shared.learning import Learned
from fabric.engine.shared.link import HeadTexts, SharedLink
from fabric.engine.shared.publishing import Offer, Publishing
from fabric.graph.traces import Trace
from fabric.model.names import Digest
from fabric.model.task import Output, Task
from fabric.model.task_id import build_task_id
from fabric.model.task_inputs import BuildInputs
from fabric.remote.contract import CAPS, ObjectKind
from fabric.remote.seal import parse_seal_keys
from fabric.system.clock import SystemClock
from tests.support.servers.faulty_store import faulty_store
from tests.support.shared_caches import KEY, CachePlaceOfTests

LINK = SharedLink(parse_seal_keys(KEY), "cache", "main", "0.1", True, True, 3.0, 60.0)  # noqa: FBT003
NOBODY_KNOWS = Learned(HeadTexts("c", ("commit/c",), ("commit/c",)), {}, {})
TASK = Task(
    build_task_id("build", "shop", "one"), BuildInputs("shop", "one", ".", "one.py", "python3.11")
)


def offered(told: str) -> Offer:
    output = Output(Digest("0" * 64), (), (("told", told),))
    return Offer(TASK, Trace(Digest("1" * 64), (), (), (), (), (), (), Digest(""), output, 5))


def sent(told: str) -> tuple[str, list[tuple[str, str]]]:
    """Why not all of it is there, and what was put."""
    with faulty_store() as store, CachePlaceOfTests(f"{store.address}/x").carrier() as carrier:
        uploads = BackgroundUploads(lambda: carrier)
        publishing = Publishing(LINK, uploads, SystemClock(), lambda _: None)
        publishing.offer(offered(told))
        publishing.close(NOBODY_KNOWS, 120)
        uploads.close()
        return publishing.failure, [call for call in store.calls if call[0] == "PUT"]


def test_segment_is_uploaded_before_its_references() -> None:
    assert sent("little") == ("", [("PUT", "cas"), ("PUT", "ac")])


@pytest.mark.slow
def test_oversized_segment_is_not_uploaded() -> None:
    much = Random(1).randbytes(CAPS[ObjectKind.SEGMENT] + 1000)
    failure, put = sent(base64.b64encode(much).decode())
    assert "split the run with --shard" in failure
    assert put == []
