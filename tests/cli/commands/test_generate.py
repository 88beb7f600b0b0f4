"""`generate`: one entry more in a config, the handler that goes with it, and nothing else."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.in_process import project, typescript
from tests.support.project import Project, service

KINDS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "http": ("cloud1-lambda", (), "GET /new"),
    "http with a route": ("edge1-workers", ("--route", "ANY:/a/{id}"), "ANY /a/{id}"),
    "cron": ("host1", ("--schedule", "rate(1 hour)"), "cron rate(1 hour)"),
    "cron in a zone": (
        "cloud1-lambda",
        ("--schedule", "cron(0 3 * * ? *)", "--timezone", "Europe/Berlin"),
        "cron(0 3 * * ? *)",
    ),
    "queue": ("cloud2-functions", (), "queue my-queue"),
    "queue with a name": ("cloud1-lambda", ("--queue-name", "jobs"), "queue jobs"),
    "storage": ("cloud3-functions", (), "storage my-bucket"),
    "storage with a bucket": (
        "cloud1-lambda",
        ("--bucket", "pics", "--event", "objstore1:ObjectRemoved:*"),
        "storage pics",
    ),
    "eventbus": ("cloud1-lambda", (), "eventbus"),
    "eventbus with a pattern": (
        "cloud1-lambda",
        ("--source", "a.b", "--source", "c", "--detail-type", "Placed"),
        "eventbus",
    ),
    "pubsub": ("cloud2-functions", ("--topic", "clicks"), "pubsub clicks"),
}
HEAD = "# the shop\nservice: shop\nprovider: {name: PROVIDER, runtime: RUNTIME}  # here\n"
ONE = "functions:\n  - name: one  # first\n    entry: src/one.ENDING\n\n# the end\n"
RUNTIMES = {"ts": "nodejs20.x", "js": "nodejs20.x", "py": "python3.11"}


def shop(folder: Path, provider: str = "cloud1-lambda", lang: str = "py") -> Project:
    config = HEAD.replace("PROVIDER", provider).replace("RUNTIME", RUNTIMES[lang])
    return project(folder, config + ONE.replace("ENDING", lang), {f"src/one.{lang}": "\n"})


def read(made: Project, name: str = "fabric.yml") -> str:
    return (made.root / name).read_bytes().decode()


def lines_added(made: Project, before: str) -> list[str]:
    """What stands in the config beside what stood there, whose lines are all there in order."""
    rest = iter(before.splitlines())
    line = next(rest, None)
    added = []
    for found in read(made).splitlines():
        if found == line:
            line = next(rest, None)
        else:
            added.append(found)
    assert line is None
    return added


@pytest.mark.parametrize("lang", RUNTIMES)
@pytest.mark.parametrize("case", KINDS)
def test_a_function_of_every_kind_is_planned(case: str, lang: str, tmp_path: Path) -> None:
    provider, options, shown = KINDS[case]
    made = shop(tmp_path, provider, lang)
    before = read(made)
    done = made.json("generate", "function", "new", "--trigger", case.split()[0], *options)
    changes = [(one["path"], one["change"]) for one in done.result["files"]]
    assert changes == [(f"src/new.{lang}", "create"), ("fabric.yml", "update")]
    assert lines_added(made, before)[0] == "  - name: new"
    plan = made.fabric("plan")
    assert plan.code == 0, plan.err
    row = next(line for line in plan.out.splitlines() if line.startswith("  + new"))
    assert shown in row
    assert not (made.root / ".fabric/generate").exists()


def test_fields_that_were_said_stand_in_the_entry(tmp_path: Path) -> None:
    made = shop(tmp_path)
    words = KINDS["eventbus with a pattern"][1]
    made.fabric("generate", "function", "ev", *words)
    made.fabric("generate", "function", "up", *KINDS["storage with a bucket"][1])
    made.fabric("generate", "function", "night", *KINDS["cron in a zone"][1])
    functions = made.json("config", "show").result["config"]["functions"]
    triggers = [one["triggers"][0] for one in functions[1:]]
    assert triggers == [
        {"type": "eventbus", "pattern": {"source": ["a.b", "c"], "detail-type": ["Placed"]}},
        {"type": "storage", "bucket": "pics", "events": ["objstore1:ObjectRemoved:*"]},
        {"type": "cron", "schedule": "cron(0 3 * * ? *)", "timezone": "Europe/Berlin"},
    ]


def test_a_worker_works_on_its_queue(tmp_path: Path) -> None:
    made = shop(tmp_path)
    done = made.fabric("generate", "worker", "mailer", "--queue-name", "mails")
    assert done.out.startswith("created  src/mailer.py\nchanged  fabric.yml\nNext: fabric plan")
    function = made.json("config", "show").result["config"]["functions"][1]
    assert (function["name"], function["triggers"][0]["queue"]) == ("mailer", "mails")


def test_a_resource_says_its_type_and_the_variable_of_its_address(tmp_path: Path) -> None:
    made = shop(tmp_path)
    before = read(made)
    words = ("generate", "resource", "db", "--type", "database", "--connection-env", "DB_URL")
    done = made.fabric(*words)
    assert "the variable `DB_URL` is not set" in done.err
    assert (done.code, lines_added(made, before)) == (
        0,
        ["resources:", "  - name: db", "    type: database", "    connectionEnv: DB_URL"],
    )
    assert made.fabric("validate", env={"DB_URL": "x"}).code == 0


def test_an_addon_has_a_version_and_options(tmp_path: Path) -> None:
    made = shop(tmp_path)
    options = ("--option", "sender=a@b.c", "--option", "retries=3", "--option", "quiet=true")
    done = made.json("generate", "addon", "mail", "--version", "1.10", *options)
    assert (done.code, done.document["command"]) == (0, "generate addon")
    assert made.json("config", "show").result["config"]["addons"] == [
        {
            "name": "mail",
            "version": "1.10",
            "options": {"sender": "a@b.c", "retries": 3, "quiet": True},
        }
    ]
    assert made.fabric("generate", "addon", "plain").code == 0
    assert made.fabric("validate").code == 0


def test_a_dry_run_shows_the_change_and_makes_none(tmp_path: Path) -> None:
    made = shop(tmp_path)
    (made.root / "fabric.yml").write_bytes(read(made).rstrip().encode())
    before = made.tree()
    done = made.fabric("generate", "function", "new", "--dry-run")
    assert made.tree() == before
    assert "--- /dev/null\n+++ b/src/new.py\n@@ -0,0 +1," in done.out
    assert "--- a/fabric.yml\n+++ b/fabric.yml\n@@ -4,5 +4,10 @@\n" in done.out
    assert "\n   - name: one  # first\n" in done.out
    assert "\n+  - name: new\n" in done.out
    assert done.out.endswith("Dry run: nothing was written.\n")
    coloured = made.fabric("generate", "function", "new", "--dry-run", "--color", "always").out
    assert "\x1b[32m+  - name: new\x1b[0m" in coloured
    assert made.json("generate", "function", "new", "--dry-run").result["dryRun"] is True
    assert made.tree() == before


def test_a_dry_run_of_a_service_without_a_line_break_at_its_end_says_so(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one").rstrip(), {"one.py": ""})
    out = made.fabric("generate", "function", "two", "--dry-run").out
    assert out.count("\\ No newline at end of file") == 2


def test_a_diff_shows_no_secret(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one"), {"one.py": ""})
    made.write({"fabric.yml": service("shop", "one") + "secrets:\n  KEY: hunter22\n"})
    done = made.json("generate", "function", "two", "--dry-run")
    assert "KEY" in done.result["diff"]
    assert "hunter22" not in done.out


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
        ("function", "a", "--trigger", "pubsub"),
        64,
        "usage/trigger-unsupported",
        "pubsub",
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
        "twice",
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
def test_a_slip_is_told_and_nothing_is_written(slip: str, tmp_path: Path) -> None:
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


def test_a_kind_that_is_not_supported_names_those_that_are(tmp_path: Path) -> None:
    made = shop(tmp_path, "host3-machines")
    for words in (("worker", "a", "--queue-name", "q"), ("function", "a", "--topic", "t")):
        done = made.json("generate", *words)
        assert (done.error["code"], done.error["hint"]) == (
            "usage/trigger-unsupported",
            "it supports http",
        )


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_handler_that_is_there_is_replaced_by_force_alone(
    dry: tuple[str, ...], tmp_path: Path
) -> None:
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


def test_a_config_that_does_not_load_tells_its_own_problems(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": read(made).replace("entry:", "entyr:")})
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert done.code == 65
    assert {one["where"]["line"] for one in done.error["problems"]} == {5, 6}
    made.write({"fabric.yml": "functions: [\n"})
    assert made.json("generate", "function", "new").error["code"] == "config/syntax"
    made.write({"fabric.yml": "- a\n"})
    assert made.json("generate", "function", "new").error["code"] == "config/empty"
    assert before.keys() == made.tree().keys()


def test_a_section_that_cannot_be_added_to_is_left_alone(tmp_path: Path) -> None:
    text = HEAD.replace("PROVIDER", "host1").replace("RUNTIME", "python3.11")
    made = project(tmp_path, f"{text}x-f: &f\n  - {{name: one, entry: one.py}}\nfunctions: *f\n")
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert (done.code, done.error["code"]) == (65, "config/not-extended")
    assert done.error["where"]["line"] == 6
    assert made.tree() == before


def test_a_config_without_functions_gets_its_first(tmp_path: Path) -> None:
    head = HEAD.replace("PROVIDER", "host1").replace("RUNTIME", "python3.11")
    for number, tail in enumerate(("", "functions:\n", "functions: []  # none\n")):
        made = project(tmp_path / f"{number}", head + tail, {})
        assert made.fabric("generate", "function", "hello").code == 0
        assert made.fabric("plan").code == 0
        assert (made.root / "src/hello.py").is_file()


def test_what_nobody_has_set_here_is_no_matter(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": read(made) + "env: {A: '${env:UNSET}', B: '${secret:NONE}'}\n"})
    done = made.fabric("generate", "function", "new")
    assert (done.code, done.err) == (0, "")


def test_a_provider_that_nobody_has_set_here_refuses_no_kind(tmp_path: Path) -> None:
    made = shop(tmp_path, "'${env:WHERE}'")
    assert made.fabric("generate", "function", "new", "--topic", "t").code == 0
    assert made.json("validate", env={"WHERE": "cloud2-functions"}).code == 0


def test_a_read_only_config_is_left_alone(tmp_path: Path) -> None:
    made = shop(tmp_path)
    (made.root / "fabric.yml").chmod(0o444)
    before = made.tree()
    done = made.json("generate", "function", "new")
    assert (done.code, done.error["code"]) == (73, "disk/read-only")
    assert made.tree() == before


def test_a_linked_config_is_written_where_it_lies_and_keeps_its_mode(tmp_path: Path) -> None:
    made = shop(tmp_path)
    config, real = made.root / "fabric.yml", tmp_path / "real.yml"
    config.rename(real)
    real.chmod(0o640)
    config.symlink_to(real)
    assert made.fabric("generate", "function", "new").code == 0
    assert config.is_symlink()
    assert (real.stat().st_mode & 0o777, "name: new" in real.read_text()) == (0o640, True)
    assert (made.root / "src/new.py").is_file()


def test_a_config_elsewhere_gets_its_handler_beside_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"svc/fabric.yml": service("svc", "one"), "svc/one.py": ""})
    done = made.fabric("generate", "function", "new", "-c", "svc")
    assert "created  svc/new.py\nchanged  svc/fabric.yml\nNext: fabric plan -c svc/" in done.out


def test_line_ends_and_the_mark_at_the_start_stay(tmp_path: Path) -> None:
    made = shop(tmp_path)
    raw = b"\xef\xbb\xbf" + read(made).replace("\n", "\r\n").encode()
    (made.root / "fabric.yml").write_bytes(raw)
    assert made.fabric("generate", "function", "new").code == 0
    found = (made.root / "fabric.yml").read_bytes()
    assert found.startswith(b"\xef\xbb\xbf# the shop\r\n")
    assert found.count(b"\n") == found.count(b"\r\n") > raw.count(b"\n")


def test_a_stage_of_its_own_name_is_asked_for(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    text = read(made) + "stages: {prod: {functions: [{name: hello, memory: 512}]}}\n"
    made.write({"fabric.yml": text})
    assert made.fabric("generate", "function", "new", env={"FABRIC_STAGE": "prod"}).code == 0
    assert json.dumps(made.json("plan", "--stage", "prod").result["services"]).count('"new"') == 1


def test_a_name_that_hides_a_module_of_python_is_refused(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one"), {"one.py": ""})
    done = made.json("generate", "function", "json")
    assert (done.code, done.error["code"]) == (64, "usage/bad-name")
    assert shop(tmp_path / "deeper").fabric("generate", "function", "json").code == 0


@pytest.mark.parametrize("lang", RUNTIMES)
def test_a_new_project_is_added_to(lang: str, tmp_path: Path) -> None:
    made = project(tmp_path)
    said = {"template": "http", "provider": "cloud1-lambda", "lang": lang, "service": "fresh"}
    said |= {"secret-manager": "none", "state-backend": "local", "dir": "fresh"}
    words = [word for name, value in said.items() for word in (f"--{name}", value)]
    assert made.fabric("init", *words, "--skip-install").code == 0
    before = read(made, "fresh/fabric.yml")
    assert made.fabric("generate", "function", "more", cwd="fresh").code == 0
    assert made.fabric("generate", "addon", "mail", cwd="fresh").code == 0
    assert f"  - name: more\n    entry: src/more.{lang}\n" in read(made, "fresh/fabric.yml")
    assert 'route: "GET:/more"' in read(made, "fresh/fabric.yml")
    assert read(made, "fresh/fabric.yml").startswith(before.partition("\n\n# Records")[0])
    assert made.fabric("plan", cwd="fresh").code == 0


def test_an_option_that_is_said_without_its_kind_tells_the_kind(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.fabric("generate", "function", "up", "--bucket", "pics")
    assert "type: storage" in read(made)


def test_a_file_at_its_limit_is_told_as_that(tmp_path: Path) -> None:
    config = service("shop", "one") + "x-much: [" + "1, " * 59_980 + "1]\n"
    done = project(tmp_path, config, {"one.py": ""}).json("generate", "function", "two")
    assert (done.code, done.error["code"]) == (65, "config/too-big")
