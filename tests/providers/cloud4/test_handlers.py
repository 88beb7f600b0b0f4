"""What stands around a handler at cloud4, called as its runtimes call it."""

import json

import pytest
from msgspec.structs import replace

from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.sources import list_server_files
from tests.support.cloud4_site import Cloud4Site
from tests.support.function_archive import archive
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.service_site import EVERY_HOUR, timed

pytestmark = pytest.mark.slow

_NAME = "shop-dev-hello"


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def in_python(order: FunctionOrder) -> FunctionOrder:
    return replace(order, artifact=replace(order.artifact, runtime="python3.10"))


def ordered(site: Cloud4Site, case: HandlerCase, content: bytes) -> FunctionOrder:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", content, *http)
    return replace(timed(order, case.timeout), settings=(("timeout", str(case.timeout)),))


def met(site: Cloud4Site, case: HandlerCase) -> HandlerAnswer:
    asked, url = case.asked, site.cloud4.url(_NAME) + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    answer = site.cloud4.http(asked.method, url, body, asked.headers)
    return HandlerAnswer(answer.status, answer.content, answer.headers, answer.cookies)


@cases_of(Host.EVENT_NODE, HTTP_CASES)
def test_a_handler_of_node_answers_as_it_does_everywhere(
    site: Cloud4Site, case: HandlerCase
) -> None:
    site.up(ordered(site, case, packed(case.source, case.file)))
    answered(case, met(site, case))
    assert case.logged in site.cloud4.log(_NAME)


@cases_of(Host.EVENT_PYTHON, HTTP_CASES)
def test_a_handler_of_python_answers_as_it_does_everywhere(
    site: Cloud4Site, case: HandlerCase
) -> None:
    site.up(in_python(ordered(site, case, packed(case.python, "index.py"))))
    answered(case, met(site, case))
    assert case.logged in site.cloud4.log(_NAME)


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "index.js",
            "exports.handler = (event, context, callback) => callback(null, "
            "{ body: JSON.parse(event).rawPath + Buffer.isBuffer(event), statusCode: 200 });",
        ),
        (
            "index.py",
            "import json\n\n\ndef handler(event, context):\n"
            "    path = json.loads(event)['rawPath']\n"
            "    return {'body': f'{path}{isinstance(event, bytes)}'.lower(), 'statusCode': 200}\n",
        ),
    ],
)
def test_handlers_of_cloud4s_own_form_get_bytes(site: Cloud4Site, file: str, source: str) -> None:
    order = site.order_of("hello", packed(source, file), HTTP)
    site.up(in_python(order) if file.endswith(".py") else order)
    text = site.said()
    assert text.startswith("/hello")
    assert file == "index.js" or text == "/hellotrue"


def test_relative_paths_resolve_from_the_archive_root(site: Cloud4Site) -> None:
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


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_a_clock_calls_with_the_event_of_schedules(site: Cloud4Site, language: str) -> None:
    python = (
        "import json\n\n\ndef handler(event, context):\n    print('given', json.dumps(event))\n"
    )
    order = site.order("hello", HTTP, EVERY_HOUR)
    if language == "python":
        order = in_python(site.order_of("hello", packed(python, "index.py"), HTTP, EVERY_HOUR))
    site.up(order)
    assert site.cloud4.schedules() == ["@every 60m"]
    assert site.cloud4.fire() == [True]
    event = json.loads(site.cloud4.log(_NAME).removeprefix("given "))
    assert event["detail-type"] == "Scheduled Event"
    assert event["time"] == "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("schedule", "zone", "written"),
    [
        ("rate(7 minutes)", "", "@every 7m"),
        ("rate(2 days)", "", "@every 2880m"),
        ("0 9 * * *", "Europe/Vienna", "CRON_TZ=Europe/Vienna 0 0 9 * * *"),
        ("cron(15 10 ? * 2-6 *)", "UTC", "0 15 10 * * MON,TUE,WED,THU,FRI"),
    ],
)
def test_schedules_are_written_as_cloud4_reads_them(
    site: Cloud4Site, schedule: str, zone: str, written: str
) -> None:
    more = {"timezone": zone} if zone else {}
    site.up(site.order("hello", trigger("cron", schedule=schedule, **more)))
    assert site.cloud4.schedules() == [written]


def test_failed_scheduled_call_is_reported_as_failed(site: Cloud4Site) -> None:
    source = 'exports.handler = async () => { throw new Error("no clock"); };'
    site.up(site.order_of("hello", packed(source), EVERY_HOUR))
    assert site.cloud4.fire() == [False]


def test_http_request_cannot_pass_as_a_schedule(site: Cloud4Site) -> None:
    source = "exports.handler = async (event) => ({ statusCode: 200, body: event.version });"
    post = trigger("http", method="POST", path="/hello")
    site.up(site.order_of("hello", packed(source), post))
    own = {"__fabric_event": {"version": "mine"}}
    body = json.dumps({**own, "triggerName": "x", "payload": json.dumps(own)}).encode()
    headers = {"content-type": "application/json"}
    answer = site.cloud4.http("POST", site.url("/hello") + "?__fabric_event=1", body, headers)
    assert answer.text == "2.0"


def test_function_without_a_route_is_unreachable(site: Cloud4Site) -> None:
    site.up(site.order("hello", EVERY_HOUR))
    assert site.said() == "404"
    assert [one for one in site.cloud4.left()["triggers"] if one.endswith("http")] == []


@pytest.mark.parametrize("language", ["nodejs", "python"])
def test_invoke_by_key_returns_the_response_and_logs(site: Cloud4Site, language: str) -> None:
    node = """exports.handler = async (event) => {
        console.log("called");
        if (event === null) throw new Error("nothing given");
        return event;
    };"""
    python = (
        "def handler(event, context):\n    print('called', flush=True)\n    if event is None:\n"
        "        raise ValueError('nothing given')\n    return event\n"
    )
    if language == "python":
        site.up(in_python(site.order_of("hello", packed(python, "index.py"))))
    else:
        site.up(site.order_of("hello", packed(node)))
    live = site.live("hello")
    answer = site.deployer.call(site.address(site.record), live, b'["a", 1]')
    assert (json.loads(answer.response), answer.logs, answer.failure) == (["a", 1], "called\n", "")
    failed = site.deployer.call(site.address(site.record), live, b"null")
    assert failed.failure == "nothing given"


def test_variables_are_there_before_the_code_begins(site: Cloud4Site) -> None:
    source = (
        "const mode = process.env.MODE;\n"
        "exports.handler = async () => ({ statusCode: 200, body: mode });"
    )
    site.up(site.order_of("hello", packed(source), HTTP, MODE="dark"))
    assert site.said() == "dark"


@pytest.mark.parametrize(
    ("file", "source"),
    [
        (
            "index.js",
            "let calls = 0; const quick = { statusCode: 200, body: 'quick' };\n"
            "exports.handler = () => new Promise((end) => setTimeout(end, 9000 * calls++, quick));",
        ),
        (
            "index.py",
            "import time\n\n\nWAITS = [9, 0]\n\n\ndef handler(event, context):\n"
            "    time.sleep(WAITS.pop())\n    return {'statusCode': 200, 'body': 'quick'}\n",
        ),
    ],
)
def test_handler_beyond_the_platform_timeout_gets_504(
    site: Cloud4Site, file: str, source: str
) -> None:
    """Also where the config says nothing of how long that is."""
    order = site.order_of("hello", packed(source, file), HTTP)
    settings = tuple(pair for pair in order.settings if pair[0] != "timeout")
    order = replace(order, settings=settings)
    site.up(in_python(order) if file.endswith(".py") else order)
    # The first call of an instance also loads the code, which takes longer on a busy machine.
    assert site.get().status == 200
    assert site.get().status == 504


def test_python_wrapper_is_a_separate_package() -> None:
    """Another one that is called so, and lies on the path, is not taken for it."""
    assert ("_fabric/fabric/__init__.py", "") in list_server_files("python", "invocations")
