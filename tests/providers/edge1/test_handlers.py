"""What stands around a handler at edge1, in the runtime of Workers."""

import contextlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError
from tests.support.bundler_cache import real_runtimes
from tests.support.edge1_site import Edge1Site
from tests.support.function_archive import archive
from tests.support.http_cases import HTTP_CASES
from tests.support.http_handlers import HandlerAnswer, HandlerCase, Host, answered, cases_of
from tests.support.orders import HTTP, trigger
from tests.support.runtimes_project import node, text_of, write

pytestmark = pytest.mark.slow

_WORKER = """export default {
    async fetch(request, env, ctx) {
        return new Response(env.MODE + " " + new URL(request.url).pathname);
    },
    async scheduled(controller, env, ctx) { console.log("at " + controller.cron); },
};"""


def packed(source: str, file: str = "index.js") -> bytes:
    return archive(**{file.replace(".", "_"): source})


def met(site: Edge1Site, case: HandlerCase) -> HandlerAnswer:
    assert site.record is not None
    asked, url = case.asked, site.record.endpoint + case.asked.path
    body = iter(asked.chunks) if asked.chunks else asked.body
    answer = site.edge1.http(asked.method, url, body, asked.headers)
    return HandlerAnswer(answer.status, answer.content, answer.headers, answer.cookies)


@cases_of(Host.WORKERS, HTTP_CASES)
def test_a_handler_answers_as_it_does_everywhere(site: Edge1Site, case: HandlerCase) -> None:
    http = [trigger("http", method=method, path=path) for method, path in case.routes]
    order = site.order_of("hello", packed(case.source, case.file), *http)
    site.up(replace(order, settings=(("timeout", str(case.timeout)),)))
    answered(case, met(site, case))
    assert case.logged in "\n".join(site.edge1.lines("shop-dev-hello"))


def test_a_worker_of_ones_own_is_called_as_it_is(site: Edge1Site) -> None:
    cron = trigger("cron", schedule="rate(1 hour)")
    site.up(site.order_of("hello", packed(_WORKER, "index.mjs"), HTTP, cron, MODE="dark"))
    assert site.said() == "dark /hello"
    assert site.edge1.fire("shop-dev-hello", "0 * * * *") == "ok"
    assert "at 0 * * * *" in site.edge1.lines("shop-dev-hello")


def test_a_clock_calls_with_the_event_of_schedules(site: Edge1Site) -> None:
    site.up(site.order("hello", trigger("cron", schedule="rate(5 minutes)")))
    assert site.edge1.fire("shop-dev-hello", "*/5 * * * *") == "ok"
    (line,) = (one for one in site.edge1.lines("shop-dev-hello") if one.startswith("given "))
    event = json.loads(line.removeprefix("given "))
    assert event["detail-type"] == "Scheduled Event"
    assert (event["time"], event["resources"]) == ("1970-01-01T00:00:00Z", ["*/5 * * * *"])


def test_failed_scheduled_call_is_reported_as_failed(site: Edge1Site) -> None:
    source = 'export const handler = async () => { throw new Error("no clock"); };'
    site.up(site.order("hello", trigger("cron", schedule="rate(1 day)"), source=source))
    assert site.edge1.fire("shop-dev-hello", "0 0 * * *") == "exception"
    assert "no clock" in "\n".join(site.edge1.lines("shop-dev-hello"))


def test_a_bundle_may_import_modules_of_workers(site: Edge1Site, tmp_path: Path) -> None:
    source = """import { WorkerEntrypoint } from "cloudflare:workers";
    export const handler = async () => ({ statusCode: 200, body: typeof WorkerEntrypoint });"""
    write(tmp_path, {"api/index.ts": source})
    with contextlib.closing(real_runtimes()) as runtimes:
        built = runtimes.build(tmp_path, node("index.ts", provided=("cloudflare:*",)))
    site.up(site.order_of("hello", packed(text_of(built, "index.mjs"), "index.mjs"), HTTP))
    assert site.said() == "function"


def test_files_beside_the_bundle_are_read_below_it(site: Edge1Site) -> None:
    source = """const fs = require("fs"); const path = require("path");
    const words = () => fs.readFileSync(path.join(__dirname, "words.txt"), "utf8");
    exports.handler = async () => ({ statusCode: 200, body: words() });"""
    site.up(site.order_of("hello", archive(index_js=source, words_txt="hey"), HTTP))
    assert site.said() == "hey"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (packed("exports.handler = async () => {"), "Unexpected end of input"),
        (packed("exports.other = 1;"), "does not export the function handler"),
        (packed("throw new Error('at the start');"), "at the start"),
        (archive(other_js="1"), "no module `index`"),
        (archive(**{"index_js": "1", "node_modules/@a/b/x_js": "1"}), "`@a/b` is not bundled"),
    ],
    ids=["syntax", "no-handler", "throws", "no-module", "package"],
)
def test_an_upload_that_cannot_run_is_refused_with_the_runtimes_words(
    site: Edge1Site, content: bytes, words: str
) -> None:
    with pytest.raises(FabricError) as raised:
        site.up(site.order_of("hello", content, HTTP))
    assert words in raised.value.first.message, raised.value.first
    assert "`hello`" in raised.value.first.message
    assert site.edge1.left() == {}
