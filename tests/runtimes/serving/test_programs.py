"""Programs in a container: `bootstrap` takes the requests as events of the Lambda Runtime API."""

import concurrent.futures
import json
from pathlib import Path

import pytest

from tests.support.bootstraps import CLIENT, handler_program
from tests.support.served_function import serving, started

pytestmark = pytest.mark.slow

_PROGRAM = """
import threading
open("started." + str(os.getpid()), "w").close()

def handle(event, headers):
    path = event["rawPath"]
    if path == "/end":
        os._exit(3)
    if path == "/late":
        threading.Event().wait()
    if path == "/both":
        while len([one for one in os.listdir(".") if one.startswith("started.")]) < 2:
            pass
    said = {"path": path, "name": os.environ["AWS_LAMBDA_FUNCTION_NAME"], "cwd": os.getcwd()}
    return {"statusCode": 201, "headers": {"x-own": "yes"}, "body": json.dumps(said)}
"""
_EVENT = json.dumps({"detail-type": "Scheduled Event", "time": "2026-01-01T00:00:00Z"})


def test_a_program_answers_requests(tmp_path: Path) -> None:
    files = {"bootstrap": handler_program(_PROGRAM)}
    with serving("program", tmp_path, files, {}) as served:
        reply = served.ask("GET", "/words")
        assert (reply.status, reply.header("x-own")) == (201, ["yes"])
        assert reply.json == {
            "path": "/words",
            "name": "hello",
            "cwd": str(tmp_path / "work" / "function"),
        }


def test_parallel_requests_start_more_processes(tmp_path: Path) -> None:
    files = {"bootstrap": handler_program(_PROGRAM)}
    with (
        serving("program", tmp_path, files, {}) as served,
        concurrent.futures.ThreadPoolExecutor(2) as pool,
    ):
        replies = list(pool.map(lambda _: served.ask("GET", "/both"), range(2)))
        assert [one.status for one in replies] == [201, 201]


@pytest.mark.parametrize(("path", "status", "seconds"), [("/end", 500, 30), ("/late", 504, 4)])
def test_a_program_that_fails_is_started_again(
    path: str, status: int, seconds: int, tmp_path: Path
) -> None:
    files = {"bootstrap": handler_program(_PROGRAM)}
    with serving("program", tmp_path, files, {"seconds": seconds}) as served:
        assert served.ask("GET", path).status == status
        assert served.ask("GET", "/words").status == 201


def test_a_reported_error_is_a_server_error_and_the_program_stays(tmp_path: Path) -> None:
    program = CLIENT + (
        "print('started', flush=True)\n"
        "while True:\n"
        "    headers, event = take()\n"
        "    fail(headers, {'errorType': 'Broken', 'errorMessage': 'no words'})\n"
    )
    with serving("program", tmp_path, {"bootstrap": program}, {}) as served:
        assert [served.ask("GET", "/").status for _ in range(2)] == [500, 500]
        assert "Broken: no words" in served.log
        assert served.log.count("started") == 1


def test_a_second_response_is_not_that_of_the_next_caller(tmp_path: Path) -> None:
    program = CLIENT + (
        "while True:\n"
        "    headers, event = take()\n"
        "    body = json.dumps({'statusCode': 200, 'body': event['rawPath']})\n"
        "    statuses = [respond(headers, body)[0] for _ in range(2)]\n"
        "    print(statuses, flush=True)\n"
    )
    with serving("program", tmp_path, {"bootstrap": program}, {}) as served:
        paths = ["/alice", "/bob", "/carol"]
        assert [served.ask("GET", one).body.decode() for one in paths] == paths
        assert "[202, 400]" in served.log


def test_an_event_without_a_response_is_a_server_error(tmp_path: Path) -> None:
    program = CLIENT + "while True:\n    take()\n"
    with serving("program", tmp_path, {"bootstrap": program}, {}) as served:
        assert served.ask("GET", "/").status == 500
        assert "requested an event without a response" in served.log


def test_a_program_that_does_not_start_ends_the_container(tmp_path: Path) -> None:
    served = started("program", tmp_path, {"bootstrap": "#!/bin/sh\nexit 4\n"}, {})
    assert served.child.wait(20) == 1
    assert "bootstrap ended with exit code 4" in served.log


def test_a_file_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    served = started("program", tmp_path, {"bootstrap": "#!/no/such/program\n"}, {})
    assert served.child.wait(20) == 1
    assert "the interpreter in its first line" in served.log


def test_a_schedule_calls_a_program_once(tmp_path: Path) -> None:
    program = handler_program(
        "def handle(event, headers):\n    print(event['detail-type'], flush=True)\n"
    )
    served = started("program", tmp_path, {"bootstrap": program}, {}, FABRIC_EVENT=_EVENT)
    assert served.child.wait(20) == 0
    assert "Scheduled Event" in served.log
