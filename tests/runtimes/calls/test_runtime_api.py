"""A `bootstrap` behind the Lambda Runtime API: what it receives, and how its calls end."""

import contextlib
import json
import time
from collections.abc import Iterator

import pytest

from fabric.model.problems import FabricError, Problem
from fabric.runtimes.calls.call_end import CallEnd, Failing
from fabric.runtimes.calls.pool import HandlerPool, PoolLimits
from fabric.runtimes.invoke import invoke
from fabric.system.event_loop import EventLoop
from tests.support.bootstraps import (
    ARN,
    CLIENT,
    bootstrap_call,
    bootstrap_function,
    handler_program,
)
from tests.support.bundler_cache import ENVIRONMENT

PARENT = {"PATH": ENVIRONMENT["PATH"], "CLOUD1_SECRET_ACCESS_KEY": "hunter2"}
ECHO = handler_program("def handle(event, headers): return [event, os.getpid(), calls]\n")


class Calls:
    def __init__(self, program: str, timeout: float = 20) -> None:
        self.loop = EventLoop()
        self.pool = HandlerPool(self.loop, PARENT, PoolLimits(instances=1))
        self.pool.put(bootstrap_function(program, timeout))

    def end(self, event: object = None) -> CallEnd:
        ends: list[CallEnd] = []
        self.pool.call("hello", json.dumps(event).encode(), ends.append)
        self.loop.run_until(lambda: bool(ends))
        return ends[0]


@contextlib.contextmanager
def calls_of(program: str, timeout: float = 20) -> Iterator[Calls]:
    calls = Calls(program, timeout)
    try:
        yield calls
    finally:
        calls.pool.close()
        calls.loop.close()


def problem_of(program: str, timeout: float = 20) -> Problem:
    with pytest.raises(FabricError) as caught:
        invoke(bootstrap_call(program, timeout=timeout), PARENT)
    return caught.value.first


def value(program: str, event: str = "null") -> object:
    return json.loads(invoke(bootstrap_call(program, event), PARENT).response)


def test_a_bootstrap_answers_many_events_in_one_process() -> None:
    with calls_of(ECHO) as calls:
        ends = [json.loads(calls.end({"n": n}).response) for n in range(3)]
    assert [event for event, _, _ in ends] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert len({pid for _, pid, _ in ends}) == 1
    assert [number for _, _, number in ends] == [1, 2, 3]


def test_an_event_has_the_headers_of_the_platform() -> None:
    before = time.time() * 1000  # noqa: TID251 - the deadline is a time of the clock
    headers = value(handler_program("def handle(event, headers): return headers\n"))
    assert isinstance(headers, dict)
    assert headers["Lambda-Runtime-Invoked-Function-Arn"] == ARN
    assert headers["Lambda-Runtime-Trace-Id"].startswith("Root=1-")
    assert len(headers["Lambda-Runtime-Aws-Request-Id"]) == 36
    assert 0 < int(headers["Lambda-Runtime-Deadline-Ms"]) - before <= 30_000


def test_a_bootstrap_has_the_environment_of_the_platform_and_no_other() -> None:
    env = value(handler_program("def handle(event, headers): return dict(os.environ)\n"))
    assert isinstance(env, dict)
    assert env["DECLARED"] == "yes"
    assert env["_HANDLER"] == "bootstrap"
    assert env["AWS_LAMBDA_FUNCTION_NAME"] == "shop-dev-hello"
    assert env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "128"
    assert env["AWS_REGION"] == "eu-west-1"
    assert env["AWS_LAMBDA_RUNTIME_API"].startswith("127.0.0.1:")
    assert env["LAMBDA_TASK_ROOT"]
    assert "AWS_EXECUTION_ENV" not in env
    assert "CLOUD1_SECRET_ACCESS_KEY" not in env


def test_a_bootstrap_runs_in_its_unpacked_archive() -> None:
    found = value(
        handler_program(
            "def handle(event, headers): return [open('data.txt').read(), "
            "os.getcwd() == os.environ['LAMBDA_TASK_ROOT']]\n"
        )
    )
    assert found == ["here", True]


def test_output_of_a_bootstrap_belongs_to_its_call() -> None:
    program = handler_program("def handle(event, headers): print('one', event, flush=True)\n")
    with calls_of(program) as calls:
        assert [calls.end(n).said for n in range(2)] == ["one 0\n", "one 1\n"]


def test_a_reported_error_names_its_type() -> None:
    program = CLIENT + (
        "headers, _ = take()\n"
        "fail(headers, {'errorType': 'Shop.Closed', 'errorMessage': 'come later'})\ntake()\n"
    )
    found = problem_of(program)
    assert (found.code, found.message) == (
        "invoke/failed",
        "function `hello` failed: Shop.Closed: come later",
    )


def test_an_error_while_starting_is_reported_as_the_bootstrap_names_it() -> None:
    program = CLIENT + (
        "send('POST', 'init/error', json.dumps({'errorMessage': 'no database'}),"
        " {'Lambda-Runtime-Function-Error-Type': 'Shop.Start'})\nsys.exit(1)\n"
    )
    assert problem_of(program).message == "function `hello` failed: Shop.Start: no database"


def test_an_end_before_the_first_event_is_reported_with_its_output() -> None:
    found = problem_of(CLIENT + "print('no config')\nsys.exit(7)\n")
    assert "ended before it requested an event (exit code 7)" in found.message
    assert "no config" in found.frame


def test_an_end_without_a_response_is_reported() -> None:
    assert "no response (exit code 3)" in problem_of(CLIENT + "take()\nsys.exit(3)\n").message


def test_a_request_for_the_next_event_without_a_response_is_reported() -> None:
    assert "requested the next event" in problem_of(CLIENT + "take()\ntake()\n").message


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_has_a_new_process() -> None:
    program = handler_program(
        "import time\ndef handle(event, headers): time.sleep(event); return os.getpid()\n"
    )
    with calls_of(program, timeout=0.4) as calls:
        first = calls.end(0)
        late = calls.end(60)
        after = calls.end(0)
    assert late.failure is not None
    assert late.failure.why is Failing.TIMED_OUT
    assert after.failure is None
    assert after.response != first.response


@pytest.mark.parametrize(
    ("send", "why"),
    [
        ("'not json'", "it is not JSON: not json"),
        ("'[' + '1,' * 4_000_000 + '1]'", "returned 7.6 MB"),
    ],
)
def test_a_response_that_no_caller_can_use_is_reported(send: str, why: str) -> None:
    assert (
        why
        in problem_of(f"{CLIENT}headers, _ = take()\nrespond(headers, {send})\ntake()\n").message
    )


def test_an_empty_response_is_null() -> None:
    assert value(f"{CLIENT}headers, _ = take()\nrespond(headers, b'')\ntake()\n") is None


def test_a_streamed_response_with_a_prelude_is_an_http_response() -> None:
    program = CLIENT + (
        "headers, _ = take()\n"
        "parts = iter([b'{\"statusCode\": 201}' + bytes(8), b'hel', b'lo'])\n"
        "respond(headers, parts, {'Lambda-Runtime-Function-Response-Mode': 'streaming',"
        " 'Content-Type': 'application/vnd.awslambda.http-integration-response',"
        " 'Transfer-Encoding': 'chunked'})\ntake()\n"
    )
    assert value(program) == {"statusCode": 201, "body": "hello", "isBase64Encoded": False}


def test_wrong_requests_are_answered_as_the_platform_does() -> None:
    program = CLIENT + (
        "headers, _ = take()\n"
        "found = [send('GET', 'nothing')[0],"
        " send('POST', 'invocation/other/response', '1')[0],"
        " send('POST', 'init/error', '{}')[0],"
        " send('GET', 'invocation/next', None, {'Origin': 'https://example.com'})[0]]\n"
        "api.close()\nrespond(headers, json.dumps(found))\ntake()\n"
    )
    assert value(program) == [404, 400, 403, 403]
