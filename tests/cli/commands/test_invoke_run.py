"""Functions that are really somewhere are called as they are configured."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import Done, Project, handler
from tests.support.servers.functions import functions_server
from tests.support.tool import Tool

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: look, entry: one.py, triggers: [{type: http, route: 'GET:/items/{id}'}]}
  - {name: put, entry: one.py, triggers: [{type: http, method: PUT, path: /items}]}
  - {name: any, entry: one.py, triggers: [{type: http, method: ANY, path: /any}]}
  - {name: bad, entry: one.py, triggers: [{type: http, path: /fails}]}
  - {name: nightly, entry: one.py, triggers: [{type: cron, schedule: rate(1 day)}]}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with functions_server() as found:
        yield found


@pytest.fixture
def live(address: str, tmp_path: Path) -> Project:
    made, tool = project(tmp_path), Tool(tmp_path / "tool", address)
    made.write({"fabric.yml": CONFIG, "one.py": handler("one")})
    assert made.json("deploy", env=tool.env()).code == 0
    return made


def call(live: Project, function: str, payload: str = "{}") -> Done:
    live.write({"event.json": payload})
    return live.json("invoke", "run", "--function", function, "--event", "event.json")


def test_function_is_called_with_its_own_method_and_path(live: Project) -> None:
    done = call(live, "put", '{"a": 1}').result["response"]
    assert done == {"method": "PUT", "path": "/items", "body": '{"a": 1}'}
    assert call(live, "any").result["response"]["method"] == "POST"


@pytest.mark.parametrize("payload", ['{"id": "a/b"}', '{"pathParameters": {"id": "a/b"}}'])
def test_parameters_of_a_path_come_from_the_payload(payload: str, live: Project) -> None:
    done = call(live, "look", payload).result["response"]
    assert (done["method"], done["path"]) == ("GET", "/items/a%2Fb")


def test_a_parameter_without_a_value_is_named(live: Project) -> None:
    error = call(live, "look").error
    assert error["code"] == "invoke/no-parameter"
    assert "`id`" in error["message"]


def test_function_without_an_address_is_an_error(live: Project) -> None:
    error = call(live, "nightly").error
    assert error["code"] == "invoke/no-endpoint"
    assert "add an http trigger" in error["hint"]


def test_response_of_a_failing_function_is_printed(live: Project) -> None:
    live.write({"event.json": "{}"})
    done = live.fabric("invoke", "run", "--function", "bad", "--event", "event.json")
    assert done.code == 1
    assert "418" in done.err
    assert '"path": "/fails"' in done.err
