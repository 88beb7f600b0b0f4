"""`generate` with a slip, or on a project that it cannot add to: told, and nothing is written."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.in_process import project
from tests.support.project import service
from tests.support.shop import HEAD, read, shop

SLIPS: Mapping[str, tuple[tuple[str, ...], int, str, str]] = {
    "a name twice": (("function", "one"), 64, "usage/name-taken", "`one`"),
    "a separator": (("function", "a/b"), 64, "usage/bad-name", "letters"),
    "dots": (("worker", "..", "--queue-name", "q"), 64, "usage/bad-name", "letters"),
    "a name too long": (("function", "x" * 65), 64, "usage/bad-name", "1 to 64"),
    "a name too long there": (("function", "x" * 64), 65, "config/over-limit", "64"),
    "a reserved name": (("function", "CON"), 64, "usage/bad-name", "reserved"),
    "a key of all objects": (("resource", "__proto__"), 64, "usage/bad-name", "reserved"),
    "no name": (("function",), 64, "usage/missing-option", "NAME"),
    "no schedule": (("function", "a", "--trigger", "cron"), 64, "usage/missing-option", "--sched"),
    "no queue": (("worker", "a"), 64, "usage/missing-option", "--queue-name"),
    "no type": (("resource", "a", "--connection-env", "X"), 64, "usage/missing-option", "--type"),
    "no variable": (("resource", "a", "--type", "cache"), 64, "usage/missing-option", "--conn"),
    "a bad schedule": (("function", "a", "--schedule", "rate(0 days)"), 64, "usage/bad-value", "0"),
    "a bad route": (("function", "a", "--route", "/x"), 64, "usage/bad-value", "METHOD"),
    "a blank queue": (("worker", "a", "--queue-name", " "), 64, "usage/bad-value", "empty"),
    "a blank event": (
        ("function", "a", "--trigger", "storage", "--event", " "),
        64,
        "usage/bad-value",
        "--event",
    ),
    "a bad variable": (
        ("resource", "a", "--type", "cache", "--connection-env", "1X"),
        64,
        "usage/bad-value",
        "1X",
    ),
    "an option of another kind": (
        ("function", "a", "--trigger", "http", "--schedule", "rate(1 day)"),
        64,
        "usage/foreign-option",
        "--schedule",
    ),
    "options of two kinds": (
        ("function", "a", "--bucket", "bbb", "--topic", "t"),
        64,
        "usage/foreign-option",
        "--bucket",
    ),
    "a kind that the provider has not": (
        ("function", "a", "--trigger", "logstream"),
        64,
        "usage/trigger-unsupported",
        "logstream",
    ),
    "a kind that no provider has": (
        ("function", "a", "--trigger", "amqp"),
        64,
        "usage/trigger-unsupported",
        "amqp",
    ),
    "an unknown kind": (("function", "a", "--trigger", "htpp"), 64, "usage/bad-value", "htpp"),
    "an option that is none": (("addon", "a", "--option", "x"), 64, "usage/bad-value", "KEY=VALUE"),
    "an option twice": (
        ("addon", "a", "--option", "x=1", "--option", "x=2"),
        64,
        "usage/bad-value",
        "duplicate",
    ),
    "both ways to ask": (
        ("function", "a", "--interactive", "--no-interactive"),
        64,
        "usage/interactive-twice",
        "--interactive",
    ),
    "nobody to ask": (("addon", "a", "--interactive"), 64, "usage/no-terminal", "terminal"),
    "a route twice": (("function", "a", "--route", "GET:/1"), 65, "config/same-route", "/1"),
    "no config": (("function", "a", "-c", "none.yml"), 65, "config/not-found", "none.yml"),
    "what only the provider refuses": (
        ("function", "a", "--bucket", "Up"),
        65,
        "config/bad-bucket",
        "`Up`",
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_invalid_input_is_reported_and_nothing_is_written(slip: str, tmp_path: Path) -> None:
    words, code, problem, text = SLIPS[slip]
    made = shop(tmp_path)
    http = "    triggers: [{type: http, route: 'GET:/1'}]\n"
    made.write({"fabric.yml": read(made).replace("one.py\n", "one.py\n" + http)})
    before = made.tree()
    done = made.json("generate", *words)
    assert (done.code, done.error["code"]) == (code, problem), done.error
    assert text in done.error["message"]
    assert done.error["where"] is None or slip in ("a name twice", "no config")
    assert made.tree() == before


def test_a_name_that_is_taken_is_shown_with_its_place(tmp_path: Path) -> None:
    done = shop(tmp_path).json("generate", "function", "one")
    assert done.error["where"] == {"file": "fabric.yml", "line": 5, "column": 5}


def test_unsupported_type_names_the_supported_types(tmp_path: Path) -> None:
    made = shop(tmp_path, "host3-machines")
    for words in (("worker", "a", "--queue-name", "q"), ("function", "a", "--topic", "t")):
        done = made.json("generate", *words)
        assert (done.error["code"], done.error["hint"]) == (
            "usage/trigger-unsupported",
            "use one of http, cron",
        )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_existing_handler_is_replaced_only_with_force(dry: tuple[str, ...], tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"src/new.py": "mine\n"})
    before = made.tree()
    done = made.json("generate", "function", "new", *dry)
    assert (done.code, done.error["code"]) == (73, "disk/handler-exists")
    assert "--force" in done.error["hint"]
    assert made.tree() == before
    done = made.json("generate", "function", "new", "--force", *dry)
    assert done.result["files"][0] == {"path": "src/new.py", "change": "replace"}
    assert ("mine" in read(made, "src/new.py")) is bool(dry)


def test_a_handler_in_place_of_something_else_is_refused(tmp_path: Path) -> None:
    made = shop(tmp_path)
    (made.root / "src/folder.py").mkdir()
    (made.root / "src/link.py").symlink_to("nowhere.py")
    before = made.tree()
    for name in ("folder", "link"):
        done = made.json("generate", "function", name, "--force")
        assert (done.code, done.error["code"]) == (73, "disk/handler-exists")
    assert made.tree() == before


def test_a_handler_behind_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    made = shop(tmp_path)
    (made.root / "src").rename(tmp_path / "elsewhere")
    (made.root / "src").symlink_to(tmp_path / "elsewhere")
    done = made.json("generate", "function", "new")
    assert (done.code, done.error["code"]) == (73, "disk/led-away")
    assert os.listdir(tmp_path / "elsewhere") == ["one.py"]


def test_invalid_config_reports_its_own_problems(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": read(made).replace("entry:", "entyr:")})
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert done.code == 65
    assert {one["where"]["line"] for one in done.error["problems"]} == {6}
    made.write({"fabric.yml": "functions: [\n"})
    assert made.json("generate", "function", "new").error["code"] == "config/syntax"
    made.write({"fabric.yml": "- a\n"})
    assert made.json("generate", "function", "new").error["code"] == "config/empty"
    assert before.keys() == made.tree().keys()


def test_section_that_cannot_be_extended_is_left_unchanged(tmp_path: Path) -> None:
    text = HEAD.replace("PROVIDER", "host1").replace("RUNTIME", "python3.11")
    made = project(tmp_path, f"{text}x-f: &f\n  - {{name: one, entry: one.py}}\nfunctions: *f\n")
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert (done.code, done.error["code"]) == (65, "config/not-extended")
    assert done.error["where"]["line"] == 6
    assert made.tree() == before


def test_read_only_config_is_left_unchanged(tmp_path: Path) -> None:
    made = shop(tmp_path)
    (made.root / "fabric.yml").chmod(0o444)
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert (done.code, done.error["code"]) == (73, "disk/read-only")
    assert made.tree() == before


def test_a_name_that_hides_a_module_of_python_is_refused(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one"), {"one.py": ""})
    done = made.json("generate", "function", "json")
    assert (done.code, done.error["code"]) == (64, "usage/bad-name")
    assert shop(tmp_path / "deeper").fabric("generate", "function", "json").code == 0


def test_file_at_its_size_limit_is_reported_as_too_big(tmp_path: Path) -> None:
    config = service("shop", "one") + "x-much: [" + "1, " * 59_980 + "1]\n"
    done = project(tmp_path, config, {"one.py": ""}).json("generate", "function", "two")
    assert (done.code, done.error["code"]) == (65, "config/too-big")
