"""`plan` and `explain`: what would run and why, and nothing is touched."""

import json
from pathlib import Path

from tests.support.in_process import project, typescript
from tests.support.project import Project, handler, service


def test_a_plan_leaves_a_fresh_folder_as_it_was(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    before, home = made.tree(), sorted(made.home.rglob("*"))
    for words in (("plan",), ("plan", "--for", "build"), ("plan", "--graph", "tree")):
        assert made.fabric(*words).code == 0
        assert made.json(*words).code == 0
    assert made.fabric("explain", "build:shop/hello").code == 0
    assert made.tree() == before
    assert sorted(made.home.rglob("*")) == home


def test_the_plan_document_has_its_shape(tmp_path: Path) -> None:
    result = typescript(tmp_path).json("plan").result
    assert set(result) == {"stage", "mode", "services", "tasks", "levels", "summary", "warnings"}
    assert (result["stage"], result["mode"]) == ("dev", "simulated")
    [row] = result["services"]
    assert set(row) == {"service", "provider", "mode", "functions", "warnings"}
    assert (row["service"], row["provider"]) == ("shop", "cloud1-lambda")
    functions = {one["name"]: one for one in row["functions"]}
    assert functions["hello"]["triggers"] == [{"type": "http", "method": "GET", "path": "/hello"}]
    assert functions["bye"]["triggers"] == [{"type": "cron", "schedule": "rate(5 minutes)"}]
    assert {one["change"] for one in functions.values()} == {"create"}
    assert all(one["layers"] == [] for one in functions.values())
    assert functions["hello"]["fields"]["triggers"] == [None, functions["hello"]["triggers"]]


def test_every_task_of_a_plan_has_its_shape(tmp_path: Path) -> None:
    result = typescript(tmp_path).json("plan").result
    fields = "id kind service function provider level dependsOn action reason inputs key".split()
    tasks = {one["id"]: one for one in result["tasks"]}
    assert all(set(one) == set(fields) for one in tasks.values())
    assert set(tasks) == {
        *(f"{kind}:shop/{name}" for kind in ("build", "package") for name in ("hello", "bye")),
        *(f"deploy:shop/{name}@cloud1-lambda" for name in ("hello", "bye")),
        "release:shop@cloud1-lambda",
    }
    assert tasks["package:shop/hello"]["dependsOn"] == ["build:shop/hello"]
    assert tasks["build:shop/hello"]["action"] == "run"
    assert tasks["build:shop/hello"]["reason"] == "first build"
    assert tasks["package:shop/hello"]["action"] == "wait"
    assert tasks["package:shop/hello"]["key"] is None
    assert [sorted(level) for level in result["levels"]] == [
        sorted(one["id"] for one in tasks.values() if one["level"] == level) for level in range(4)
    ]


def test_summary_counts_match_the_rows(tmp_path: Path) -> None:
    made = typescript(tmp_path)
    assert made.fabric("build", "--function", "hello").code == 0
    result = made.json("plan").result
    summary, tasks = result["summary"], result["tasks"]
    for action in ("run", "skip", "wait"):
        assert summary[action] == sum(one["action"] == action for one in tasks)
    assert summary["tasks"] == len(tasks) == summary["run"] + summary["skip"] + summary["wait"]
    assert (summary["create"], summary["update"], summary["delete"]) == (2, 0, 0)


def test_the_last_line_of_a_plan_sums_it_up(tmp_path: Path) -> None:
    last = typescript(tmp_path).fabric("plan").out.splitlines()[-1]
    assert last == (
        "Plan: 2 to create, 0 to update, 0 to delete; 7 tasks: 2 run, 5 pending, 0 up to date."
    )


def test_after_a_package_there_is_nothing_to_do(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("plan", "--for", "package", "--detailed-exitcode").code == 2
    assert made.fabric("package").code == 0
    done = made.fabric("plan", "--for", "package", "--detailed-exitcode")
    assert (done.code, done.out) == (0, "No changes.\n")
    summary = made.json("plan", "--for", "package").result["summary"]
    assert (summary["run"], summary["wait"], summary["skip"]) == (0, 0, 4)


def test_detailed_exit_code_distinguishes_no_change_changes_and_errors(tmp_path: Path) -> None:
    made = project(tmp_path)
    words = ("plan", "--for", "build", "--detailed-exitcode")
    assert made.fabric(*words).code == 2
    assert made.fabric("build").code == 0
    assert made.fabric(*words).code == 0
    made.write({"src/two.py": handler("edited")})
    assert made.json(*words).code == 2
    made.write({"fabric.yml": "nonsense"})
    assert made.fabric(*words).code == 65


def test_plan_after_an_edit_marks_only_its_task_and_prints_the_reason(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"src/shared.py": "WORD = 'two'\n"})
    tasks = {one["id"]: one for one in made.json("plan", "--for", "build").result["tasks"]}
    assert tasks["build:shop/one"]["action"] == "run"
    assert "src/shared.py" in tasks["build:shop/one"]["reason"]
    assert tasks["build:shop/two"]["action"] == "skip"


def test_a_plan_for_one_function_has_only_its_tasks(tmp_path: Path) -> None:
    tasks = project(tmp_path).json("plan", "--function", "two", "--for", "package").result["tasks"]
    assert [one["id"] for one in tasks] == ["build:shop/two", "package:shop/two"]


def test_the_graph_as_json_has_each_node_and_edge_once(tmp_path: Path) -> None:
    made = project(tmp_path)
    tasks = made.json("plan").result["tasks"]
    picture = json.loads(made.fabric("plan", "--graph", "json").out)
    assert sorted(one["id"] for one in picture["nodes"]) == sorted(one["id"] for one in tasks)
    edges = [(one["from"], one["to"]) for one in picture["edges"]]
    assert sorted(edges) == sorted((need, one["id"]) for one in tasks for need in one["dependsOn"])


def test_the_graph_as_a_tree_has_each_task_once_with_its_level_and_action(tmp_path: Path) -> None:
    made = project(tmp_path)
    tasks = made.json("plan").result["tasks"]
    lines = made.fabric("plan", "--graph", "tree").out.splitlines()
    rows = [line.split()[1:4] for line in lines if line.startswith(("├─", "└─"))]
    shown = {"run": "run", "wait": "pending", "skip": "skip"}
    assert sorted(rows) == sorted(
        [str(one["level"]), shown[one["action"]], one["id"]] for one in tasks
    )


def test_graph_shows_previous_task_durations(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert "last time" not in made.fabric("plan", "--for", "build", "--graph", "svg").out
    assert made.fabric("build").code == 0
    for edit in ({}, {"main.py": handler("another")}):
        made.write(edit)
        picture = made.fabric("plan", "--for", "build", "--graph", "svg").out
        assert " ms last time" in picture


def test_graph_and_plan_are_saved_to_the_out_file(tmp_path: Path) -> None:
    made = project(tmp_path)
    done = made.fabric("plan", "--graph", "json", "--out", "all.json")
    assert (done.code, done.out) == (0, "")
    assert json.loads((made.root / "all.json").read_text())["nodes"]
    assert made.fabric("plan", "--out", "plan.json").code == 0
    saved = json.loads((made.root / "plan.json").read_text())
    assert saved["plan"] == made.json("plan").result


# Which config, which stage.


def test_another_config_is_chosen_as_a_file_or_as_a_folder(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"x/other.yml": service("other"), "y/fabric.yml": service("third")})
    made.write({"x/main.py": handler("other"), "y/main.py": handler("third")})
    assert _service(made) == "shop"
    assert _service(made, "-c", "x/other.yml") == "other"
    assert _service(made, "--config", "y") == "third"
    assert _service(made, "-c", str(made.root / "y" / "fabric.yml")) == "third"
    assert _service(made, cwd="y") == "third"


def _service(made: Project, *words: str, cwd: str = "") -> str:
    return str(made.json("plan", *words, cwd=cwd).result["services"][0]["service"])


def test_a_missing_config_names_the_file_and_the_flag(tmp_path: Path) -> None:
    made = project(tmp_path)
    (made.root / "fabric.yml").unlink()
    done = made.json("plan")
    assert (done.code, done.error["code"]) == (65, "config/not-found")
    assert "fabric.yml" in done.error["message"]
    assert "-c" in done.error["hint"]


def test_the_stage_is_the_flag_then_the_variable_then_dev(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.json("plan").result["stage"] == "dev"
    assert made.json("plan", env={"FABRIC_STAGE": "prod"}).result["stage"] == "prod"
    asked = made.json("plan", "--stage", "qa", env={"FABRIC_STAGE": "prod"})
    assert asked.result["stage"] == "qa"
    assert made.json("plan", env={"FABRIC_STAGE": "../x"}).code == 64


# explain.


def test_explain_names_the_inputs_that_changed_with_both_digests(tmp_path: Path) -> None:
    made = project(tmp_path)
    first = made.json("explain", "build:shop/one").result
    assert (first["task"], first["action"]) == ("build:shop/one", "run")
    assert made.fabric("build").code == 0
    calm = made.json("explain", "build:shop/one").result
    assert (calm["action"], calm["changed"]) == ("skip", [])
    made.write({"src/shared.py": "WORD = 'two'\n"})
    told = made.json("explain", "build:shop/one").result
    [change] = told["changed"]
    assert (told["action"], change["kind"], change["name"]) == ("run", "file", "src/shared.py")
    assert change["old"] != change["new"]
    assert "src/shared.py" in made.fabric("explain", "build:shop/one").out
    assert made.json("explain", "build:shop/two").result["action"] == "skip"


def test_explain_names_an_option_that_changed(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    config = (made.root / "fabric.yml").read_text().replace("python3.11", "python3.12")
    made.write({"fabric.yml": config})
    changed = made.json("explain", "build:shop/two").result["changed"]
    assert [(one["kind"], one["old"], one["new"]) for one in changed if "3.11" in one["old"]] == [
        ("option", "python3.11", "python3.12")
    ]
