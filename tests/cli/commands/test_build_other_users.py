"""Other people's files above a project, or in place of fabric's own, are not obeyed."""

from pathlib import Path

from tests.support.in_process import compose, project
from tests.support.project import Project, environment, handler, service
from tests.support.users import open_to_all, planted, taken_over


def warned(made: Project, *words: str) -> str:
    done = made.fabric(*words)
    assert done.code == 0, done.err
    return done.err


def test_a_compose_file_in_a_shared_folder_above_is_not_obeyed(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    with open_to_all(tmp_path):
        planted(tmp_path, "fabric.compose.yml", "services: [{name: x, config: ./project}]\n")
        assert "compose/not-ours" in warned(made, "build")
        assert (made.root / ".fabric" / "cache").is_dir()
        assert not (tmp_path / ".fabric").exists()


def test_broken_compose_file_of_another_user_is_ignored(tmp_path: Path) -> None:
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    with open_to_all(tmp_path):
        planted(tmp_path, "fabric.compose.yml", "services: [[[[\n")
        for words in (("plan",), ("build",), ("deploy",), ("releases",), ("remove", "--yes")):
            assert made.fabric(*words).code == 0


def test_no_address_of_theirs_gets_into_our_functions(tmp_path: Path) -> None:
    """Their compose file names our config and a service of theirs that it is to depend on."""
    made = project(tmp_path, service("shop"), {"main.py": handler("a")})
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / "fabric.yml").write_text(service("evil"))
    (evil / "main.py").write_text(handler("evil"))
    rows = (
        "  - {name: evil, config: ./evil}\n  - {name: shop, config: ./project, dependsOn: [evil]}"
    )
    (tmp_path / "fabric.compose.yml").write_text(f"services:\n{rows}\n")
    assert made.fabric("deploy", cwd="../evil").code == 0
    assert "SERVICE_EVIL_URL" in str(variables(made))
    taken_over(tmp_path / "fabric.compose.yml")
    assert "SERVICE_EVIL_URL" not in str(variables(made))


def test_service_keeps_its_addresses_if_its_compose_file_is_ignored(
    tmp_path: Path,
) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    assert made.fabric("compose", "deploy").code == 0
    before = made.tree("api/.fabric/state")
    taken_over(made.root / "fabric.compose.yml")
    done = made.json("deploy", cwd="api")
    assert done.error["code"] == "compose/not-ours"
    assert "SERVICE_AUTH_URL" in done.error["message"]
    assert made.tree("api/.fabric/state") == before


def variables(made: Project) -> list[str]:
    """What the function of a fresh deploy got."""
    assert made.fabric("remove", "--yes").code == 0
    assert made.fabric("deploy").code == 0
    return [path.read_text() for path in made.root.rglob("*.state.json")]


def test_a_compose_file_of_ours_above_still_counts(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    assert made.fabric("compose", "deploy").code == 0
    done = made.fabric("deploy", "--force", cwd="api")
    assert done.code == 0
    assert "not-ours" not in done.err


def test_cache_writable_by_other_users_is_not_used(tmp_path: Path) -> None:
    made = project(tmp_path)
    assert made.fabric("build").code == 0
    taken_over(made.root / ".fabric" / "cache")
    done = made.json("build")
    assert done.code == 0
    assert done.result["summary"]["ran"] == 2
    assert "cache/not-ours" in done.err
    assert "cache/not-ours" in warned(made, "plan")


def test_an_answer_from_a_folder_above_is_not_given(tmp_path: Path) -> None:
    made = compose(tmp_path, api=())
    assert made.fabric("build", cwd="api").code == 0
    made.root.chmod(0o777)
    (made.root / "fabric.compose.yml").unlink()
    done = made.json("build", cwd="api")
    assert done.result["summary"]["ran"] == 1
    assert (made.root / "api" / ".fabric" / "cache").is_dir()


def test_a_service_under_a_compose_file_is_answered_by_stage_zero(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    for _ in range(2):
        assert made.fabric("compose", "deploy").code == 0
        assert made.fabric("deploy", cwd="api").code == 0
    runs = made.tree(".fabric/runs")
    assert "Nothing to do" in made.fabric("deploy", cwd="api").out
    assert (made.root / "api" / ".fabric" / "answers").is_dir()
    assert made.tree(".fabric/runs") == runs


def test_without_a_home_tools_are_private_to_the_run(tmp_path: Path) -> None:
    """The folder that all users share is looked for no tool, and none is left there."""
    made = project(tmp_path)
    shared = tmp_path / "tmp"
    shared.mkdir()
    env = environment(made.home, {"TMPDIR": str(shared), "FABRIC_TOOLCHAIN_DIR": ""})
    bare = {name: "" for name in ("HOME", "XDG_CACHE_HOME")}
    assert made.fabric("build", env={**env, **bare}).code == 0
    assert list(shared.iterdir()) == []


def test_tools_writable_by_other_users_are_not_run(tmp_path: Path) -> None:
    made = project(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    taken_over(tools)
    done = made.json("build", env={"FABRIC_TOOLCHAIN_DIR": str(tools)})
    assert done.error["code"] == "runtime/toolchain-not-ours"
    assert str(tools) in done.error["message"]
