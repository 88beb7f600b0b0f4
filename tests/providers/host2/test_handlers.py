"""What stands around a handler at host2, called as the runtime there calls it."""

import json

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from tests.support.function_archive import archive
from tests.support.host2_site import Host2Site
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR, timed

pytestmark = pytest.mark.slow

_HELLO = "shop-dev-hello"


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def met(site: Host2Site, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.known().endpoint + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    answer = site.host2.http(asked.method, url, body, asked.headers)
    return HandlerAnswer(answer.status, answer.content, answer.headers, answer.cookies)


@cases_of(Host.SITES, HTTP_CASES)
def test_a_handler_answers_as_it_does_everywhere(site: Host2Site, case: HandlerCase) -> None:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", packed(case.source, case.file), *http)
    site.up(replace(timed(order, case.timeout), settings=(("timeout", str(case.timeout)),)))
    answered(case, met(site, case))
    assert case.logged in "\n".join(site.host2.lines(_HELLO))


def test_a_function_of_requests_is_called_as_host2_documents_it(site: Host2Site) -> None:
    source = """export default async (request, context) =>
        new Response(`${await request.text()} ${context.params.id}`, { status: 201 });"""
    route = trigger("http", method="POST", path="/items/{id}")
    site.up(site.order_of("hello", packed(source, "index.mjs"), route))
    url = f"{site.known().endpoint}/items/7"
    answer = site.host2.http("POST", url, b"given")
    assert (answer.status, answer.text) == (201, "given 7")


def test_an_object_with_fetch_is_called_as_it_is(site: Host2Site) -> None:
    source = "export default { fetch: (request) => Response.json(new URL(request.url).pathname) };"
    site.up(site.order_of("hello", packed(source, "index.mjs"), HTTP))
    assert site.said() == '"/hello"'


def test_a_clock_calls_with_the_event_of_schedules(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert site.host2.schedules() == {f"{_HELLO}-clock": "0 * * * *"}
    assert site.host2.fire(f"{_HELLO}-clock")
    (line,) = site.host2.lines(f"{_HELLO}-clock")
    event = json.loads(line.removeprefix("given "))
    assert (event["detail-type"], event["resources"]) == ("Scheduled Event", ["rate(1 hour)"])


def test_each_schedule_is_registered_separately(site: Host2Site) -> None:
    twice = (EVERY_HOUR, trigger("cron", schedule="0 12 * * 1-5"))
    site.up(site.order("hello", *twice))
    rows = {f"{_HELLO}-clock": "0 * * * *", f"{_HELLO}-clock1": "0 12 * * MON,TUE,WED,THU,FRI"}
    assert site.host2.schedules() == rows
    assert site.host2.fire(f"{_HELLO}-clock1")
    assert "0 12 * * 1-5" in site.host2.lines(f"{_HELLO}-clock1")[0]


def test_failed_scheduled_call_is_reported_as_failed(site: Host2Site) -> None:
    source = 'exports.handler = async () => { throw new Error("no clock"); };'
    site.up(site.order_of("hello", packed(source), EVERY_HOUR))
    assert not site.host2.fire(f"{_HELLO}-clock")
    assert "no clock" in "\n".join(site.host2.lines(f"{_HELLO}-clock"))


def test_http_request_cannot_pass_as_a_schedule(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR), site.order("bye"))
    assert site.get("/hello", **{"X-NF-Event": "schedule"}).status == 404
    below = f"/.netlify/functions/{_HELLO}-clock"
    assert site.get(below, **{"X-NF-Event": "schedule"}).status == 403


def test_function_without_a_route_is_unreachable(site: Host2Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye"))
    assert site.get("/.netlify/functions/shop-dev-bye").status == 404
    assert site.get(f"/.netlify/functions/{_HELLO}").status == 404


def test_files_beside_the_bundle_are_readable(site: Host2Site) -> None:
    source = """const fs = require("fs"); const path = require("path");
    const words = () => fs.readFileSync(path.join(__dirname, "words.txt"), "utf8")
        + fs.readFileSync("words.txt", "utf8");
    exports.handler = async () => ({ statusCode: 200, body: words() });"""
    site.up(site.order_of("hello", archive(index_js=source, words_txt="hey"), HTTP))
    assert site.said() == "heyhey"


def test_one_path_of_two_functions_is_split_by_its_methods(site: Host2Site) -> None:
    cors = {"origin": "*"}
    get = trigger("http", method="GET", path="/things", cors=cors)
    post = trigger("http", method="POST", path="/things", cors=cors)
    site.up(site.order("read", get, word="read"), site.order("write", post, word="write"))
    assert (site.said("/things"), site.said("/things", "POST")) == ("read", "write")
    asks = {"Origin": "https://shop.test", "Access-Control-Request-Method": "POST"}
    before = site.host2.http("OPTIONS", f"{site.known().endpoint}/things", headers=asks)
    assert before.status == 204


def test_a_closer_path_of_another_function_wins(site: Host2Site) -> None:
    any_of = trigger("http", method="GET", path="/users/{id}")
    me = trigger("http", method="ANY", path="/users/me")
    site.up(site.order("one", any_of, word="one"), site.order("me", me, word="me"))
    assert (site.said("/users/7"), site.said("/users/me"), site.said("/users/me/")) == (
        "one",
        "me",
        "me",
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (archive(other_js="1"), "no module `index`"),
        (archive(**{"index_js": "1", "shop-dev-hello_js": "1"}), "`shop-dev-hello.js`"),
        (archive(**{"index_js": "1", "_fabric/x_js": "1"}), "`_fabric/x.js`"),
    ],
    ids=["no-module", "name", "folder"],
)
def test_an_archive_that_cannot_run_there_is_refused_before_any_call(
    site: Host2Site, content: bytes, words: str
) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order_of("hello", content, HTTP))
    assert raised.value.first.code == "deploy/unfit-archive"
    assert words in raised.value.first.message
    assert site.host2.calls() == []
