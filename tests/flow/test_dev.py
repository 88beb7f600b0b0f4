"""The loop of a working day: an edit, what it comes to, and the answer."""

from pathlib import Path

from tests.support.project import project
from tests.support.served import running

CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: one, entry: one.py, triggers: [{type: cron, schedule: rate(1 day)}]}
  - {name: two, entry: two.py, triggers: [{type: cron, schedule: rate(1 day)}]}
"""


def handler(answer: str) -> str:
    return f"def handler(event, context):\n    return {answer!r}\n"


def test_edit_is_answered_with_the_new_response(tmp_path: Path) -> None:
    shop = project(tmp_path, CONFIG, {"one.py": handler("first"), "two.py": handler("other")})
    with running(shop, "dev", "--watch") as loop:
        loop.until_said("to stop")
        loop.until_answered('"first"')
        shop.write({"one.py": handler("second")})
        loop.until_said("one.py -> one")
        loop.until_answered('"second"')
        assert loop.answers.count('"other"') == 1
        loop.type("")
        loop.until_answered('"other"', times=2)
        shop.write({"one.py": "def handler(\n"})
        loop.until_said("one.py:1")
        loop.type("exit")
        assert loop.child.wait(60) == 0


def test_without_an_edit_to_wait_for_it_ends_with_its_input(tmp_path: Path) -> None:
    shop = project(tmp_path, CONFIG, {"one.py": handler("first"), "two.py": handler("other")})
    done = shop.fabric("dev", "--function", "one")
    assert (done.code, '"first"' in done.out) == (0, True)


def test_functions_that_come_and_go_are_called_and_left(tmp_path: Path) -> None:
    shop = project(tmp_path, CONFIG, {"one.py": handler("first"), "two.py": handler("other")})
    with running(shop, "dev", "--watch") as loop:
        loop.until_said("to stop")
        more = "  - {name: three, entry: three.py, triggers: [{type: http, path: /three}]}\n"
        shop.write({"three.py": handler("third"), "fabric.yml": CONFIG + more})
        loop.until_answered('"third"')
        shop.write({"fabric.yml": (CONFIG + more).replace("{name: two", "{name: duo")})
        loop.until_answered('"other"', times=2)
        loop.type("")
        loop.until_answered('"other"', times=3)
        assert "cron -> duo" in loop.answers
        loop.type("exit")
        assert loop.child.wait(60) == 0
