"""What stands around a handler at cloud2, in the real functions framework."""

import json

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from fabric.providers.core.contract import FunctionOrder
from tests.support.cloud2_site import Cloud2Site
from tests.support.function_archive import archive
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def in_python(order: FunctionOrder) -> FunctionOrder:
    return replace(order, artifact=replace(order.artifact, runtime="python3.11"))


def met(site: Cloud2Site, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.cloud2.project.url(_NAME) + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    return site.cloud2.http(asked.method, url, body, asked.headers)


def ordered(site: Cloud2Site, case: HandlerCase, content: bytes) -> FunctionOrder:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", content, *http)
    return replace(order, settings=(("timeout", str(case.timeout)),))


@cases_of(Host.FRAMEWORK_NODE, HTTP_CASES)
def test_a_handler_of_node_answers_as_it_does_everywhere(
    site: Cloud2Site, case: HandlerCase
) -> None:
    site.up(ordered(site, case, packed(case.source, case.file)))
    answered(case, met(site, case))
    assert case.logged in site.cloud2.log(_NAME)


@cases_of(Host.FRAMEWORK_PYTHON, HTTP_CASES)
def test_a_handler_of_python_answers_as_it_does_everywhere(
    site: Cloud2Site, case: HandlerCase
) -> None:
    site.up(in_python(ordered(site, case, packed(case.python, "index.py"))))
    answered(case, met(site, case))
    assert case.logged in site.cloud2.log(_NAME)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("index.js", "exports.handler = (req, res) => res.status(201).json({ id: req.query.id });"),
        ("index.mjs", "export default (req, res) => res.status(201).json({ id: req.query.id });"),
        ("index.py", "def handler(request):\n    return {'id': request.args['id']}, 201\n"),
    ],
)
def test_handlers_of_cloud2s_own_form_are_called_as_they_are(
    site: Cloud2Site, file: str, source: str
) -> None:
    order = site.order_of("hello", packed(source, file), HTTP)
    site.up(in_python(order) if file.endswith(".py") else order)
    answer = site.cloud2.http("GET", site.url("/hello") + "?id=7")
    assert (answer.status, json.loads(answer.content)) == (201, {"id": "7"})


_READING = 'require("fs").readFileSync("words.txt", "utf8")'


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_relative_paths_resolve_from_the_archive_root(site: Cloud2Site, language: str) -> None:
    node = f"exports.handler = async () => ({{ statusCode: 200, body: {_READING} }});"
    python = (
        "def handler(e, c):\n    return {'statusCode': 200, 'body': open('words.txt').read()}\n"
    )
    if language == "python":
        content = archive(index_py=python, words_txt="hey")
        site.up(in_python(site.order_of("hello", content, HTTP)))
    else:
        site.up(site.order_of("hello", archive(index_js=node, words_txt="hey"), HTTP))
    assert site.said() == "hey"


def test_user_module_may_share_a_name_with_the_wrapper(site: Cloud2Site) -> None:
    main = (
        "import fabric\ndef handler(e, c):\n    return {'statusCode': 200, 'body': fabric.WORD}\n"
    )
    order = in_python(site.order_of("hello", archive(main_py=main, fabric_py="WORD = 'own'"), HTTP))
    site.up(replace(order, artifact=replace(order.artifact, handler="main.handler")))
    assert site.said() == "own"


def test_packages_beside_the_bundle_are_found(site: Cloud2Site) -> None:
    source = """const { word } = require("words");
    exports.handler = async () => ({ statusCode: 200, body: word });"""
    package = {"node_modules/words/index_js": 'exports.word = "packed";'}
    site.up(site.order_of("hello", archive(index_js=source, **package), HTTP))
    assert site.said() == "packed"


def test_handler_sees_only_its_own_variables(site: Cloud2Site) -> None:
    names = 'Object.keys(process.env).filter((one) => one.startsWith("FABRIC")).join()'
    source = f"exports.handler = async () => ({{ statusCode: 200, body: {names} }});"
    site.up(site.order_of("hello", packed(source), HTTP, EVERY_HOUR, FABRIC_OWN="x"))
    assert site.said() == "FABRIC_OWN"


_CLOCKED = "def handler(event, context):\n    print('given', event['detail-type'], event['time'])\n"


def test_a_clock_calls_a_handler_of_python(site: Cloud2Site) -> None:
    site.up(in_python(site.order_of("hello", packed(_CLOCKED, "index.py"), HTTP, EVERY_HOUR)))
    (job,) = site.cloud2.jobs()
    assert site.cloud2.fired(job["httpTarget"]) == 200
    assert "given Scheduled Event 2026-01-02T03:04:05Z" in site.cloud2.log(_NAME)
    target = {**job["httpTarget"], "headers": {"X-Fabric-Clock": "guessed"}}
    assert site.cloud2.fired(target) == 404


def test_failed_scheduled_call_is_reported_as_failed(site: Cloud2Site) -> None:
    source = 'exports.handler = async () => { throw new Error("no clock"); };'
    site.up(site.order_of("hello", packed(source), EVERY_HOUR))
    (job,) = site.cloud2.jobs()
    assert site.cloud2.fired(job["httpTarget"]) == 500
    assert "no clock" in site.cloud2.log(_NAME)


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_cors_follows_the_trigger(site: Cloud2Site, language: str) -> None:
    """The suite of all providers asks handlers of Node alone."""
    cors = {"origin": "https://page.test", "exposeHeaders": ["x-one"], "maxAge": 60}
    http = trigger("http", method="POST", path="/hello", cors=cors)
    python = "def handler(event, context):\n    return {'statusCode': 200, 'body': 'one'}\n"
    node = 'exports.handler = async () => ({ statusCode: 200, body: "one" });'
    if language == "python":
        site.up(in_python(site.order_of("hello", packed(python, "index.py"), http)))
    else:
        site.up(site.order_of("hello", packed(node), http))
    asks = {"access_control_request_method": "POST", "access_control_request_headers": "x-two"}
    before = site.asked("OPTIONS", "/hello", origin="https://page.test", **asks)
    assert before.status == 204
    assert before.headers["access-control-allow-headers"] == "x-two"
    assert before.headers["access-control-max-age"] == "60"
    after = site.asked("POST", "/hello", origin="https://page.test")
    assert (after.text, after.headers["access-control-expose-headers"]) == ("one", "x-one")
    assert after.headers["vary"] == "origin"
    other = site.asked("POST", "/hello", origin="https://other.test")
    assert "access-control-allow-origin" not in other.headers
    assert site.asked("OPTIONS", "/hello").status == 405


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (packed("exports.handler = async () => {"), "Unexpected end of input"),
        (packed("exports.other = 1;"), "does not export the function handler"),
        (packed("throw new Error('at the start');"), "at the start"),
        (archive(other_js="1"), "no module `index`"),
    ],
    ids=["syntax", "no-handler", "throws", "no-module"],
)
def test_a_source_that_cannot_run_is_refused_with_the_runtimes_words(
    site: Cloud2Site, content: bytes, words: str
) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order_of("hello", content, HTTP))
    assert words in raised.value.first.message, raised.value.first
    assert "`hello`" in raised.value.first.message
    site.up(site.order("hello", HTTP))
    assert site.said() == "one"
