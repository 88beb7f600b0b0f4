"""The table of handlers in the servers of a cluster's pods."""

from pathlib import Path

import pytest

from fabric.model.calls.conventions import find_conventions
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of, joined
from tests.support.served_function import Served, serving

pytestmark = pytest.mark.slow

_CALLS = find_conventions("cluster-orchestrator")


def said(case: HandlerCase, language: str) -> dict[str, object]:
    """As the deployer says it."""
    calls = _CALLS.of(language)
    return {
        "convention": calls.convention(["http"]),
        "names": calls.names,
        "methods": calls.methods,
        "kinds": ["http"],
        "routes": [{"method": method, "path": path} for method, path in case.routes],
        "path": case.route,
        "seconds": case.timeout,
    }


def met(served: Served, case: HandlerCase) -> HandlerAnswer:
    asked = case.asked
    body = iter(asked.chunks) if asked.chunks else asked.body
    reply = served.ask(asked.method, asked.path, body, asked.headers)
    return HandlerAnswer(reply.status, reply.body, *joined(reply.headers))


@cases_of(Host.NODE, HTTP_CASES)
def test_a_pod_of_node_answers_as_all_do(case: HandlerCase, tmp_path: Path) -> None:
    with serving("nodejs", tmp_path, {case.file: case.source}, said(case, "nodejs")) as served:
        answered(case, met(served, case))
        assert case.logged in served.log


@cases_of(Host.PYTHON, HTTP_CASES)
def test_a_pod_of_python_answers_as_all_do(case: HandlerCase, tmp_path: Path) -> None:
    with serving("python", tmp_path, {"index.py": case.python}, said(case, "python")) as served:
        answered(case, met(served, case))
        assert case.logged in served.log
