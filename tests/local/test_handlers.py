"""The table of handlers on the developer's machine, in both languages."""

import contextlib
import http.client
from hashlib import sha256

import pytest

from fabric.model.calls.conventions import find_conventions
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import (
    CalledExports,
    CallingProvider,
    CodeArchive,
    LocalFunction,
)
from fabric.runtimes.contract import BuiltFile
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of, joined
from tests.support.local_api import served_locally

pytestmark = pytest.mark.slow

_CALLS = find_conventions("cluster-orchestrator")


def function_of(case: HandlerCase, language: str) -> LocalFunction:
    file = case.file if language == "nodejs" else "index.py"
    source = case.source if language == "nodejs" else case.python
    content = build_archive([BuiltFile(file, source.encode())])
    calls = _CALLS.of(language)
    return LocalFunction(
        "hello",
        CodeArchive(sha256(content).hexdigest(), lambda: content),
        "index.handler",
        language,
        timeout=float(case.timeout or 900),
        caller=CallingProvider(
            kinds=("http",),
            path=case.route,
            calls=CalledExports(
                convention=calls.convention(["http"]), names=calls.names, methods=calls.methods
            ),
        ),
    )


def met(port: int, case: HandlerCase) -> HandlerAnswer:
    asked = case.asked
    body = iter(asked.chunks) if asked.chunks else asked.body
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    ) as connection:
        connection.request(asked.method, asked.path, body, dict(asked.headers))
        reply = connection.getresponse()
        return HandlerAnswer(reply.status, reply.read(), *joined(reply.getheaders()))


def answers(case: HandlerCase, language: str) -> None:
    with served_locally(function_of(case, language), case.routes) as port:
        answer = met(port, case)
    answered(case, answer)
    # The developer is told what went wrong.
    assert case.logged in answer.content.decode(errors="replace")


@cases_of(Host.LOCAL, HTTP_CASES)
def test_a_handler_of_node_answers_here_as_it_is_to_deployed(case: HandlerCase) -> None:
    answers(case, "nodejs")


@cases_of(Host.LOCAL, [one for one in HTTP_CASES if one.python])
def test_a_handler_of_python_answers_here_as_it_is_to_deployed(case: HandlerCase) -> None:
    answers(case, "python")
