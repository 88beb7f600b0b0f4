"""What stands around a handler in an action, called as OpenWhisk's runtimes call it."""

import json

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionOrder
from tests.support.function_archive import archive
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR, timed
from tests.support.whisk_site import WhiskSite

pytestmark = pytest.mark.slow


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def in_python(order: FunctionOrder) -> FunctionOrder:
    return replace(order, artifact=replace(order.artifact, runtime="python3.11"))


def ordered(site: WhiskSite, case: HandlerCase, content: bytes) -> FunctionOrder:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", content, *http)
    return replace(timed(order, case.timeout), settings=(("timeout", str(case.timeout)),))


def met(site: WhiskSite, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.url("/hello").removesuffix("/hello") + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    answer = site.server.http(asked.method, url, body, asked.headers)
    return HandlerAnswer(answer.status, answer.content, answer.headers, answer.cookies)


@cases_of(Host.ACTION_NODE, HTTP_CASES)
def test_a_handler_of_node_answers_as_it_does_everywhere(
    site: WhiskSite, case: HandlerCase
) -> None:
    site.up(ordered(site, case, packed(case.source, case.file)))
    answered(case, met(site, case))
    assert case.logged in site.server.log("hello")


@cases_of(Host.ACTION_PYTHON, HTTP_CASES)
def test_a_handler_of_python_answers_as_it_does_everywhere(
    site: WhiskSite, case: HandlerCase
) -> None:
    site.up(in_python(ordered(site, case, packed(case.python, "index.py"))))
    answered(case, met(site, case))
    assert case.logged in site.server.log("hello")


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("index.js", "exports.main = (args) => ({ body: args.id + args.__ow_method });"),
        ("index.mjs", "export const main = ({ id, __ow_method }) => ({ body: id + __ow_method });"),
        ("index.py", "def main(args):\n    return {'body': args['id'] + args['__ow_method']}\n"),
    ],
)
def test_handlers_of_openwhisks_own_form_are_called_as_they_are(
    site: WhiskSite, file: str, source: str
) -> None:
    order = site.order_of("hello", packed(source, file), HTTP)
    order = replace(order, artifact=replace(order.artifact, handler="index.main"))
    site.up(in_python(order) if file.endswith(".py") else order)
    answer = site.server.http("GET", site.url("/hello") + "?id=7")
    assert (answer.status, answer.text) == (200, "7get")


def test_relative_paths_resolve_from_the_archive_root(site: WhiskSite) -> None:
    reading = 'require("fs").readFileSync("words.txt", "utf8")'
    node = f"exports.handler = async () => ({{ statusCode: 200, body: {reading} }});"
    python = (
        "def handler(e, c):\n    return {'statusCode': 200, 'body': open('words.txt').read()}\n"
    )
    site.up(site.order_of("hello", archive(index_js=node, words_txt="hey"), HTTP))
    assert site.said() == "hey"
    order = site.order_of("hello", archive(index_py=python, words_txt="hey"), HTTP)
    site.up(in_python(order))
    assert site.said() == "hey"


def test_a_clock_calls_with_the_event_of_schedules(site: WhiskSite) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert site.server.schedules() == ["0 * * * *"]
    assert site.server.fire() == [True]
    event = json.loads(site.server.log("hello").removeprefix("given "))
    assert event["detail-type"] == "Scheduled Event"
    assert event["time"] > "2026-01-01T00:00:00Z"


def test_time_zone_is_passed_to_the_alarm(site: WhiskSite) -> None:
    clock = trigger("cron", schedule="0 9 * * *", timezone="Europe/Vienna")
    site.up(site.order("hello", clock))
    (row,) = site.server.space.alarms.values()
    assert row["timezone"] == "Europe/Vienna"


def test_failed_scheduled_call_is_reported_as_failed(site: WhiskSite) -> None:
    source = 'exports.handler = async () => { throw new Error("no clock"); };'
    site.up(site.order_of("hello", packed(source), EVERY_HOUR))
    assert site.server.fire() == [False]


def test_http_request_cannot_pass_as_a_schedule(site: WhiskSite) -> None:
    source = "exports.handler = async (event) => ({ statusCode: 200, body: event.version });"
    post = trigger("http", method="POST", path="/hello")
    site.up(site.order_of("hello", packed(source), post))
    body = json.dumps({"__fabric_event": {"version": "mine"}}).encode()
    headers = {"content-type": "application/json"}
    answer = site.server.http("POST", site.url("/hello") + "?__fabric_event=1", body, headers)
    assert answer.text == "2.0"


def test_function_without_a_route_is_unreachable(site: WhiskSite) -> None:
    site.up(site.order("hello", EVERY_HOUR))
    assert site.said() == "404"
    (version,) = site.server.versions("hello")
    package, name = version.split("/")
    assert site.server.http("GET", site.server.url(package, name)).status == 404


def test_invoke_by_key_returns_the_response_and_logs(site: WhiskSite) -> None:
    source = """exports.handler = async (event) => {
        console.log("called");
        if (event === null) throw new Error("nothing given");
        return event;
    };"""
    site.up(site.order_of("hello", packed(source)))
    live = site.live("hello")
    answer = site.deployer.call(site.address(site.record), live, b'["a", 1]')
    assert (json.loads(answer.response), answer.logs, answer.failure) == (["a", 1], "called\n", "")
    failed = site.deployer.call(site.address(site.record), live, b"null")
    assert failed.failure == "nothing given"
