"""What stands around a handler at host1, called as the launcher there calls it."""

import json
import re

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from tests.support.function_archive import archive
from tests.support.host1_site import Host1Site
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR, timed

pytestmark = pytest.mark.slow

_HELLO = "shop-dev-hello"


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def met(site: Host1Site, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.known().endpoint + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    answer = site.host1.http(asked.method, url, body, asked.headers)
    return HandlerAnswer(answer.status, answer.content, answer.headers, answer.cookies)


@cases_of(Host.NODE, HTTP_CASES)
def test_a_handler_answers_as_it_does_everywhere(site: Host1Site, case: HandlerCase) -> None:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", packed(case.source, case.file), *http)
    site.up(replace(timed(order, case.timeout), settings=(("timeout", str(case.timeout)),)))
    answered(case, met(site, case))
    assert case.logged in "\n".join(site.host1.lines(_HELLO))


def test_a_function_of_requests_and_responses_is_called_as_host1_documents_it(
    site: Host1Site,
) -> None:
    source = """export default (req, res) => {
        res.statusCode = 201;
        res.setHeader("x-made", "here");
        res.end(`${req.method} ${req.url}`);
    };"""
    route = trigger("http", method="POST", path="/items/{id}")
    site.up(site.order_of("hello", packed(source, "index.mjs"), route))
    answer = site.host1.http("POST", f"{site.known().endpoint}/items/7?a=1", b"given")
    assert (answer.status, answer.text) == (201, "POST /items/7?a=1")
    assert answer.headers["x-made"] == "here"


def test_functions_with_the_names_of_methods_are_called_as_host1_documents_them(
    site: Host1Site,
) -> None:
    source = "export const GET = (request) => new Response(new URL(request.url).pathname);"
    site.up(site.order_of("hello", packed(source, "index.mjs"), HTTP))
    assert site.said() == "/hello"


def test_an_object_with_fetch_is_called_as_it_is(site: Host1Site) -> None:
    source = "export default { fetch: (request) => Response.json(new URL(request.url).pathname) };"
    site.up(site.order_of("hello", packed(source, "index.mjs"), HTTP))
    assert site.said() == '"/hello"'


def test_a_clock_calls_with_the_event_of_schedules(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR))
    assert site.host1.schedules() == {_HELLO: ["0 * * * *"]}
    assert site.host1.fire(_HELLO) == 204
    (line,) = site.host1.lines(_HELLO)
    event = json.loads(line.removeprefix("given "))
    assert (event["detail-type"], event["resources"]) == ("Scheduled Event", ["rate(1 hour)"])
    assert site.said() == "one"


def test_each_schedule_is_registered_separately(site: Host1Site) -> None:
    twice = (EVERY_HOUR, trigger("cron", schedule="0 12 * * MON-FRI"))
    site.up(site.order("hello", *twice))
    assert site.host1.schedules() == {_HELLO: ["0 * * * *", "0 12 * * 1,2,3,4,5"]}


def test_failed_scheduled_call_is_reported_as_failed(site: Host1Site) -> None:
    source = 'exports.handler = async () => { throw new Error("no clock"); };'
    site.up(site.order_of("hello", packed(source), EVERY_HOUR))
    assert site.host1.fire(_HELLO) == 500
    assert "no clock" in "\n".join(site.host1.lines(_HELLO))


def test_http_request_cannot_pass_as_a_schedule(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP, EVERY_HOUR), site.order("bye"))
    project = site.host1.project
    assert project.shown is not None
    (cron,) = project.config(project.shown)["crons"]
    assert re.fullmatch(rf"/_fabric/clock/{_HELLO}/0-[0-9a-f]{{32}}", cron["path"])
    guesses = (cron["path"][:-1], cron["path"][:-32] + "0" * 32, f"/_fabric/clock/{_HELLO}")
    headers = {"User_Agent": "vercel-cron/1.0"}
    assert {site.get(path, **headers).status for path in guesses} == {404}
    # What tells others of a deployment does not tell it.
    assert cron["path"][-32:] not in str(project.shown.body["meta"])
    assert site.host1.lines(_HELLO) == []


def test_function_without_a_route_is_unreachable(site: Host1Site) -> None:
    site.up(site.order("hello", HTTP), site.order("bye"))
    assert site.get("/shop-dev-bye").status == 404
    assert site.get(f"/{_HELLO}").status == 404


def test_files_beside_the_bundle_are_readable(site: Host1Site) -> None:
    source = """const fs = require("fs"); const path = require("path");
    const words = () => fs.readFileSync(path.join(__dirname, "words.txt"), "utf8")
        + fs.readFileSync("words.txt", "utf8");
    exports.handler = async () => ({ statusCode: 200, body: words() });"""
    site.up(site.order_of("hello", archive(index_js=source, words_txt="hey"), HTTP))
    assert site.said() == "heyhey"


def test_one_path_of_two_functions_is_split_by_its_methods(site: Host1Site) -> None:
    cors = {"origin": "*"}
    get = trigger("http", method="GET", path="/things", cors=cors)
    post = trigger("http", method="POST", path="/things", cors=cors)
    site.up(site.order("read", get, word="read"), site.order("write", post, word="write"))
    assert (site.said("/things"), site.said("/things", "POST")) == ("read", "write")
    assert site.asked("HEAD", "/things").status == 200
    asks = {"Origin": "https://shop.test", "Access-Control-Request-Method": "POST"}
    before = site.host1.http("OPTIONS", f"{site.known().endpoint}/things", headers=asks)
    assert before.status == 204
    other = site.asked("PUT", "/things")
    assert (other.status, other.headers["allow"]) == (405, "GET, POST")


def test_the_closest_path_that_has_the_method_wins(site: Host1Site) -> None:
    rows = {
        "one": ("GET", "/users/{id}"),
        "me": ("GET", "/users/me"),
        "any": ("ANY", "/users/{rest+}"),
        "root": ("GET", "/"),
    }
    orders = [
        site.order(name, trigger("http", method=verb, path=path), word=name)
        for name, (verb, path) in rows.items()
    ]
    site.up(*orders)
    asked = ("/users/7", "/users/me", "/users/me/", "/users/7/x", "/")
    assert [site.said(path) for path in asked] == ["one", "me", "me", "any", "root"]
    assert site.said("/users/me", "POST") == "any"
    assert site.said("/Users/me") == "404"


def test_a_path_may_be_sent_in_either_way(site: Host1Site) -> None:
    site.up(site.order("hello", trigger("http", method="GET", path="/h\u00e9/a b")))
    assert site.said("/h%C3%A9/a%20b") == "one"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (archive(other_js="1"), "no module `index`"),
        (archive(**{"index_js": "1", ".vc-config_json": "{}"}), "`.vc-config.json`"),
        (archive(**{"index_js": "1", "_fabric/x_js": "1"}), "`_fabric/x.js`"),
    ],
    ids=["no-module", "settings", "folder"],
)
def test_an_archive_that_cannot_run_there_is_refused_before_any_call(
    site: Host1Site, content: bytes, words: str
) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order_of("hello", content, HTTP))
    assert raised.value.first.code == "deploy/unfit-archive"
    assert words in raised.value.first.message
    assert site.host1.calls() == []
