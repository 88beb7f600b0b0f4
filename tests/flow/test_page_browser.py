"""The page of a plan in a real browser, under a real mouse and real keys."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fabric.graph.critical_path import compute_critical_path
from fabric.graph.decide import Action
from fabric.graph.plan import Plan
from fabric.model.task_id import TaskId
from fabric.views.pictures.draw import draw
from tests.support.browser import Browser, Look, Tab, browser
from tests.support.plans import build, large, plan_of, shop

LIT = "[...document.querySelectorAll('#lit [data-lit]')].map((one) => one.dataset.lit)"
FADED = "getComputedStyle(document.getElementById('veil')).display !== 'none'"
SHOWN = "[...document.querySelectorAll('#boxes [data-key]')].map((one) => one.dataset.key)"
CRITICAL = (
    "[...document.querySelectorAll('#boxes .critical')]"
    ".filter((one) => getComputedStyle(one.querySelector('.halo')).display !== 'none')"
    ".map((one) => one.dataset.key)"
)
LINES = "[...document.querySelectorAll('#path-lines .edge')].map((one) => getComputedStyle(one))"
FOCUS = "document.activeElement.dataset.key"
TEXT = "document.getElementById('{}').textContent"
# How many shapes are touched when the pointer comes to a box, and how many are lit then.
TOUCHED = """(async () => {
  const seen = new Set();
  const note = (records) => {
    for (const one of records) {
      [one.target, ...one.addedNodes, ...one.removedNodes].forEach((node) => seen.add(node));
    }
  };
  const observer = new MutationObserver(note);
  const what = { subtree: true, childList: true, attributes: true };
  observer.observe(document.documentElement, what);
  const box = document.querySelector("#boxes .node");
  box.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  note(observer.takeRecords());
  const lit = document.querySelectorAll("#lit [data-lit]").length;
  return [seen.size, lit, document.querySelectorAll("#boxes .node").length];
})()"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


class Pages:
    def __init__(self, chromium: Browser, folder: Path) -> None:
        self._chromium, self._folder = chromium, folder

    def open(self, plan: Plan, look: Look | None = None) -> Tab:
        path = self._folder / "page.html"
        path.write_text(draw("html", plan))
        return self._chromium.open(path, look)


@pytest.fixture
def pages(chromium: Browser, tmp_path: Path) -> Pages:
    return Pages(chromium, tmp_path)


def box(plan: Plan, task_id: str) -> str:
    return f"node {plan.graph.ids.index(TaskId(task_id))}"


def at(key: str) -> str:
    return f'#world [data-key="{key}"]'


def service_row(tab: Tab, service: str) -> int:
    found = tab.run(
        "JSON.parse(document.getElementById('plan').textContent).lanes.map((one) => one.service)"
    )
    return int(found.index(service))


def around(plan: Plan, number: int) -> set[str]:
    """The task, all that it needs and all that needs it."""
    return {f"node {one}" for one in reach(plan.graph.needs, number)} | {
        f"node {one}" for one in reach(plan.graph.dependents, number)
    }


def reach(ways: Sequence[Sequence[int]], number: int) -> set[int]:
    found = {number}
    for one in ways[number]:
        found |= reach(ways, one)
    return found


def wide(plan: Plan) -> Look:
    """So large that all of a small plan is in sight."""
    return Look(2600, 1200 + 10 * len(plan.graph))


def test_hovering_a_task_highlights_its_dependencies_and_dependents(pages: Pages) -> None:
    plan = shop()
    number = plan.graph.ids.index(TaskId("release:cart@cloud1-lambda"))
    tab = pages.open(plan, wide(plan))
    assert (tab.run(LIT), tab.run(FADED)) == ([], False)
    tab.point_at(at(f"node {number}"))
    assert set(tab.run(LIT)) == around(plan, number)
    assert tab.run(FADED)
    assert plan.graph.ids[number] in tab.run(TEXT.format("tip"))


def test_leaving_a_task_lights_nothing(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.point_at(".node")
    tab.point(640, 795)
    assert (tab.run(LIT), tab.run(FADED)) == ([], False)
    assert tab.run("document.getElementById('tip').hidden")


def test_pointing_at_a_folded_service_lights_the_services_around_it(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.click("#fold")
    tab.point_at(at(f"lane {service_row(tab, 'auth')}"))
    assert sorted(tab.run(LIT)) == ["lane 0", "lane 1", "lane 2"]


def test_a_service_folds_into_one_box_and_unfolds_again(pages: Pages) -> None:
    plan = shop()
    tab = pages.open(plan, wide(plan))
    everything = sorted(tab.run(SHOWN))
    row = service_row(tab, "cart")
    tasks = {
        f"node {number}"
        for number, task in enumerate(plan.graph.tasks)
        if task.inputs.service == "cart"
    }
    tab.click(at(f"title {row}") + " .service")
    assert sorted(tab.run(SHOWN)) == sorted({*everything, f"lane {row}"} - tasks)
    tab.click(at(f"lane {row}"))
    assert sorted(tab.run(SHOWN)) == everything


def test_the_buttons_fold_and_unfold_all_services(pages: Pages) -> None:
    plan = shop()
    tab = pages.open(plan, wide(plan))
    tab.click("#fold")
    assert tab.run(SHOWN) == ["lane 0", "lane 1", "lane 2"]
    tab.click("#unfold")
    assert len(tab.run(SHOWN)) == len(plan.graph)


def test_search_highlights_and_counts_matches(pages: Pages) -> None:
    plan = shop()
    tab = pages.open(plan, wide(plan))
    tab.click("#search")
    tab.type("cart/sh")
    wanted = {f"node {n}" for n, name in enumerate(plan.graph.ids) if "cart/sh" in name}
    assert set(tab.run(LIT)) == wanted
    assert tab.run(TEXT.format("found")) == f"{len(wanted)} tasks"
    assert tab.run(FADED)


def test_search_omits_filtered_tasks(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.press("/")
    tab.type("release:")
    assert tab.run(TEXT.format("found")) == "3 tasks"
    tab.click("#chips button:nth-child(3)")
    assert tab.run(TEXT.format("found")) == "2 tasks"


def test_search_steps_through_matches_and_opens_folded_services(pages: Pages) -> None:
    plan = shop()
    tab = pages.open(plan, wide(plan))
    tab.click("#fold")
    tab.press("/")
    tab.type("release:")
    tab.press("Enter")
    assert tab.run(TEXT.format("found")) == "1 of 3"
    assert "release:auth" in tab.run(TEXT.format("details"))
    assert box(plan, "release:auth@cloud1-lambda") in tab.run(SHOWN)
    tab.press("Enter", modifiers=8)
    assert tab.run(TEXT.format("found")) == "3 of 3"


def test_escape_clears_search_and_choice(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.press("/")
    tab.type("cart")
    tab.press("Enter")
    tab.press("Escape")
    assert (tab.run(LIT), tab.run(FADED)) == ([], False)
    assert tab.run("document.getElementById('search').value") == ""
    assert tab.run("document.getElementById('details').hidden")


def test_click_keeps_a_task_highlighted_and_shows_its_details(pages: Pages) -> None:
    plan = shop()
    key = box(plan, "build:cart/add")
    tab = pages.open(plan, wide(plan))
    tab.click(at(key))
    tab.point(5, 5)
    assert key in tab.run(LIT)
    told = tab.run(TEXT.format("details"))
    assert "build:cart/add" in told
    assert "will run: because" in told


def test_the_critical_path_of_the_page_is_that_of_the_plan(pages: Pages) -> None:
    plan = shop()
    path = compute_critical_path(plan).numbers
    tab = pages.open(plan, wide(plan))
    assert set(tab.run(CRITICAL)) == {f"node {number}" for number in path}
    assert tab.run(f"{LINES}.length") == len(path) - 1
    assert f"Critical path: {len(path)} tasks, cart → checkout" in tab.run(TEXT.format("path"))


def test_a_folded_service_on_the_critical_path_is_marked(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.click("#fold")
    marked = {f"lane {service_row(tab, name)}" for name in ("cart", "checkout")}
    assert set(tab.run(CRITICAL)) == marked
    assert tab.run(f"{LINES}.length") == 1


def test_the_mark_of_the_critical_path_can_be_taken_off(pages: Pages) -> None:
    tab = pages.open(shop())
    thick = tab.run(f"{LINES}[0].strokeWidth")
    tab.click("#mark")
    assert tab.run(CRITICAL) == []
    assert tab.run(f"parseFloat({LINES}[0].strokeWidth)") < float(thick.removesuffix("px"))
    tab.click("#mark")
    assert tab.run(CRITICAL)


def test_only_the_critical_path_is_shown_with_its_services_unfolded(pages: Pages) -> None:
    plan = large(40)
    path = {f"node {number}" for number in compute_critical_path(plan).numbers}
    tab = pages.open(plan, Look(1440, 900))
    tab.click("#follow")
    assert set(tab.run(LIT)) == path
    assert path < set(tab.run(SHOWN))
    inside = (
        "[...document.querySelectorAll('#lit [data-lit]')].every((one) => {"
        " const box = one.getBoundingClientRect();"
        " return box.left >= 0 && box.right <= innerWidth; })"
    )
    assert tab.run(inside)


def test_the_keyboard_walks_folds_and_opens(pages: Pages) -> None:
    plan = shop()
    tab = pages.open(plan, wide(plan))
    tab.run("document.getElementById('stage').focus()")
    tab.press("Tab")
    row = tab.run(FOCUS).removeprefix("title ")
    tab.press("Enter")
    assert tab.run(FOCUS) == f"lane {row}"
    tab.press("Enter")
    assert tab.run(FOCUS) == f"title {row}"
    tab.run(f"document.querySelector('{at(box(plan, 'build:auth/login'))}').focus()")
    tab.press("ArrowRight")
    assert tab.run(FOCUS) == box(plan, "package:auth/login")
    assert not tab.run("document.getElementById('ring').hasAttribute('hidden')")
    assert set(tab.run(LIT)) == around(plan, int(tab.run(FOCUS).split()[1]))
    tab.press("Enter")
    assert "package:auth/login" in tab.run(TEXT.format("details"))
    tab.press("Escape")
    assert tab.run("document.getElementById('details').hidden")


def test_the_keyboard_keeps_its_place_when_the_picture_moves_away(pages: Pages) -> None:
    plan = large(80)
    tab = pages.open(plan)
    tab.click("#unfold")
    tab.run("document.querySelector('#boxes .node').focus()")
    key = tab.run(FOCUS)
    tab.run(
        "for (let step = 0; step < 40; step += 1)"
        " document.getElementById('stage').dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))"
    )
    assert len(set(tab.run(SHOWN)) - {key}) > 10
    assert tab.run(FOCUS) == key


def test_a_filter_hides_services_that_have_nothing_left(pages: Pages) -> None:
    tab = pages.open(shop())
    tab.click("#fold")
    tab.click("#chips button:nth-child(3)")
    assert sorted(tab.run(SHOWN)) == ["lane 1", "lane 2"]
    assert tab.run("document.querySelector('#chips button:nth-child(3)').ariaPressed") == "false"


@pytest.mark.parametrize("plan", [shop(), large(200, 5)], ids=["shop", "large"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_has_no_errors_no_requests_and_no_scrolling(
    pages: Pages, plan: Plan, *, dark: bool
) -> None:
    tab = pages.open(plan, Look(1280, 800, dark))
    for button in ("unfold", "fit", "fold", "follow"):
        tab.click(f"#{button}")
    tab.press("/")
    tab.type("svc")
    tab.run("fetch('https://example.invalid/').catch(() => 0)")
    refused = ["Content Security Policy" in one for one in tab.complaints]
    assert refused
    assert all(refused)
    assert tab.requests == [tab.url]
    assert tab.run("document.documentElement.scrollWidth") <= 1280
    assert tab.run("document.documentElement.scrollHeight") <= 800


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_can_be_read_on_their_ground(pages: Pages, *, dark: bool) -> None:
    tab = pages.open(shop(), Look(1280, 800, dark))
    found = tab.run(
        """(() => {
          const light = (colour) => {
            const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
              const share = part / 255;
              return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
          };
          return ["run", "wait", "skip"].flatMap((action) =>
            [...document.querySelectorAll(`#boxes .${action} text`)].slice(0, 2).map((text) => {
              const ground = getComputedStyle(text.parentNode.querySelector(".box")).fill;
              const both = [light(getComputedStyle(text).fill), light(ground)].sort();
              return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
            }));
        })()"""
    )
    assert len(found) == 6
    assert min(found) >= 4.5


def test_only_nearby_tasks_are_rendered_and_more_appear_on_scroll(pages: Pages) -> None:
    plan = large(200, 5)
    tab = pages.open(plan, Look(1440, 900))
    tab.click("#unfold")
    before = set(tab.run(SHOWN))
    assert 20 < len(before) < 400 < len(plan.graph)
    tab.run("document.getElementById('stage').focus()")
    for _ in range(30):
        tab.press("ArrowDown")
    after = set(tab.run(SHOWN))
    assert len(after - before) > 20


def test_hovering_on_a_large_page_updates_few_elements(pages: Pages) -> None:
    tab = pages.open(large(200, 5), Look(1440, 900))
    tab.click("#unfold")
    touched, lit, drawn = tab.run(TOUCHED)
    assert 0 < lit < drawn < len(large(200, 5).graph)
    assert touched < 4 * lit


def test_a_plan_with_nothing_to_do_and_one_without_tasks_say_so(pages: Pages) -> None:
    done = shop()
    nothing = plan_of(done.graph.tasks, dict.fromkeys(done.graph.ids, Action.SKIP))
    tab = pages.open(nothing)
    assert tab.run(TEXT.format("path")).startswith("Nothing to do. Critical path: 8 tasks")
    empty = pages.open(plan_of([]))
    assert empty.run(TEXT.format("none")) == "The plan has no tasks."
    assert empty.run("getComputedStyle(document.getElementById('route')).display") == "none"
    assert (*tab.complaints, *empty.complaints) == ()


def test_names_are_text_and_never_markup(pages: Pages) -> None:
    hostile = "<img src=x onerror=document.title='taken'>"
    plan = plan_of([build(hostile, service=hostile)], reason=hostile)
    tab = pages.open(plan)
    tab.point_at(".node")
    tab.click(".node")
    assert tab.run("document.querySelectorAll('img').length") == 0
    assert tab.run("document.title") != "taken"
    assert tab.complaints == []
