"""Calls in this process: which convention a function is for, and what it is given."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from fabric.model.calls.conventions import find_conventions
from fabric.runtimes.python.calling import call, requests
from fabric.runtimes.python.calling.handler_settings import HandlerSettings
from fabric.runtimes.python.calling.http_events import answer_of, request_of
from fabric.runtimes.python.calling.requests import PlainRequest
from tests.runtimes.python.handler_cases import CASES
from tests.support.handler_cases import GET, POST, PUBLISHED, STORED, TIMED, Case

TOLD: dict[str, object] = {
    "module": "main",
    "name": "handler",
    "functionName": "shop",
    "seconds": 60,
    "memory": 256,
    "region": "eu-west-1",
    "resource": "arn:x",
}
SAID = HandlerSettings(TOLD)


def module_of(folder: Path, text: str) -> ModuleType:
    path = folder / "main.py"
    path.write_text(text)
    spec = spec_from_file_location("called_here", path)
    assert spec
    assert spec.loader
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def answered(folder: Path, case: Case) -> object:
    calls = find_conventions(case.provider).python
    name = case.handler.rpartition(".")[2]
    said = HandlerSettings(
        {
            **TOLD,
            "name": name,
            "names": calls.names,
            "convention": calls.convention(case.kinds),
            "path": case.path,
        }
    )
    handler = call.handler_in(module_of(folder, case.text), said)
    return json.loads(json.dumps(call.call(handler, case.event)))


# A lambda's variables are those of its own process, and Flask is there in this one.
ELSEWHERE = {
    "lambda",
    "cloud2-http",
    "cloud2-text",
    "cloud2-json-becomes-a-post",
    "cloud2-timed-request",
    "cloud3-http",
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.id not in ELSEWHERE], ids=lambda case: case.id
)
def test_each_convention_returns_the_expected_response(case: Case, tmp_path: Path) -> None:
    found = answered(tmp_path, case)
    if isinstance(found, dict) and isinstance(case.response, dict):
        found = {name: found[name] for name in case.response}
    assert found == case.response


def plain(text: str, folder: Path, event: object) -> object:
    shop = module_of(folder, text).shop
    return requests.by_plain_request(shop, request_of(event, SAID), lambda value: value)


def test_a_plain_request_has_the_names_of_both_kinds_of_hosts() -> None:
    request = PlainRequest(request_of(GET, SAID))
    assert (request.method, request.path, request.host) == ("GET", "/items/7", "shop.test")
    assert request.url == "https://shop.test/items/7?a=1&b=x%20y&b=z"
    assert request.args.to_dict() == {"a": "1", "b": "x y"}
    assert request.params.getlist("b") == ["x y", "z"]
    assert request.args.getlist("none") == []
    assert len(request.headers) == 2
    assert request.headers["ACCEPT"] == "text/plain"
    assert request.route_params == {"id": "7"}
    assert request.get_json() is None
    assert request.get_body() == b""


def test_a_plain_request_reads_its_body_by_its_type() -> None:
    request = PlainRequest(request_of(POST, SAID))
    assert request.json == {"name": "ä"}
    assert request.get_data(as_text=True) == '{"name": "ä"}'
    form = {**POST, "headers": {"content-type": "application/x-www-form-urlencoded"}}
    sent = PlainRequest(request_of({**form, "body": "a=1&a=2"}, SAID))
    assert sent.form.getlist("a") == ["1", "2"]
    assert sent.values.to_dict() == {"a": "1"}
    assert sent.get_json() is None


def test_invalid_json_body_can_be_ignored_silently() -> None:
    request = PlainRequest(request_of({**POST, "body": "{"}, SAID))
    assert request.get_json(silent=True) is None
    with pytest.raises(ValueError, match="Expecting"):
        request.get_json()


@pytest.mark.parametrize(
    ("returned", "status", "headers", "body"),
    [
        ("'a'", 200, {"content-type": "text/html; charset=utf-8"}, "a"),
        ("b'a', 201", 201, {"content-type": "text/html; charset=utf-8"}, "a"),
        ("'a', '404 NOT FOUND'", 404, {"content-type": "text/html; charset=utf-8"}, "a"),
        ("'a', [('Content-Type', 'x/y')]", 200, {"content-type": "x/y"}, "a"),
        ("{'a': 1}, 202, {'X-A': 1}", 202, {"content-type": "application/json"}, '{"a": 1}'),
        ("Answer(), 203", 203, {"x-own": "1"}, "own"),
        ("Answer()", 418, {"x-own": "1"}, "own"),
    ],
)
def test_answers_are_read_as_flask_reads_them(
    returned: str, status: int, headers: dict[str, str], body: str, tmp_path: Path
) -> None:
    text = (
        "class Answer:\n    status_code, headers, data = 418, {'X-Own': '1'}, 'own'\n"
        f"def shop(request):\n    return {returned}\n"
    )
    found = plain(text, tmp_path, GET)
    assert isinstance(found, dict)
    assert (found["statusCode"], found["body"]) == (status, body)
    assert headers.items() <= found["headers"].items()


def test_flask_is_used_if_the_archive_contains_it(tmp_path: Path) -> None:
    text = (
        "import flask\n"
        "def shop(request):\n"
        "    if request.args.get('a'):\n        flask.abort(404)\n"
        "    answer = flask.jsonify(request.get_json())\n"
        "    answer.set_cookie('seen', '1')\n"
        "    return answer, 201\n"
    )
    shop = module_of(tmp_path, text).shop
    found = requests.by_request(shop, request_of(POST, SAID), lambda value: value)
    assert (found["statusCode"], found["body"]) == (201, '{"name":"\\u00e4"}\n')
    assert found["cookies"] == ["seen=1; Path=/"]
    assert (
        requests.by_request(shop, request_of(GET, SAID), lambda value: value)["statusCode"] == 404
    )


def test_older_shapes_of_http_events_are_requests_too() -> None:
    event = {
        "httpMethod": "put",
        "path": "/ä b",
        "multiValueQueryStringParameters": {"a": ["1", "2"]},
        "multiValueHeaders": {"Accept": ["x", "y"]},
        "body": {"n": 1},
    }
    request = request_of(event, SAID)
    assert (request.method, request.path) == ("PUT", "/%C3%A4%20b")
    assert request.query == "a=1&a=2"
    assert request.headers["accept"] == "x, y"
    assert request.body == b'{"n": 1}'


def test_binary_body_round_trips_as_base64() -> None:
    request = request_of({**POST, "body": "/wE=", "isBase64Encoded": True}, SAID)
    assert request.body == b"\xff\x01"
    answer = answer_of(200, [], request.body)
    assert (answer["body"], answer["isBase64Encoded"]) == ("/wE=", True)


def test_values_of_the_payload_fill_the_path_of_a_request() -> None:
    said = HandlerSettings({**TOLD, "path": "/items/{id}/{rest+}"})
    request = request_of({"id": 7, "pathParameters": {"rest": "a/b"}}, said)
    assert (request.method, request.path) == ("POST", "/items/7/a/b")


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (PUBLISHED, "google.cloud.pubsub.topic.v1.messagePublished"),
        (STORED, "google.cloud.storage.object.v1.finalized"),
        (TIMED, "google.cloud.scheduler.job.v1.executed"),
        ({"Records": [{"body": "1"}]}, "fabric.invoked"),
        ({"specversion": "1.0", "type": "own", "data": 1}, "own"),
        (7, "fabric.invoked"),
    ],
)
def test_a_cloud_event_has_the_type_of_its_source(event: object, kind: str, tmp_path: Path) -> None:
    text = "def seen(event):\n    return [event['type'], event.get('none'), event.get_data()]\n"
    case = Case("", "cloud2-functions", text, None, event, "main.seen", kinds=("pubsub",))
    found = answered(tmp_path, case)
    assert isinstance(found, list)
    assert found[:2] == [kind, None]


@pytest.mark.parametrize("returned", ["None", "'text'", "{'body': [1]}", "{'isBase64Encoded': 1}"])
def test_answers_of_plain_functions_have_one_shape(returned: str, tmp_path: Path) -> None:
    text = f"def main():\n    return {returned}\n"
    case = Case("", "cloud6-functions", text, None, POST, "main.main")
    found = answered(tmp_path, case)
    assert isinstance(found, dict)
    assert found.keys() == {"statusCode", "headers", "body", "isBase64Encoded"}


def test_an_application_may_start_without_a_word_of_its_life(tmp_path: Path) -> None:
    text = (
        "async def app(scope, receive, send):\n    assert scope['type'] == 'http'\n"
        "    await send({'type': 'http.response.start', 'status': 204})\n"
        "    await send({'type': 'http.response.body'})\n"
        "    assert (await receive())['type'] == 'http.request'\n"
        "    assert (await receive())['type'] == 'http.disconnect'\n"
    )
    case = Case("", "host1", text, None, GET, "main.app")
    found = answered(tmp_path, case)
    assert isinstance(found, dict)
    assert (found["statusCode"], found["body"]) == (204, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "async def app(scope, receive, send):\n"
            "    await send({'type': 'lifespan.startup.failed'})\n",
            "failed to start",
        ),
        ("async def app(scope, receive, send):\n    pass\n", "without a response"),
    ],
)
def test_application_without_a_response_is_reported(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=words):
        answered(tmp_path, Case("", "host1", text, None, GET, "main.app"))


def test_harness_settings_are_read_completely() -> None:
    told: dict[str, object] = {
        "folder": "/code",
        "module": "src/a",
        "name": "handler",
        "functionName": "shop",
        "seconds": 3,
        "convention": "app",
        "names": ["app"],
        "path": "/x",
        "host": "shop.test",
        "memory": 128,
        "region": "r",
        "resource": "arn:x",
    }
    read = {**vars(HandlerSettings(told)), "functionName": "shop", "names": ["app"]}
    assert read.items() >= told.items()
    assert HandlerSettings({}).path == "/"
