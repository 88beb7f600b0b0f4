"""Each provider's handlers, in each language, called through what `invoke run` calls."""

import json
from dataclasses import replace

import pytest

from fabric.model.calls.conventions import CONVENTIONS, Convention, find_conventions
from fabric.model.calls.host_facts import find_host_facts
from fabric.model.catalog import PROVIDER_IDS
from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.function import CalledExports, CallingProvider
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.invoke import Invocation, Invoked, invoke
from tests.runtimes.nodejs import handler_cases as nodejs
from tests.runtimes.python import handler_cases as python
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.handler_cases import GET, POST, Case

PARENT = {"PATH": ENVIRONMENT["PATH"]}
RESOURCE = "arn:aws:lambda:eu-west-1:000000000000:function:shop"


def provider_of(case: Case, runtime: str) -> CallingProvider:
    calls = find_conventions(case.provider).of(runtime)
    return CallingProvider(
        kinds=case.kinds,
        path=case.path,
        memory=256,
        region="eu-west-1",
        resource=RESOURCE,
        facts=find_host_facts(case.provider),
        calls=CalledExports(
            convention=calls.convention(case.kinds), names=calls.names, methods=calls.methods
        ),
    )


def called(case: Case, timeout: float = 60) -> Invoked:
    runtime = "python3.11" if case.file.endswith(".py") else "nodejs20.x"
    made = Invocation(
        "shop",
        build_archive([BuiltFile(case.file, case.text.encode())]),
        case.handler,
        runtime,
        json.dumps(case.event),
        Secret((("DECLARED", "yes"),)),
        timeout,
        caller=provider_of(case, runtime),
    )
    return invoke(made, PARENT)


def problem_of(case: Case, timeout: float = 60) -> Problem:
    with pytest.raises(FabricError) as caught:
        called(case, timeout)
    return caught.value.first


def assert_has(found: object, least: object) -> None:
    if isinstance(found, dict) and isinstance(least, dict):
        for name, value in least.items():
            assert_has(found.get(name), value)
    else:
        assert found == least


@pytest.mark.parametrize("case", nodejs.CASES, ids=lambda case: case.id)
def test_a_node_handler_is_called_as_its_provider_calls_it(case: Case) -> None:
    assert_has(json.loads(called(case).response), case.response)


@pytest.mark.parametrize("case", python.CASES, ids=lambda case: case.id)
def test_a_python_handler_is_called_as_its_provider_calls_it(case: Case) -> None:
    assert_has(json.loads(called(replace(case, file="main.py")).response), case.response)


def test_every_provider_has_its_conventions() -> None:
    assert set(CONVENTIONS) == set(PROVIDER_IDS)


@pytest.mark.parametrize("provider", PROVIDER_IDS)
@pytest.mark.parametrize("file", ["main.js", "main.py"])
def test_a_handler_of_events_works_everywhere(provider: str, file: str) -> None:
    texts = {
        "main.js": "exports.handler = async (event, context) => [event, context.functionName];",
        # The one host of these awaits no answer in Python.
        "main.py": ("" if provider == "cloud1-lambda" else "async ")
        + "def handler(event, context):\n"
        "    return [event, context.function_name]\n",
    }
    case = Case("", provider, texts[file], None, {"n": 1}, file=file)
    assert json.loads(called(case).response) == [{"n": 1}, "shop"]


def test_function_without_http_trigger_uses_the_event_convention() -> None:
    calls = find_conventions("cloud2-functions").nodejs
    assert calls.convention(()) is calls.convention(("http", "pubsub"))
    assert calls.convention(("pubsub",)) is Convention.CLOUD_EVENT


def of(provider: str, text: str, file: str = "main.js") -> Case:
    name = {"main.py": "main.app", "main.mjs": "main.default"}.get(file, "main.handler")
    return Case("", provider, text, None, GET, name, file)


_LATER = "module.exports = (req, res) => { setTimeout(() => { throw new Error('late'); }, 1); };"
_TWO = {"Records": [{"eventName": "one"}, {"eventName": "two"}]}
_SEEN = replace(of("cloud2-functions", "exports.seen = (cloudEvent) => 1;"), handler="main.seen")
FAILING = {
    "throws": (
        of("host1", "module.exports = (req, res) => { throw new RangeError('far'); };"),
        "RangeError: far",
    ),
    "rejects": (of("host1", "module.exports = async (req, res) => null.x;"), "TypeError"),
    "throws-later": (of("host1", _LATER), "Error: late"),
    "never-answers": (
        of("host1", "module.exports = (req, res) => {};"),
        "returned no response (nothing is left",
    ),
    "no-response": (
        of("host2", "export default async (req) => 7;", "main.mjs"),
        "instead of a Response",
    ),
    "worker-without": (
        of("edge1-workers", "export default { scheduled() {} };", "main.mjs"),
        "no fetch for this event",
    ),
    "object": (
        of("cloud1-lambda", "export default { fetch() {} };", "main.mjs"),
        "this provider calls functions",
    ),
    "function-answer": (
        of("cloud1-lambda", "exports.handler = async () => () => 1;"),
        "which is not JSON",
    ),
    "bigint": (of("host1", "module.exports = (req, res) => res.json(1n);"), "TypeError"),
    "bad-body": (
        replace(
            of("host1", "module.exports = (req, res) => res.json(req.body);"),
            event={**POST, "body": "{"},
        ),
        "invalid JSON",
    ),
    "two-records": (replace(_SEEN, event=_TWO, kinds=("storage",)), "the payload has 2"),
    "parameters": (
        replace(of("cloud6-functions", "exports.main = (a) => a;"), event=[1]),
        "parameters must be an object",
    ),
    "python-throws": (
        of("host1", "def app(environ, start):\n    raise IndexError('far')\n", "main.py"),
        "IndexError: far",
    ),
    "python-no-status": (
        of("host1", "def app(environ, start):\n    return []\n", "main.py"),
        "without a status",
    ),
    "python-no-response": (
        of("cloud2-functions", "def app(request):\n    return None\n", "main.py"),
        "the return value is None",
    ),
    "python-object": (of("host1", "app = 7\n", "main.py"), "has no function app"),
}


@pytest.mark.parametrize(("case", "words"), FAILING.values(), ids=FAILING)
def test_call_errors_are_reported_by_name(case: Case, words: str) -> None:
    problem = problem_of(case)
    assert problem.code == "invoke/failed"
    assert words in problem.message


@pytest.mark.slow
def test_a_request_that_is_never_answered_runs_out_of_time() -> None:
    case = of("host1", "module.exports = (req, res) => { setInterval(() => 0, 1000); };")
    assert problem_of(case, 1.5).code == "invoke/timeout"
