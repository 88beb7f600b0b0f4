"""The dashboard in a real browser: clicks, keys, a connection that breaks, hostile names."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric.daemon.server.keys import hash_server_key, parse_server_keys
from tests.support.browser import Browser, Look, Tab, browser
from tests.support.dashboards import CONFIG, Relay, ServedPage, dashboard, shop_in, waiting_shop
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.flow]

TEXT = "document.querySelector({}).textContent"
SHOWN = "(() => {{ const one = document.querySelector({}); return !!one && !one.hidden; }})()"
STATES = "Object.fromEntries([...document.querySelectorAll('#graph [data-id]')].map((one) => [one.dataset.id, one.getAttribute('class')]))"  # noqa: E501
WIDE = "document.documentElement.scrollWidth - innerWidth"
BACK = "getComputedStyle(document.body).backgroundColor"
FOCUS = "document.activeElement.id"
HOSTILE = "\"><img src=x onerror=window.hacked=1><script>window.hacked=1</script>'`${1}"
# What the page is told by its stream, number by number.
HEARD = """
window.heard = [];
const Real = window.EventSource;
window.EventSource = class extends Real {
  addEventListener(kind, told) {
    super.addEventListener(kind, (event) => {
      if (event.lastEventId) window.heard.push(Number(event.lastEventId));
      told(event);
    });
  }
};
"""
# Every text of an answer is the hostile one, but for words that the page looks things up by.
TWISTED = """
const real = window.fetch;
const KEPT = new Set(["action", "change", "status", "lifecycle", "mode", "line", "startedAt",
  "endedAt", "updatedAt", "run", "wait", "skip"]);
const twist = (value, name) => {
  if (typeof value === "string") return KEPT.has(name) ? value : HOSTILE + value;
  if (Array.isArray(value)) return value.map((one) => twist(one, name));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) =>
    [["outputs", "fields"].includes(name) ? HOSTILE + key : key, twist(one, key)]));
};
window.fetch = async (...words) => {
  const answer = await real(...words);
  const told = JSON.stringify(twist(await answer.json(), ""));
  return new Response(told, { status: answer.status, headers: answer.headers });
};
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture
def page(tmp_path: Path) -> Iterator[ServedPage]:
    with dashboard(shop_in(tmp_path)) as found:
        yield found


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[ServedPage]:
    """Its deploys go on once `go` is there."""
    shop = waiting_shop(tmp_path)
    with dashboard(shop) as found:
        try:
            yield found
        finally:
            shop.write({"go": ""})


def text(tab: Tab, selector: str) -> str:
    return str(tab.run(TEXT.format(json.dumps(selector))))


def is_shown(tab: Tab, selector: str) -> bool:
    return bool(tab.run(SHOWN.format(json.dumps(selector))))


def until_said(tab: Tab, selector: str, words: str) -> None:
    found = f"(document.querySelector({json.dumps(selector)})?.textContent || '')"
    until(lambda: words in str(tab.run(found)), lambda: f"{selector}: {tab.run(found)}")


def opened(chromium: Browser, page: ServedPage, path: str = "/", look: Look | None = None) -> Tab:
    tab = chromium.visit(page.url(path), look)
    until(lambda: tab.run("document.getElementById('main')?.getAttribute('aria-busy') === 'false'"))
    return tab


def scripted(chromium: Browser, url: str, script: str) -> Tab:
    """A page before whose scripts this one runs."""
    tab = chromium.visit("about:blank")
    tab.ask("Page.addScriptToEvaluateOnNewDocument", source=script)
    tab.ask("Page.navigate", url=url)
    return tab


def test_a_click_deploys_and_the_graph_shows_it(chromium: Browser, page: ServedPage) -> None:
    tab = opened(chromium, page)
    assert text(tab, "#headline") == "No deployments in dev yet"
    tab.click("#deploy")
    assert "2 new functions" in text(tab, "#ask-words")
    tab.click("#ask-yes")
    until_said(tab, "#headline", "shop is deployed in dev")
    states = tab.run(STATES)
    assert states["deploy:shop/hello@cloud1-lambda"] == "node ran"
    assert "node run" not in states.values()
    until_said(tab, "#runs", "deploy dev")
    assert "succeeded" in text(tab, "#runs")
    assert "current" in text(tab, "#releases")
    assert text(tab, "#said") == "deploy of dev: succeeded"
    assert tab.complaints == []
    assert all(url.startswith(page.url("")) for url in tab.requests)


def test_a_connection_that_breaks_is_taken_up_behind_the_last_event(
    chromium: Browser, waiting: ServedPage
) -> None:
    relay = Relay(waiting.port)
    with contextlib.closing(relay):
        tab = scripted(chromium, f"http://127.0.0.1:{relay.port}/", HEARD)
        until_said(tab, "#headline", "No deployments in dev")
        tab.click("#deploy")
        tab.click("#ask-yes")
        until_said(tab, "#legend", "1 running")
        before = tab.run("window.heard.length")
        relay.cut()
        until(lambda: is_shown(tab, "#connection"))
        waiting.shop.write({"go": ""})
        until_said(tab, "#headline", "shop is deployed in dev")
        heard = tab.run("window.heard")
        assert heard == list(range(1, len(heard) + 1))
        assert len(heard) > before
        asked = re.search(rb"Last-Event-ID: (\d+)", relay.said)
        assert asked is not None
        assert before <= int(asked[1]) < len(heard)
        assert not is_shown(tab, "#connection")


def test_run_started_elsewhere_is_followed(chromium: Browser, waiting: ServedPage) -> None:
    tab = opened(chromium, waiting)
    waiting.ask("POST", "/deploy?wait=0")
    until_said(tab, "#headline", "Deploying shop to dev")
    until_said(tab, "#legend", "1 running")
    other = opened(chromium, waiting)
    until_said(other, "#legend", "1 running")
    assert not is_shown(other, "#deploy")
    waiting.shop.write({"go": ""})
    for one in (tab, other):
        until_said(one, "#headline", "shop is deployed in dev")


def test_a_run_is_stopped_by_a_click(chromium: Browser, waiting: ServedPage) -> None:
    tab = opened(chromium, waiting)
    waiting.ask("POST", "/deploy?wait=0")
    until_said(tab, "#legend", "1 running")
    tab.click("#stop")
    until(lambda: any(word in text(tab, "#said") for word in ("Stop requested", "cancelled")))
    if "cancelled" not in text(tab, "#said"):
        tab.click("#stop")
    until_said(tab, "#runs", "cancelled")


def test_real_deployment_is_removed_after_its_name_was_typed(
    chromium: Browser, waiting: ServedPage
) -> None:
    waiting.shop.write({"go": ""})
    assert waiting.ask("POST", "/action/deploy").status == 200
    tab = opened(chromium, waiting)
    tab.click("#remove")
    assert "Cloud resources are deleted" in text(tab, "#ask-words")
    tab.type("shoq")
    tab.press("Enter")
    assert tab.run("document.getElementById('ask-yes').disabled")
    assert tab.run("document.getElementById('ask').open")
    tab.run("(() => { document.activeElement.value = ''; })()")
    tab.type("shop")
    tab.press("Enter")
    until_said(tab, "#headline", "No deployments in dev yet")
    assert waiting.ask("GET", "/dashboard/status").json["live"] == []
    assert tab.complaints == []


def test_cancelled_dialog_starts_nothing(chromium: Browser, page: ServedPage) -> None:
    tab = opened(chromium, page)
    tab.click("#deploy")
    tab.press("Escape")
    assert not tab.run("document.getElementById('ask').open")
    tab.click("#deploy")
    tab.click("#ask-no")
    assert page.ask("GET", "/runs").json["runs"] == []


def test_a_protected_stage_is_chosen_and_asks_for_its_name(
    chromium: Browser, page: ServedPage
) -> None:
    tab = opened(chromium, page)
    tab.run(
        "(() => { const one = document.getElementById('stage'); one.value = 'prod';"
        " one.dispatchEvent(new Event('change')); })()"
    )
    until_said(tab, "#headline", "in prod")
    assert tab.run("location.search") == "?stage=prod"
    tab.click("#deploy")
    assert tab.run("document.getElementById('ask-yes').disabled")
    tab.type("prod")
    tab.click("#ask-yes")
    until_said(tab, "#headline", "shop is deployed in prod")


def test_failure_is_shown_with_its_fix_and_place(chromium: Browser, page: ServedPage) -> None:
    tab = opened(chromium, page)
    (page.shop.root / "src" / "hello.py").unlink()
    tab.click("#deploy")
    tab.click("#ask-yes")
    until_said(tab, "#problems", "src/hello.py")
    page.shop.write({"fabric.yml": f"nonsense: 1\n{CONFIG}"})
    again = opened(chromium, page)
    until_said(again, "#problems", "nonsense")
    assert "fabric.yml:1:1" in text(again, "#problems")
    assert again.run("document.getElementById('deploy').disabled")


def test_all_is_done_by_keyboard_with_the_focus_in_sight(
    chromium: Browser, page: ServedPage
) -> None:
    tab = opened(chromium, page)
    seen = []
    for _ in range(12):
        tab.press("Tab")
        seen.append(tab.run(FOCUS))
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert tab.run(outline) == "solid", seen
        if seen[-1] == "deploy":
            break
    assert [one for one in seen if one] == ["stage", "theme", "deploy"]
    tab.press("Enter")
    assert tab.run(FOCUS) == "ask-yes"
    tab.press("Enter")
    until_said(tab, "#headline", "shop is deployed in dev")


def test_key_is_required_and_ends_with_the_session(chromium: Browser, tmp_path: Path) -> None:
    with dashboard(shop_in(tmp_path), hash_server_key("let-me-in", "--api-key")) as page:
        tab = chromium.visit(page.url())
        assert tab.run(FOCUS) == "key"
        tab.type("wrong")
        tab.press("Enter")
        until_said(tab, "#wrong", "Wrong API key")
        tab.type("let-me-in")
        tab.press("Enter")
        until_said(tab, "#headline", "No deployments in dev yet")
        assert tab.run("document.cookie") == ""
        tab.click("#deploy")
        tab.click("#ask-yes")
        until_said(tab, "#headline", "shop is deployed in dev")
        tab.click("#sign-out")
        until(lambda: tab.run("!!document.getElementById('key')"))
        assert page.ask("GET", "/runs").status == 401
        assert [one for one in tab.complaints if "401" not in one] == []


def test_a_key_that_may_look_sees_no_button_that_works(chromium: Browser, tmp_path: Path) -> None:
    with dashboard(shop_in(tmp_path), *parse_server_keys("read:look", "keys")) as page:
        tab = chromium.visit(page.url())
        tab.type("look")
        tab.press("Enter")
        until_said(tab, "#headline", "No deployments in dev yet")
        assert is_shown(tab, "#may-not")
        for selector in ("#deploy", "#remove", "#stop"):
            assert not is_shown(tab, selector)
        tab.click("#sign-out")
        until(lambda: tab.run("!!document.getElementById('key')"))


@pytest.mark.parametrize("is_dark", [False, True])
def test_it_is_as_light_or_dark_as_the_reader_likes(
    chromium: Browser, page: ServedPage, *, is_dark: bool
) -> None:
    tab = opened(chromium, page, look=Look(dark=is_dark))
    first = tab.run(BACK)
    tab.click("#theme")
    assert tab.run(BACK) != first
    again = opened(chromium, page, look=Look(dark=is_dark))
    assert again.run(BACK) != first
    again.click("#theme")
    assert again.run(BACK) == first
    again.run("localStorage.clear()")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_it_fits_any_screen(chromium: Browser, page: ServedPage, width: int) -> None:
    page.ask("POST", "/action/deploy")
    tab = opened(chromium, page, look=Look(width, 800))
    until_said(tab, "#headline", "shop is deployed")
    assert tab.run(WIDE) <= 0
    tab.click("#remove")
    assert tab.run(WIDE) <= 0


def test_names_and_values_are_rendered_as_text(chromium: Browser, page: ServedPage) -> None:
    page.ask("POST", "/action/deploy")
    page.shop.write({"src/hello.py": "def handler(event, context):\n    return 'other'\n"})
    script = f"const HOSTILE = {json.dumps(HOSTILE)};{TWISTED}"
    tab = scripted(chromium, page.url(), script)
    until_said(tab, "#service", "shop")
    until_said(tab, "#releases", HOSTILE)
    for place in ("#service", "#stage", "#graph", "#live", "#changes", "#headline"):
        assert HOSTILE[:30] in text(tab, place) or place == "#graph", place
    tab.click("#deploy")
    assert HOSTILE in text(tab, "#ask-title")
    assert tab.run("window.hacked === undefined")
    assert tab.run("document.querySelectorAll('img[src=x], main script').length") == 0
    assert tab.run("[...document.links].every((one) => /^https?:/.test(one.href))")
    assert tab.complaints == []


def test_invalid_stage_is_shown_as_text_and_reset(chromium: Browser, page: ServedPage) -> None:
    tab = opened(chromium, page, "/?stage=%3Cimg%20src=x%3E")
    until_said(tab, "#problems", "invalid stage name <img src=x>")
    assert tab.run("document.querySelectorAll('img').length") == 1
    until_said(tab, "#headline", "No deployments in dev yet")


def test_script_url_in_an_output_is_not_a_link(chromium: Browser, page: ServedPage) -> None:
    tab = opened(chromium, page)
    made = """import('/dashboard/elements.js').then(({ address }) => [
      'javascript:alert(1)', 'data:text/html,x', 'https://a.example/x', 'https://u:p@a.example/',
      'file:///etc/passwd', '<b>'].map((one) => address(one).tagName))"""
    assert tab.run(made) == ["CODE", "CODE", "A", "CODE", "CODE", "CODE"]


def test_page_reconnects_to_a_restarted_daemon(chromium: Browser, tmp_path: Path) -> None:
    shop = shop_in(tmp_path)
    with dashboard(shop) as first:
        port = first.port
        tab = opened(chromium, first)
    until(lambda: is_shown(tab, "#connection"))
    with dashboard(shop, port=port):
        until(lambda: not is_shown(tab, "#connection"))
        until_said(tab, "#headline", "No deployments in dev yet")
