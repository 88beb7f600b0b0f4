"""`plan --out` and `deploy --plan`: carried out while nothing that led to it has moved."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.in_process import compose, project, typescript
from tests.support.project import Done, Project, handler

HEAD = "service: shop\nprovider: {name: cloud1-lambda, runtime: python3.11}\n"
CONFIG = HEAD + "functions:\n  - {name: one, entry: src/one.handler}\n"
SOURCES = {
    "src/one.py": "import lib\n\n\ndef handler(event, context):\n    return lib.WORD\n",
    "src/lib.py": "WORD = 1\n",
    "src/beside.py": "WORD = 2\n",
    "README.md": "nobody reads it\n",
}
COMMAND = f"{CONFIG}build:\n  command: [sh, -c, 'cp src/*.py $FABRIC_OUT_DIR']\n"


def shop(folder: Path, config: str = CONFIG) -> Project:
    return project(folder, config, SOURCES)


def planned(made: Project) -> Project:
    assert made.fabric("plan", "--out", "plan.json").code == 0
    return made


def carried_out(made: Project, *flags: str) -> Done:
    return made.json("deploy", "--plan", "plan.json", *flags)


def elsewhere(made: Project, folder: Path) -> Project:
    """Another checkout of the same, with the plan and without all that a machine remembers."""
    kept = shutil.ignore_patterns(".fabric")
    return replace(made, root=Path(shutil.copytree(made.root, folder, ignore=kept)))


@pytest.mark.parametrize("config", [CONFIG, COMMAND], ids=["python", "command"])
@pytest.mark.parametrize("warm", [False, True])
def test_a_plan_that_is_carried_out_at_once_fits(config: str, warm: bool, tmp_path: Path) -> None:  # noqa: FBT001
    made = shop(tmp_path, config)
    if warm:
        assert made.fabric("build").code == 0
    done = carried_out(planned(made))
    assert done.code == 0, done.out


def test_a_plan_of_typescript_fits_at_once_and_not_after_an_edit(tmp_path: Path) -> None:
    made = planned(typescript(tmp_path))
    twin = elsewhere(made, tmp_path / "twin")
    source = next(path for path in sorted(twin.root.rglob("*.ts")) if "handler" in path.read_text())
    assert carried_out(made).code == 0
    source.write_text(source.read_text() + "\nexport const newer = 1;\n")
    done = carried_out(twin)
    assert done.error["code"] == "plan/stale"
    assert f"{source.relative_to(twin.root)} changed" in done.error["message"]


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("config", [CONFIG, COMMAND], ids=["python", "command"])
def test_a_plan_fits_another_checkout_of_the_same(
    config: str,
    warm: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    made = shop(tmp_path / "first", config)
    if warm:
        assert made.fabric("build").code == 0
    twin = elsewhere(planned(made), tmp_path / "deeper" / "second")
    shutil.move(twin.root / "plan.json", twin.root.parent / "plan.json")
    done = twin.json("deploy", "--plan", "../plan.json")
    assert done.code == 0, done.out


def test_plan_of_a_fresh_checkout_fits_a_built_checkout(tmp_path: Path) -> None:
    made = planned(shop(tmp_path / "first"))
    twin = elsewhere(made, tmp_path / "second")
    assert twin.fabric("build").code == 0
    assert carried_out(twin).code == 0


@pytest.mark.parametrize("warm", [False, True])
def test_a_source_that_was_edited_since_is_named(warm: bool, tmp_path: Path) -> None:  # noqa: FBT001
    made = shop(tmp_path)
    if warm:
        assert made.fabric("build").code == 0
    planned(made).write({"src/lib.py": "WORD = 9\n"})
    done = carried_out(made)
    assert (done.code, done.error["code"]) == (1, "plan/stale")
    assert "src/lib.py changed" in done.error["message"]
    assert not (made.root / ".fabric/state").exists()


def test_a_file_that_is_imported_only_since_the_last_build_counts(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    made.write({"src/one.py": SOURCES["src/one.py"].replace("lib", "beside")})
    planned(made).write({"src/beside.py": "WORD = 9\n"})
    done = carried_out(made)
    assert done.error["code"] == "plan/stale"
    assert "src/beside.py changed" in done.error["message"]


def test_a_file_that_would_win_over_an_import_is_named(tmp_path: Path) -> None:
    made = planned(shop(tmp_path))
    made.write({"src/lib/__init__.py": "WORD = 3\n"})
    assert "src/lib/__init__.py is new" in carried_out(made).error["message"]


def test_changed_link_target_is_named(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"src/same.py": SOURCES["src/lib.py"]})
    planned(made)
    (made.root / "src/lib.py").unlink()
    (made.root / "src/lib.py").symlink_to("same.py")
    assert "the link target of src/lib.py changed" in carried_out(made).error["message"]


def test_files_unused_by_builds_do_not_invalidate_a_plan(tmp_path: Path) -> None:
    made = planned(shop(tmp_path))
    made.write({"README.md": "newer", "src/beside.py": "WORD = 9\n", "log.txt": "lines"})
    assert carried_out(made).code == 0


def test_for_a_build_command_every_file_of_the_service_counts(tmp_path: Path) -> None:
    made = planned(shop(tmp_path, COMMAND))
    made.write({"src/more.py": "WORD = 9\n"})
    done = carried_out(made)
    assert done.error["code"] == "plan/stale"
    assert "the files of" in done.error["message"]


def test_a_plan_runs_no_build_command(tmp_path: Path) -> None:
    made = shop(tmp_path, COMMAND.replace("cp ", "touch ran; cp "))
    assert not (planned(made).root / "ran").exists()


def test_plan_with_a_failing_build_is_not_saved(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"src/one.py": "def handler(\n"})
    done = made.json("plan", "--out", "plan.json")
    assert done.code != 0
    assert not (made.root / "plan.json").exists()


def test_the_state_of_an_upstream_counts(tmp_path: Path) -> None:
    made = compose(tmp_path, a=(), b=("a",))
    assert made.json("compose", "deploy", "--service", "a").code == 0
    out = str(made.root / "plan.json")
    assert made.fabric("plan", "-c", "b/fabric.yml", "--out", out).code == 0
    made.write({"a/main.py": handler("newer")})
    assert made.json("compose", "deploy", "--service", "a").code == 0
    done = made.json("deploy", "-c", "b/fabric.yml", "--plan", out)
    assert done.error["code"] == "plan/stale"
    assert "a/dev/cloud1-lambda" in done.error["message"]


NAMES = ("one", "two", "three", "four")


def module(imports: tuple[str, ...], word: int) -> str:
    lines = "".join(f"import {one}\n" for one in imports)
    return f"{lines}WORD = {word}\n\n\ndef handler(event, context):\n    return WORD\n"


def reached(first: str, needs: Mapping[str, tuple[str, ...]]) -> set[str]:
    found, left = set[str](), [first]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += needs[name]
    return found


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_edit_invalidates_a_plan_only_if_a_build_reads_it(data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple)
    before = {name: data.draw(some, label=f"{name} imported") for name in NAMES}
    needs = {**before, "two": data.draw(some, label="two imports")}
    edited = data.draw(st.sampled_from(NAMES), label="edited")
    with tempfile.TemporaryDirectory() as folder:
        sources = {f"src/{name}.py": module(before[name], 1) for name in NAMES}
        made = project(Path(folder), CONFIG, sources)
        if data.draw(st.booleans(), label="built before"):
            assert made.fabric("build").code == 0
        made.write({"src/two.py": module(needs["two"], 1)})
        planned(made).write({f"src/{edited}.py": module(needs[edited], 2)})
        done = carried_out(made)
        assert (done.code != 0) == (edited in reached("one", needs)), done.out
