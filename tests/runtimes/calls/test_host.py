"""A local process as on its provider: environment, search paths, context, and ends of calls."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.calls.host_facts import AWS_LAMBDA
from fabric.runtimes.archive import build_archive
from fabric.runtimes.calls.call_end import CallEnd
from fabric.runtimes.calls.event_lines import encode_call_event
from fabric.runtimes.calls.function import CallingProvider, InstalledPackages
from fabric.runtimes.calls.pool import HandlerPool, PoolLimits
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.invoke import Invocation, call_once
from fabric.system.event_loop import EventLoop
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.until import until

PARENT = {"PATH": ENVIRONMENT["PATH"]}
OWN_PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
LAMBDA = CallingProvider(
    memory=256,
    region="eu-west-1",
    resource="arn:aws:lambda:eu-west-1:000000000000:function:shop-dev-hello:live",
    facts=AWS_LAMBDA,
)


def function(text: str, name: str = "index.js", **more: str) -> Invocation:
    files = [BuiltFile(file, one.encode()) for file, one in {name: text, **more}.items()]
    runtime = OWN_PYTHON if name.endswith(".py") else "nodejs20.x"
    return Invocation("hello", build_archive(files), "index.handler", runtime, caller=LAMBDA)


def end_of(call: Invocation) -> CallEnd:
    return call_once(call.local, encode_call_event({"a": 1}), PARENT)


def value(call: Invocation) -> object:
    end = end_of(call)
    assert end.failure is None, end.said
    return json.loads(end.response)


CONTEXTS = {
    "index.js": (
        "exports.handler = async (event, c) => ({ env: process.env, cwd: process.cwd(), "
        "context: { name: c.functionName, group: c.logGroupName, stream: c.logStreamName, "
        "memory: c.memoryLimitInMB, arn: c.invokedFunctionArn, left: c.getRemainingTimeInMillis(), "
        "id: c.awsRequestId }, more: ['identity' in c, 'clientContext' in c, 'requestId' in c] });"
    ),
    "index.py": (
        "import os\ndef handler(event, c):\n"
        "    return {'env': dict(os.environ), 'cwd': os.getcwd(), 'context': {"
        "'name': c.function_name, 'group': c.log_group_name, 'stream': c.log_stream_name, "
        "'memory': c.memory_limit_in_mb, 'arn': c.invoked_function_arn, "
        "'left': c.get_remaining_time_in_millis(), 'id': c.aws_request_id}, "
        "'more': [c.identity.cognito_identity_id is None, c.client_context is None, c.log('x')]}\n"
    ),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_function_has_the_environment_and_the_context_of_its_provider(name: str) -> None:
    found = value(replace(function(CONTEXTS[name], name), timeout=7))
    assert isinstance(found, dict)
    env, context = found["env"], found["context"]
    assert (env["LANG"], env["TZ"]) == ("en_US.UTF-8", ":UTC")
    assert env["AWS_EXECUTION_ENV"].startswith("AWS_Lambda_")
    assert env["LAMBDA_TASK_ROOT"] == found["cwd"]
    assert env["_X_AMZN_TRACE_ID"].startswith("Root=1-")
    assert context["name"] == env["AWS_LAMBDA_FUNCTION_NAME"] == "shop-dev-hello"
    assert context["group"] == env["AWS_LAMBDA_LOG_GROUP_NAME"] == "/aws/lambda/shop-dev-hello"
    assert context["stream"] == env["AWS_LAMBDA_LOG_STREAM_NAME"]
    assert context["memory"] == env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "256"
    assert context["arn"] == LAMBDA.resource
    assert 0 < context["left"] <= 7_000
    assert found["more"][:2] == [True, True]


def test_other_providers_have_none_of_these_variables() -> None:
    call = replace(function(CONTEXTS["index.js"]), caller=CallingProvider())
    found = value(call)
    assert isinstance(found, dict)
    assert not [name for name in found["env"] if "LAMBDA" in name or "AWS" in name]
    assert found["env"]["TZ"] == "UTC"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_node_finds_layers_before_the_packages_of_the_runtime(tmp_path: Path) -> None:
    layer, runtime = tmp_path / "layer", tmp_path / "runtime"
    packages = layer / "nodejs/node_modules"
    write(packages / "one/index.js", "module.exports = 'layer';")
    write(packages / "@aws-sdk/client-s3/index.js", "module.exports = 'layer';")
    write(runtime / "@aws-sdk/client-s3/index.js", "module.exports = 'runtime';")
    write(runtime / "@aws-sdk/client-sqs/index.js", "module.exports = 'runtime';")
    installed = InstalledPackages(
        brought=(("@aws-sdk", str(runtime / "@aws-sdk")),), opt=(str(layer),)
    )
    names = ("one", "@aws-sdk/client-s3", "@aws-sdk/client-sqs")
    by_require = ", ".join(f"require('{name}')" for name in names)
    by_import = "\n".join(f"import m{n} from '{name}';" for n, name in enumerate(names))
    for call in (
        function(f"exports.handler = async () => [{by_require}];"),
        function(f"{by_import}\nexport const handler = async () => [m0, m1, m2];", "index.mjs"),
    ):
        assert value(replace(call, installed=installed)) == ["layer", "layer", "runtime"]


def test_python_searches_the_archive_then_layers_then_the_standard_library(tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    write(layer / "python/tools.py", "where = 'layer'")
    write(layer / "python/own.py", "where = 'layer'")
    write(layer / f"python/lib/{OWN_PYTHON}/site-packages/deep.py", "where = 'deep'")
    write(layer / "python/colorsys.py", "where = 'layer'")
    text = (
        "import tools, own, deep, colorsys\n"
        "def handler(event, context): return [tools.where, own.where, deep.where, colorsys.where]\n"
    )
    call = function(text, "index.py", **{"own.py": "where = 'archive'"})
    installed = InstalledPackages(opt=(str(layer),))
    assert value(replace(call, installed=installed)) == ["layer", "archive", "deep", "layer"]


@pytest.mark.parametrize("facts", [AWS_LAMBDA, CallingProvider().facts])
def test_code_is_read_only_where_the_provider_has_it_so(facts: object) -> None:
    text = (
        "const fs = require('fs'); const mode = (path) => fs.statSync(path).mode & 0o222;\n"
        "exports.handler = async () => [mode('.'), mode('lib'), mode('lib/a.js')];"
    )
    is_lambda = facts is AWS_LAMBDA
    call = function(text, **{"lib/a.js": ""})
    found = value(call if is_lambda else replace(call, caller=CallingProvider()))
    assert isinstance(found, list)
    assert (found == [0, 0, 0]) is is_lambda


def test_a_process_is_frozen_between_two_calls() -> None:
    loop = EventLoop()
    pool = HandlerPool(loop, PARENT, PoolLimits(instances=1))
    ends: list[CallEnd] = []
    try:
        pool.put(function("exports.handler = async () => process.pid;").local)
        for number in (1, 2):
            pool.call("hello", b"null", ends.append)
            loop.run_until(lambda wanted=number: len(ends) == wanted)  # type: ignore[misc]
            stat = Path(f"/proc/{ends[0].response.decode()}/stat")
            until(lambda file=stat: file.read_text().split(")")[1].split()[0] == "T")  # type: ignore[misc]
    finally:
        pool.close()
        loop.close()
    assert ends[0].response == ends[1].response


NODE_ENDS = {
    "callback-waits": (
        "exports.handler = (event, context, done) => { done(null, 1); "
        "setTimeout(() => console.log('later'), 20); };",
        1,
        "later",
    ),
    "callback-ends": (
        "exports.handler = (event, context, done) => { context.callbackWaitsForEmptyEventLoop = "
        "false; done(null, 2); setTimeout(() => console.log('later'), 9e5); };",
        2,
        "",
    ),
    "nothing-waits": (
        "exports.handler = () => { setTimeout(() => console.log('later'), 20); };",
        None,
        "later",
    ),
    "async-ends": (
        "exports.handler = async () => { setTimeout(() => console.log('later'), 9e5); return 3; };",
        3,
        "",
    ),
}


@pytest.mark.parametrize("case", NODE_ENDS)
def test_a_call_ends_when_the_provider_ends_it(case: str) -> None:
    text, response, output = NODE_ENDS[case]
    end = end_of(function(text))
    assert (json.loads(end.response), end.said.strip()) == (response, output)
    assert end.failure is None


def test_a_value_that_the_provider_ignores_is_a_warning() -> None:
    end = end_of(function("exports.handler = (event) => event;"))
    assert json.loads(end.response) == {"a": 1}
    assert [one.code for one in end.warnings if "ignored" in one.code] == ["local/ignored-value"]
    assert not [one for one in end_of(function(CONTEXTS["index.js"])).warnings if "ign" in one.code]


def test_a_rejection_that_nothing_handles_ends_the_call() -> None:
    end = end_of(
        function(
            "exports.handler = () => { Promise.reject(new RangeError('lost')); "
            "return new Promise((done) => setTimeout(done, 9e5)); };"
        )
    )
    assert end.failure is not None
    assert "RangeError: lost" in end.failure.message
