"""One call on this machine, of what would be deployed."""

import json
import os
from pathlib import Path

import pytest

from tests.support.in_process import project, typescript
from tests.support.project import Project

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: user, entry: src/echo.py, triggers: [{type: http, route: 'GET:/users/{id}'}]}
  - {name: post, entry: src/echo.py, triggers: [{type: http, route: 'POST:/users'}]}
  - {name: jobs, entry: src/echo.py, triggers: [{type: cron, schedule: rate(1 day)}]}
  - {name: bad, entry: src/bad.py, triggers: [{type: http, path: /bad}]}
"""
SOURCES = {
    "src/echo.py": "def handler(event, context):\n    print('seen')\n    return event\n",
    "src/bad.py": "def handler(event, context):\n"
    "    print('before')\n    raise LookupError('not there')\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    return project(tmp_path, CONFIG, SOURCES)


def called(shop: Project, *words: str) -> object:
    return shop.json("invoke", "local", *words).result["response"]


def test_the_answer_is_all_that_stdout_holds_and_the_rest_is_talk(shop: Project) -> None:
    shop.write({"event.json": '{"id": 1}'})
    done = shop.fabric("invoke", "local", "--function", "jobs", "--event", "event.json")
    assert (done.code, json.loads(done.out)) == (0, {"id": 1})
    assert "seen\n" in done.err


def test_as_json_it_has_the_shape_of_all_invocations(shop: Project) -> None:
    result = shop.json("invoke", "local", "--function", "jobs").result
    assert result.keys() == {"function", "provider", "simulated", "response", "logs", "ms"}
    assert (result["function"], result["provider"], result["simulated"]) == (
        "jobs",
        "cloud1-lambda",
        True,
    )
    assert (result["response"], result["logs"]) == ({}, "seen\n")


def test_a_request_finds_its_function_by_its_route(shop: Project) -> None:
    event = called(shop, "--path", "/users/7?a=1", "--query", "b=x y", "--header", "X-One: 1")
    assert isinstance(event, dict)
    assert event["routeKey"] == "GET /users/{id}"
    assert event["pathParameters"] == {"id": "7"}
    assert event["queryStringParameters"] == {"a": "1", "b": "x y"}
    assert event["headers"]["x-one"] == "1"


def test_a_body_makes_a_post_of_a_request(shop: Project) -> None:
    event = called(shop, "--path", "/users", "--body", '{"n": 1}')
    assert isinstance(event, dict)
    assert (event["routeKey"], event["body"]) == ("POST /users", '{"n": 1}')
    assert event["headers"]["content-type"] == "application/json"


def test_only_the_called_function_is_built_and_only_once(shop: Project) -> None:
    first = shop.fabric("invoke", "local", "--function", "jobs")
    assert "build:shop/jobs" in first.err
    assert "build:shop/user" not in first.err
    assert "build:" not in shop.fabric("invoke", "local", "--function", "jobs").err


def test_invoke_runs_the_archive_not_the_source_tree(shop: Project) -> None:
    shop.write(
        {
            "src/echo.py": "import os\ndef handler(e, c):\n"
            "    return [os.path.exists('src/bad.py'), os.path.exists('fabric.yml')]\n"
        }
    )
    assert called(shop, "--function", "jobs") == [False, False]


def test_typescript_is_compiled_when_no_artifact_is_there(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    first = made.fabric("invoke", "local", "--function", "hello")
    assert (json.loads(first.out), "build:shop/hello" in first.err) == ("hello", True)
    again = made.fabric("invoke", "local", "--path", "/hello")
    assert (json.loads(again.out), "build:" in again.err) == ("hello", False)


def test_handler_exception_is_an_error_with_its_output(shop: Project) -> None:
    done = shop.json("invoke", "local", "--function", "bad")
    assert done.code == 1
    assert done.error["code"] == "invoke/failed"
    assert "LookupError: not there" in done.error["message"]
    assert "before" in shop.fabric("invoke", "local", "--function", "bad").err


def test_secret_is_redacted_in_handler_output(shop: Project) -> None:
    shop.write(
        {
            ".env": "KEY=hunter2-hunter2\n",
            "fabric.yml": CONFIG + "env: {A: '${secret:KEY}'}\n",
            "src/bad.py": "import os\ndef handler(e, c):\n"
            "    print(os.environ['A'])\n    raise ValueError(os.environ['A'])\n",
        }
    )
    done = shop.fabric("invoke", "local", "--function", "bad")
    assert "ValueError: [REDACTED]" in done.err
    assert "hunter2" not in done.out + done.err


def test_undeployed_upstream_variables_are_omitted_with_a_warning(
    tmp_path: Path,
) -> None:
    text = "import os\ndef handler(e, c):\n    return sorted(n for n in os.environ if 'API' in n)\n"
    made = project(tmp_path)
    made.write(
        {
            "fabric.compose.yml": "services:\n  - {name: api, config: api}\n"
            "  - {name: web, config: web, dependsOn: [api]}\n",
            "api/fabric.yml": CONFIG.replace("shop", "api"),
            "web/fabric.yml": "service: web\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
            "functions: [{name: one, entry: one.py}]\n",
            "web/one.py": text,
            **{f"api/{name}": source for name, source in SOURCES.items()},
        }
    )
    done = made.fabric("invoke", "local", cwd="web")
    assert (done.code, json.loads(done.out)) == (0, [])
    assert "local/upstream-not-deployed" in done.err
    assert made.fabric("deploy", cwd="api").code == 0
    again = made.fabric("invoke", "local", cwd="web")
    assert "SERVICE_API_URL" in json.loads(again.out)
    assert "upstream" not in again.err


SLIPS = {
    "unknown-function": (("--function", "usr"), 64, "did you mean `user`?"),
    "no-function": ((), 64, "one of user, post, jobs, bad"),
    "no-route": (("--path", "/nothing"), 64, "GET /users/{id}"),
    "no-method": (("--path", "/users", "--method", "DELETE"), 64, "POST /users"),
    "no-path": (("--method", "GET"), 64, "--path"),
    "bad-method": (("--method", "FETCH", "--path", "/users/7"), 64, "GET, HEAD"),
    "no-slash": (("--path", "users"), 64, "starts with `/`"),
    "bad-query": (("--path", "/users/7", "--query", "a"), 64, "NAME=VALUE"),
    "bad-header": (("--path", "/users/7", "--header", "a"), 64, "NAME: VALUE"),
    "header-with-line-feed": (("--path", "/users/7", "--header", "a: b\nc: d"), 64, "control"),
    "event-and-path": (
        ("--path", "/users/7", "--event", "e.json"),
        64,
        "or remove --path",
    ),
    "watch-alone": (("--watch", "--function", "jobs"), 64, "--serve"),
    "port-alone": (("--port", "1", "--function", "jobs"), 64, "--serve"),
    "path-when-serving": (("--serve", "--path", "/users/7"), 64, "come from HTTP clients"),
    "no-such-event": (("--function", "jobs", "--event", "none.json"), 65, "no such file"),
    "empty-event": (("--function", "jobs", "--event", "empty.json"), 65, "is empty"),
    "event-no-json": (("--function", "jobs", "--event", "bad.json"), 65, "invalid JSON"),
    "event-nan": (("--function", "jobs", "--event", "nan.json"), 65, "not a JSON number"),
    "event-folder": (("--function", "jobs", "--event", "src"), 65, "cannot read"),
    "event-pipe": (("--function", "jobs", "--event", "pipe"), 65, "not a regular file"),
    "event-large": (("--function", "jobs", "--event", "large.json"), 65, "20 MB"),
    "event-deep": (("--function", "jobs", "--event", "deep.json"), 65, "invalid JSON"),
    "template-no-object": (
        ("--serve", "--event", "list.json", "--port", "0"),
        65,
        "must be a JSON object",
    ),
}


@pytest.mark.parametrize(("words", "code", "hint"), SLIPS.values(), ids=SLIPS)
def test_invalid_input_is_reported_before_anything_runs(
    words: tuple[str, ...], code: int, hint: str, shop: Project
) -> None:
    shop.write(
        {
            "empty.json": " \n",
            "bad.json": "{",
            "deep.json": "[" * 100_000,
            "list.json": "[]",
            "nan.json": "[NaN]",
        }
    )
    os.mkfifo(shop.root / "pipe")
    with (shop.root / "large.json").open("wb") as file:
        file.truncate(200_000_000)
    done = shop.fabric("invoke", "local", *words)
    assert (done.code, done.out) == (code, "")
    assert hint in done.err
    assert not (shop.root / ".fabric").exists()


def test_entry_without_the_export_is_reported(shop: Project) -> None:
    shop.write({"src/echo.py": "def other(event, context):\n    return 1\n"})
    done = shop.fabric("invoke", "local", "--function", "jobs")
    assert done.code == 1
    assert "handler" in done.err


def test_native_module_for_another_platform_is_reported_with_a_fix(shop: Project) -> None:
    shop.write(
        {
            "src/echo.py": "import ctypes, os\n"
            "lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'native.so'))\n"
            "def handler(e, c):\n    return 1\n",
            "src/native.so": "not for this machine at all, whatever it may be" * 9,
            "fabric.yml": CONFIG + "x-a: 1\n",
        }
    )
    config = CONFIG.replace(
        "{name: jobs, entry: src/echo.py,", "{name: jobs, entry: src/echo.py, include: [src/*.so],"
    )
    shop.write({"fabric.yml": config})
    done = shop.fabric("invoke", "local", "--function", "jobs")
    assert done.code == 1
    assert "native module" in done.err


def test_secret_is_redacted_in_output_of_a_deployed_function(tmp_path: Path) -> None:
    text = "import os\ndef handler(e, c):\n    print(os.environ['A'])\n    return 1\n"
    config = CONFIG.replace("functions:", "env: {A: '${secret:KEY}'}\nfunctions:", 1)
    made = project(
        tmp_path, config, {**SOURCES, "src/echo.py": text, ".env": "KEY=hunter2-hunter2\n"}
    )
    assert made.fabric("deploy").code == 0
    done = made.json("invoke", "run", "--function", "jobs")
    assert (done.result["response"], done.result["logs"]) == (1, "[REDACTED]\n")


def test_different_language_version_warns(shop: Project) -> None:
    shop.write({"fabric.yml": CONFIG.replace("python3.11", "python3.99")})
    done = shop.fabric("invoke", "local", "--function", "jobs")
    assert done.code == 0
    assert "local/other-version" in done.err
    assert "its runtime is python3.99" in done.err


def test_coroutine_is_an_error_if_the_host_does_not_await_it(shop: Project) -> None:
    shop.write({"src/echo.py": "async def handler(event, context):\n    return 1\n"})
    done = shop.fabric("invoke", "local", "--function", "jobs")
    assert (done.code, "coroutine" in done.err) == (1, True)
