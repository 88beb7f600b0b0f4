"""Serving and the dev loop as use cases: what they are told, and what they tell."""

import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabric.app.local.artifacts import build_artifacts
from fabric.app.local.dev import DevListeners, DevOptions, run_dev_loop
from fabric.app.local.serve import ServeListeners, ServeOptions, serve
from fabric.app.local.service import LocalService
from fabric.app.request import Request, Where
from fabric.engine.bus import Listener, RunInfo
from fabric.model.names import Verb
from fabric.model.outcomes.queried import DevOutcome, PresetCall, ServedOutcome
from fabric.model.problems import FabricError, Problem
from tests.support.bundler_cache import ENVIRONMENT
from tests.support.until import until
from tests.support.use_cases import Workplace

if TYPE_CHECKING:
    from fabric.app.local.rebuilds import Round
    from fabric.local.exchange import ServedCall

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: src/one.py, triggers: [{type: http, path: /one}]}
  - {name: two, entry: src/two.py, triggers: [{type: cron, schedule: rate(1 day)}]}
"""


def handler(answer: str) -> str:
    return (
        f"from words import WORD\n\n\ndef handler(event, context):\n    return {answer!r} + WORD\n"
    )


@pytest.fixture(autouse=True)
def a_late_signal_ends_nobody() -> Iterator[None]:
    """Who is served may have failed before the developer is done with it."""
    before = signal.signal(signal.SIGTERM, lambda _number, _frame: None)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def shop(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path, {**ENVIRONMENT, "HOME": str(tmp_path / "home")})
    made.write(
        {
            "fabric.yml": CONFIG,
            "src/one.py": handler("one"),
            "src/two.py": "def handler(event, context):\n    return 'two'\n",
            "src/words.py": "WORD = '!'\n",
        }
    )
    return made


def request(command: str, *functions: str) -> Request:
    return Request(Verb.PACKAGE, command, Where(), functions=frozenset(functions))


def nobody(_info: RunInfo) -> Sequence[Listener]:
    return ()


class Developer:
    """Works in a thread of its own from when the server is ready, and ends it in the end."""

    def __init__(self, work: Callable[["Developer"], None]) -> None:
        self._work = work
        self.url = ""
        self.calls: list[ServedCall] = []
        self.rounds: list[Round] = []
        self.failure: BaseException | None = None
        self.thread: threading.Thread | None = None

    @property
    def hearers(self) -> ServeListeners:
        return ServeListeners(self._begin, self.calls.append, self.rounds.append)

    def _begin(self, url: str, service: LocalService) -> None:
        assert service.name == "shop"
        self.url = url
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._work(self)
        except BaseException as error:  # noqa: BLE001 - told by the test itself
            self.failure = error
        os.kill(os.getpid(), signal.SIGTERM)

    def ended(self) -> None:
        assert self.thread
        self.thread.join()
        if self.failure:
            raise self.failure

    def get(self, path: str) -> object:
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=60) as answer:  # noqa: S310
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code


def test_functions_are_served_until_interrupted(shop: Workplace) -> None:
    def work(developer: Developer) -> None:
        assert developer.get("/one") == "one!"

    developer = Developer(work)
    options = ServeOptions(port=0)
    report = serve(request("invoke local"), shop.settings, nobody, options, developer.hearers)
    developer.ended()
    assert report.outcome == ServedOutcome(developer.url, 1, 0)
    assert [one.function for one in developer.calls] == ["one"]


def test_edit_is_reported_with_changed_files_and_functions(shop: Workplace) -> None:
    def work(developer: Developer) -> None:
        assert developer.get("/one") == "one!"
        shop.write({"src/words.py": "WORD = '?'\n"})
        until(lambda: developer.get("/one") == "one?")
        shop.write({"src/one.py": "def handler(\n"})
        until(lambda: len(developer.rounds) > 1)
        shop.write({"fabric.yml": CONFIG + "nonsense: 1\n"})
        until(lambda: any(one.problems for one in developer.rounds))
        # Two of them at once may be one round.
        shop.write({"fabric.yml": CONFIG.replace("path: /one", "path: /uno")})
        shop.write({"src/one.py": handler("uno")})
        until(lambda: developer.get("/uno") == "uno?")

    developer = Developer(work)
    options = ServeOptions(port=0, watch=True)
    serve(request("invoke local"), shop.settings, nobody, options, developer.hearers)
    developer.ended()
    assert developer.rounds[0].moved == ("src/words.py",)
    assert developer.rounds[0].changed == ("one",)


def test_broken_build_is_not_served_without_watch_mode(shop: Workplace) -> None:
    shop.write({"src/one.py": "def handler(\n"})
    developer = Developer(lambda _: None)
    with pytest.raises(FabricError) as caught:
        serve(request("x"), shop.settings, nobody, ServeOptions(port=0), developer.hearers)
    assert caught.value.first.code == "build/failed"


def test_a_failed_step_is_the_reason_why_a_function_was_not_built(shop: Workplace) -> None:
    shop.write({"fabric.yml": CONFIG})
    found = build_artifacts(request("x"), shop.settings, nobody)
    assert not found.broken
    shop.write(
        {"fabric.yml": f"{CONFIG}build: {{before: [{{name: words, command: [sh, -c, exit 4]}}]}}\n"}
    )
    broken = build_artifacts(request("x"), shop.settings, nobody).broken
    assert {one.code for one in broken.values()} == {"step/failed"}


def test_dev_loop_invokes_only_functions_affected_by_an_edit(shop: Workplace) -> None:
    calls: list[PresetCall] = []
    rounds: list[Round] = []

    def work() -> None:
        try:
            shop.write({"src/words.py": "WORD = '?'\n"})
            until(lambda: len(calls) > 2)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=work)
    warnings: list[Problem] = []
    hearers = DevListeners(
        calls.append, warnings.append, rounds.append, lambda _options: thread.start()
    )
    report = run_dev_loop(request("dev"), shop.settings, nobody, DevOptions(watch=True), hearers)
    thread.join()
    assert {one.response for one in calls[:2]} == {"one!", "two"}
    assert [one.response for one in calls[2:]] == ["one?"]
    assert isinstance(report.outcome, DevOutcome)
