"""`generate`: one entry more in a config, the handler that goes with it, and nothing else."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.in_process import project, typescript
from tests.support.project import Project, service
from tests.support.shop import HEAD, RUNTIMES, read, shop

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


def test_given_fields_are_written_to_the_entry(tmp_path: Path) -> None:
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


def test_resource_is_written_with_its_type_and_connection_variable(tmp_path: Path) -> None:
    made = shop(tmp_path)
    before = read(made)
    words = ("generate", "resource", "db", "--type", "database", "--connection-env", "DB_URL")
    done = made.fabric(*words)
    assert "variable `DB_URL` is not set" in done.err
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


def test_dry_run_prints_the_change_and_writes_nothing(tmp_path: Path) -> None:
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


def test_dry_run_marks_a_missing_newline_at_end_of_file(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one").rstrip(), {"one.py": ""})
    out = made.fabric("generate", "function", "two", "--dry-run").out
    assert out.count("\\ No newline at end of file") == 2


def test_a_diff_shows_no_secret(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop", "one"), {"one.py": ""})
    made.write({"fabric.yml": service("shop", "one") + "secrets:\n  KEY: hunter22\n"})
    done = made.json("generate", "function", "two", "--dry-run")
    assert "KEY" in done.result["diff"]
    assert "hunter22" not in done.out


def test_a_config_without_functions_gets_its_first(tmp_path: Path) -> None:
    head = HEAD.replace("PROVIDER", "host1").replace("RUNTIME", "python3.11")
    for number, tail in enumerate(("", "functions:\n", "functions: []  # none\n")):
        made = project(tmp_path / f"{number}", head + tail, {})
        assert made.fabric("generate", "function", "hello").code == 0
        assert made.fabric("plan").code == 0
        assert (made.root / "src/hello.py").is_file()


def test_unset_variables_are_ignored(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"fabric.yml": read(made) + "env: {A: '${env:UNSET}', B: '${secret:NONE}'}\n"})
    done = made.fabric("generate", "function", "new")
    assert (done.code, done.err) == (0, "")


def test_unset_provider_variable_allows_every_trigger_type(tmp_path: Path) -> None:
    made = shop(tmp_path, "'${env:WHERE}'")
    assert made.fabric("generate", "function", "new", "--topic", "t").code == 0
    assert made.json("validate", env={"WHERE": "cloud2-functions"}).code == 0


def test_linked_config_is_written_at_its_target_and_keeps_its_mode(tmp_path: Path) -> None:
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


def test_new_function_is_part_of_a_stage_with_overrides(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    text = read(made) + "stages: {prod: {functions: [{name: hello, memory: 512}]}}\n"
    made.write({"fabric.yml": text})
    assert made.fabric("generate", "function", "new", env={"FABRIC_STAGE": "prod"}).code == 0
    assert json.dumps(made.json("plan", "--stage", "prod").result["services"]).count('"new"') == 1


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
    assert read(made, "fresh/fabric.yml").startswith(before.partition("\n\n# State")[0])
    assert made.fabric("plan", cwd="fresh").code == 0


def test_option_without_a_type_implies_the_trigger_type(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.fabric("generate", "function", "up", "--bucket", "pics")
    assert "type: storage" in read(made)
