"""`build.before` and the hooks of builds and packages: cached commands around builds."""

import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.git import under_git
from tests.support.in_process import compose, project
from tests.support.project import Project

GENERATE = """\
mkdir -p src/generated
{ printf "V = '"; cat spec/*.txt | tr -d "\\n"; echo "'"; } > src/generated/value.py
echo ran >> "$HOME/ran"
"""
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
build:
  before:
    - name: generate
      command: sh generate.sh
      inputs: [spec/**, generate.sh, "!spec/*.md"]
      outputs: [src/generated/**]
functions:
  - {name: one, entry: src/one.handler}
  - {name: two, entry: src/two.handler}
"""
SOURCES = {
    "generate.sh": GENERATE,
    "spec/a.txt": "a\n",
    "src/one.py": "from generated.value import V\n\n\ndef handler(event, context):\n    return V\n",
    "src/two.py": "def handler(event, context):\n    return 'two'\n",
}
VALUE = "src/generated/value.py"


def shop(folder: Path, config: str = CONFIG, **files: str) -> Project:
    return project(folder / "shop", config, {**SOURCES, **files})


def summary(made: Project, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = made.json(*words).result["summary"]
    return found


def runs_of(made: Project) -> int:
    path = made.home / "ran"
    return len(path.read_text().splitlines()) if path.exists() else 0


def actions(made: Project, *words: str) -> dict[str, str]:
    tasks = made.json("plan", *words).result["tasks"]
    return {one["id"]: one["action"] for one in tasks}


def value(made: Project) -> str:
    return (made.root / VALUE).read_text().strip()


def test_steps_run_before_builds_and_then_only_after_changes(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert summary(made, "package")["ran"] == 5
    assert value(made) == "V = 'a'"
    assert summary(made, "package")["ran"] == 0
    made.write({"src/two.py": "def handler(event, context):\n    return 2\n"})
    assert summary(made, "package")["ran"] == 2
    assert runs_of(made) == 1


@pytest.mark.parametrize(
    ("path", "text", "runs"),
    [("spec/a.txt", "A\n", 2), ("spec/b.txt", "b\n", 2), ("spec/b.md", "b\n", 1)],
)
def test_edited_and_new_inputs_run_a_step_again(
    path: str, text: str, runs: int, tmp_path: Path
) -> None:
    made = shop(tmp_path)
    assert made.fabric("build").code == 0
    made.write({path: text})
    assert made.fabric("build").code == 0
    assert runs_of(made) == runs


def test_a_step_with_equal_outputs_stops_the_rebuild(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"generate.sh": f"{GENERATE}# comment\n"})
    assert summary(made, "build")["ran"] == 1


def test_builds_are_planned_after_an_outdated_step(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("build").code == 0
    made.write({"spec/a.txt": "other\n"})
    found = actions(made, "--for", "build")
    assert found == {
        "before:shop/generate": "run",
        "build:shop/one": "wait",
        "build:shop/two": "wait",
    }
    told = made.json("explain", "before:shop/generate").result
    assert told["reason"] == "spec/a.txt changed (1 of 2 inputs)"


def test_missing_outputs_are_restored_without_the_command(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("package").code == 0
    (made.root / VALUE).unlink()
    assert actions(made, "--for", "package")["build:shop/one"] == "wait"
    assert summary(made, "package")["ran"] == 0
    assert (value(made), runs_of(made)) == ("V = 'a'", 1)


def test_outputs_follow_inputs_back_and_forth(tmp_path: Path) -> None:
    made = shop(tmp_path)
    for text in ("a", "b", "a", "b"):
        made.write({"spec/a.txt": f"{text}\n"})
        assert made.fabric("package").code == 0
        assert value(made) == f"V = '{text}'"
    assert runs_of(made) == 2


def test_files_of_another_result_are_deleted_at_a_restore(tmp_path: Path) -> None:
    script = "rm -rf out; mkdir out; for f in spec/*; do cp $f out/; done\n"
    config = CONFIG.replace("src/generated/**", "out")
    made = shop(tmp_path, config, **{"generate.sh": script, "src/one.py": SOURCES["src/two.py"]})
    assert made.fabric("build").code == 0
    made.write({"spec/b.txt": "b"})
    assert made.fabric("build").code == 0
    (made.root / "spec/b.txt").unlink()
    assert made.fabric("build").code == 0
    assert sorted(path.name for path in (made.root / "out").iterdir()) == ["a.txt"]


def test_an_edited_output_is_made_again_with_a_warning(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("build").code == 0
    made.write({VALUE: "V = 'mine'\n"})
    assert "warning[step/edited-output]" in made.fabric("build").err
    assert value(made) == "V = 'a'"
    assert made.json("build").result["summary"]["ran"] == 0


def test_a_failed_command_does_not_block_the_next_build(tmp_path: Path) -> None:
    made = shop(tmp_path)
    script = (made.root / "generate.sh").read_text()
    assert made.fabric("build").code == 0
    made.write({"generate.sh": f"echo partial > {VALUE}; exit 1\n"})
    assert made.fabric("build").code != 0
    made.write({"generate.sh": script})
    assert made.fabric("build").code == 0
    assert value(made) == "V = 'a'"


def test_outputs_that_git_tracks_are_reported(tmp_path: Path) -> None:
    made = shop(tmp_path, **{VALUE: "V = 'old'\n"})
    under_git(made)
    assert "warning[step/tracked-output]" in made.fabric("build").err


def test_inputs_without_a_match_are_reported_at_their_place_each_time(tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("spec/**,", "spec/**, sepc/**,"))
    first = made.fabric("build").err
    assert "warning[step/no-match] before:shop/generate: fabric.yml:7:25: " in first
    made.write({"fabric.yml": "\n" + (made.root / "fabric.yml").read_text()})
    again = made.fabric("build").err
    assert "fabric.yml:8:25: the input `sepc/**` of the step `generate` matches no file" in again
    assert runs_of(made) == 1


@pytest.mark.parametrize("command", ["validate", "plan", "build"])
def test_inputs_above_the_workspace_are_rejected(command: str, tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("spec/**,", "../../../../etc/hostname,"))
    failed = made.json(command).error
    assert failed["code"] == "config/bad-pattern"
    assert failed["where"] == {"file": "fabric.yml", "line": 7, "column": 16}
    assert runs_of(made) == 0


def test_a_script_that_the_command_names_is_an_input(tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("spec/**, generate.sh,", "spec/**,"))
    assert made.fabric("build").code == 0
    made.write({"generate.sh": f"{GENERATE}# comment\n"})
    assert made.fabric("build").code == 0
    assert runs_of(made) == 2


@pytest.mark.parametrize("name", ["ok", "fail"])
def test_both_streams_of_a_step_are_shown(name: str, tmp_path: Path) -> None:
    end = "sh generate.sh" if name == "ok" else "exit 2"
    step = f"sh -c 'echo from-stdout; echo from-stderr >&2; {end}'"
    done = shop(tmp_path, CONFIG.replace("sh generate.sh", f'"{step}"')).fabric("build")
    assert done.code == (0 if name == "ok" else 1)
    lines = done.err.split("\n")
    at = next(number for number, line in enumerate(lines) if line.endswith(" from-stdout"))
    assert lines[at + 1].strip() == "from-stderr"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sh -c 'echo broken >&2; exit 3'", "exited with code 3"),
        ("sh -c true", "wrote no file that matches `src/generated/**`"),
    ],
)
def test_a_failed_step_blocks_the_builds(command: str, message: str, tmp_path: Path) -> None:
    made = shop(tmp_path, CONFIG.replace("sh generate.sh", command))
    failed = made.json("build")
    assert failed.error["code"] == "step/failed"
    assert message in failed.error["message"]
    assert not (made.root / ".fabric/build").exists()


def test_a_timeout_ends_the_command(tmp_path: Path) -> None:
    config = CONFIG.replace("command: sh generate.sh", "command: sleep 60\n      timeout: 1")
    failed = shop(tmp_path, config).json("build")
    assert "did not end within 1 s" in failed.error["message"]
    assert failed.error["hint"] == "set `timeout` of the step, in seconds"


def test_steps_run_in_order_and_see_earlier_outputs(tmp_path: Path) -> None:
    command = f"command: cp {VALUE} src/copy.py, outputs: [src/copy.py]"
    second = f"    - {{name: copy, {command}}}\n"
    made = shop(tmp_path, CONFIG.replace("functions:", f"{second}functions:"))
    made.write(
        {"src/two.py": "from copy import V\n\n\ndef handler(event, context):\n    return V\n"}
    )
    assert made.fabric("build").code == 0
    made.write({"spec/a.txt": "z\n"})
    assert made.fabric("build").code == 0
    assert (made.root / "src/copy.py").read_text() == "V = 'z'\n"
    assert summary(made, "build")["ran"] == 0


def test_two_steps_cannot_write_the_same_file(tmp_path: Path) -> None:
    second = f"    - {{name: again, command: touch {VALUE}, outputs: [{VALUE}]}}\n"
    made = shop(tmp_path, CONFIG.replace("functions:", f"{second}functions:"))
    assert made.json("build").error["code"] == "step/shared-output"


def test_a_step_sees_its_service_and_the_settings_of_the_network(tmp_path: Path) -> None:
    step = "sh -c 'mkdir -p src/generated; env > src/generated/env'"
    config = CONFIG.replace("sh generate.sh", step)
    made = shop(tmp_path, config, **{"src/one.py": SOURCES["src/two.py"]})
    given = {"TOKEN": "secret", "FABRIC_STAGE": "x", "https_proxy": "http://127.0.0.1:1"}
    assert made.fabric("build", env=given).code == 0
    seen = (made.root / "src/generated/env").read_text().splitlines()
    names = {line.partition("=")[0] for line in seen} - {"PWD", "SHLVL", "_", "OLDPWD"}
    own = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "FABRIC_SERVICE"}
    assert names == {*own, "https_proxy"}
    assert "Nothing to do" in made.fabric("build", env={**given, "https_proxy": "x"}).out


def test_a_step_that_names_the_stage_runs_once_per_stage(tmp_path: Path) -> None:
    step = 'sh -c "sh generate.sh; echo \\"# $FABRIC_STAGE\\" >> src/generated/value.py"'
    made = shop(
        tmp_path, CONFIG.replace("command: sh generate.sh", f"command: {shlex.split(step)}")
    )
    for stage in ("dev", "prod", "dev"):
        assert made.fabric("build", "--stage", stage).code == 0
        assert value(made).endswith(f"# {stage}")
    assert runs_of(made) == 2


def test_hooks_of_builds_and_packages_are_cached_steps(tmp_path: Path) -> None:
    hooks = """\
hooks:
  before-build:
    - {command: sh generate.sh, outputs: [src/generated/**]}
  after-build:
    - name: size
      command: "sh -c 'cat $FABRIC_INPUT_DIR/two/src/two.py > built'"
      outputs: [built]
  "after:package":
    - {command: "sh -c 'ls $FABRIC_INPUT_DIR > packed'", outputs: [packed]}
"""
    start, end = CONFIG.index("build:"), CONFIG.index("functions:")
    made = shop(tmp_path, CONFIG[:start] + CONFIG[end:] + hooks)
    assert summary(made, "package")["ran"] == 7
    assert (made.root / "built").read_text() == SOURCES["src/two.py"]
    assert (made.root / "packed").read_text() == "one.zip\ntwo.zip\n"
    assert summary(made, "package")["ran"] == 0


def test_services_of_a_compose_file_have_their_own_steps(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), web=())
    for name in ("api", "web"):
        path = made.root / name / "fabric.yml"
        step = f"{{name: make, command: touch {name}.txt, outputs: [{name}.txt]}}"
        path.write_text(f"{path.read_text()}build: {{before: [{step}]}}\n")
    assert made.fabric("compose", "build").code == 0
    assert (made.root / "api/api.txt").exists()
    assert (made.root / "web/web.txt").exists()
    assert made.json("compose", "build").result["summary"]["ran"] == 0


def test_an_input_outside_the_service_affects_it(tmp_path: Path) -> None:
    made = compose(tmp_path, api=(), web=())
    made.write({"shared/words.txt": "a", "api/.gitignore": "words.txt\n"})
    path = made.root / "api/fabric.yml"
    step = "{name: copy, command: cp ../shared/words.txt ., inputs: [../shared/*]"
    path.write_text(f"{path.read_text()}build: {{before: [{step}, outputs: [words.txt]}}]}}\n")
    under_git(made)
    assert made.fabric("compose", "build").code == 0
    assert not made.json("compose", "plan", "--affected").result["services"]
    made.write({"shared/words.txt": "b"})
    rows = made.json("compose", "plan", "--affected").result["services"]
    assert [one["service"] for one in rows] == ["api"]


def test_several_targets_share_the_steps(tmp_path: Path) -> None:
    spare = "providerOverrides: {spare: {name: cloud1-lambda}}\n"
    made = shop(tmp_path, f"{CONFIG}{spare}fabric: {{targets: [cloud1-lambda, spare]}}\n")
    assert made.fabric("deploy").code == 0
    assert runs_of(made) == 1


def test_a_saved_plan_knows_the_inputs_of_steps(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.fabric("plan", "--out", "plan.json").code == 0
    assert made.fabric("deploy", "--plan", "plan.json").code == 0
    made.write({"spec/a.txt": "b\n"})
    assert made.fabric("plan", "--out", "plan.json").code == 0
    made.write({"spec/a.txt": "c\n"})
    assert made.json("deploy", "--plan", "plan.json").error["code"] == "plan/stale"


CLEAN = f"rm -rf src/generated\n{GENERATE}"
TWO_FILES = f"{CLEAN}cp src/generated/value.py src/generated/second.py\n"
# Each covers what the script reads.
INPUTS = (
    "inputs: [spec/**, generate.sh]",
    "inputs: [generate.sh, 'spec/*', '!spec/*.md']",
    "timeout: 60",
)


def edit_inputs(made: Project, chance: Random) -> None:
    name = chance.choice(("spec/a.txt", "spec/b.txt", "spec/sub/c.txt"))
    made.write({name: f"{chance.randrange(3)}\n"})


def delete_input(made: Project, chance: Random) -> None:
    (made.root / chance.choice(("spec/b.txt", "spec/sub/c.txt"))).unlink(missing_ok=True)


def delete_outputs(made: Project, chance: Random) -> None:
    found = sorted((made.root / "src/generated").glob("*.py"))
    for path in found[: chance.randrange(3)]:
        path.unlink()


def edit_script(made: Project, chance: Random) -> None:
    made.write({"generate.sh": chance.choice((CLEAN, TWO_FILES))})


def edit_patterns(made: Project, chance: Random) -> None:
    was = 'inputs: [spec/**, generate.sh, "!spec/*.md"]'
    made.write({"fabric.yml": CONFIG.replace(was, chance.choice(INPUTS))})


def edit_source(made: Project, chance: Random) -> None:
    made.write({"src/two.py": f"{SOURCES['src/two.py']}# {chance.randrange(3)}\n"})


EDITS = (edit_inputs, delete_input, delete_outputs, edit_script, edit_patterns, edit_source)


def results(made: Project) -> dict[str, bytes]:
    folders = (made.root / "src/generated", made.root / ".fabric/build")
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(made.root)): path.read_bytes() for path in paths}


def copy_clean(made: Project, folder: Path) -> Project:
    """The same sources, with neither outputs nor a cache."""
    shutil.copytree(
        made.root, folder / "shop", ignore=shutil.ignore_patterns(".fabric", "generated", "*.pyc")
    )
    return replace(made, root=folder / "shop", home=folder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_edits_give_the_results_of_a_clean_run(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    made = shop(tmp_path, **{"generate.sh": CLEAN})
    edit_patterns(made, chance)
    for number in range(10):
        for _ in range(chance.randrange(1, 3)):
            chance.choice(EDITS)(made, chance)
        done = made.fabric("package")
        assert done.code == 0, done.err
        clean = copy_clean(made, tmp_path / f"clean-{number}")
        assert clean.fabric("package").code == 0
        assert results(made) == results(clean)
        assert summary(made, "package")["ran"] == 0
