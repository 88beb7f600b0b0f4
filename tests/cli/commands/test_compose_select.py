"""Which services `compose …` is about: by ties, and by what changed since a commit."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.git import commit, git, shallow_clone, under_git
from tests.support.in_process import compose
from tests.support.project import Done, Project, handler, service


def workspace(tmp_path: Path) -> Project:
    """site needs api, api needs auth; jobs stands alone and reads a shared library."""
    made = compose(tmp_path, site=("api",), api=("auth",), auth=(), jobs=())
    made.write(
        {
            "libs/common.py": "X = 1\n",
            "jobs/main.py": f"import common\n\n\n{handler('jobs')}",
        }
    )
    (made.root / "jobs/common.py").symlink_to("../libs/common.py")
    return made


def chosen(made: Project, *words: str, verb: str = "build", **settings: Any) -> list[str]:
    done = made.json("compose", "plan", "--for", verb, *words, **settings)
    return [one["service"] for one in done.result["services"]]


def failed(done: Done, code: str) -> Done:
    assert (done.code, done.error["code"]) == (64, code)
    return done


@pytest.mark.parametrize(
    ("words", "services"),
    [
        (("--service", "api"), ["api"]),
        (("--service", "api", "--with-dependents"), ["site", "api"]),
        (("--service", "api", "--with-dependencies"), ["api", "auth"]),
        (("--service", "auth", "--service", "jobs", "--with-dependents"), None),
    ],
)
def test_service_is_selected_with_its_dependencies(
    words: tuple[str, ...], services: list[str] | None, tmp_path: Path
) -> None:
    made = workspace(tmp_path)
    assert chosen(made, *words) == (services or ["site", "api", "auth", "jobs"])


def test_ties_limit_a_build_and_a_deploy_as_well(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    built = made.json("compose", "build", "--service", "auth", "--with-dependents").result
    assert {one["service"] for one in built["artifacts"]} == {"site", "api", "auth"}
    live = made.json("compose", "deploy", "--service", "api", "--with-dependencies").result
    assert {one["service"] for one in live["deployments"]} == {"api", "auth"}
    given = made.json("compose", "outputs", "--service", "api", "--with-dependents").result
    assert [one["service"] for one in given["services"]] == ["api"]
    gone = made.json("compose", "remove", "--service", "auth", "--with-dependents", "--yes").result
    assert {one["service"] for one in gone["removed"]} == {"api", "auth"}


def test_each_selection_has_its_own_cached_graph(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    assert made.fabric("compose", "build").code == 0
    for _ in range(2):
        assert chosen(made, "--service", "api") == ["api"]
        assert chosen(made, "--service", "api", "--with-dependents") == ["site", "api"]
        assert len(chosen(made)) == 4


LONELY = [
    ("--with-dependents",),
    ("--with-dependencies",),
    ("--base", "main"),
    ("--base", "main", "--service", "api"),
]


@pytest.mark.parametrize("words", LONELY, ids=" ".join)
def test_an_option_without_its_partner_is_a_usage_error(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    failed(workspace(tmp_path).json("compose", "plan", *words), "usage/incomplete")


def test_an_unknown_service_is_still_an_error_with_its_ties(tmp_path: Path) -> None:
    done = workspace(tmp_path).json("compose", "plan", "--service", "apj", "--with-dependents")
    assert "`api`" in failed(done, "usage/unknown-service").error["hint"]


# By git.


def test_edit_affects_its_service_and_dependents(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    made.write({"auth/main.py": handler("new")})
    assert chosen(made, "--affected") == ["site", "api", "auth"]
    made.write({"jobs/extra.py": "Y = 1\n"})
    assert len(chosen(made, "--affected")) == 4
    git(made, "checkout", "-q", "auth")
    assert chosen(made, "--affected") == ["jobs"]
    told = made.fabric("compose", "plan", "--affected").err
    assert "Affected since main (" in told
    assert "jobs" in told


@pytest.mark.parametrize("verb", ["plan", "build", "package", "deploy", "remove", "outputs"])
def test_nothing_runs_if_nothing_is_affected(verb: str, tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    done = made.fabric("compose", verb, "--affected")
    assert (done.code, done.out) == (0, "Nothing affected.\n")
    result = made.json("compose", verb, "--affected").result
    assert all(not rows for rows in result.values() if isinstance(rows, list))
    assert not list(made.root.glob("*/.fabric/*"))


def test_branch_is_compared_with_its_merge_base(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    git(made, "checkout", "-qb", "feature")
    made.write({"site/main.py": handler("two")})
    commit(made)
    git(made, "checkout", "-q", "main")
    made.write({"jobs/more.py": ""})
    commit(made)
    git(made, "checkout", "-q", "feature")
    assert chosen(made, "--affected") == ["site"]
    assert not chosen(made, "--affected", "--base", "HEAD")
    assert chosen(made, "--affected", "--base", "main") == ["site"]
    failed(made.json("compose", "plan", "--affected", "--base", "mian"), "usage/unknown-base")


def test_the_branch_of_the_origin_comes_before_the_one_here(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    git(made, "update-ref", "refs/remotes/origin/main", "HEAD")
    made.write({"api/main.py": handler("three")})
    commit(made)
    assert chosen(made, "--affected") == ["site", "api"]


def test_deleted_and_renamed_files_count(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    made.write({"site/gone.py": "A = 1\n", "jobs/old name.py": "B = 2\n"})
    under_git(made)
    (made.root / "site/gone.py").unlink()
    git(made, "mv", "jobs/old name.py", "auth/nëw.py")
    assert chosen(made, "--affected") == ["site", "api", "auth", "jobs"]


def test_shared_library_affects_services_that_read_it(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    assert made.fabric("compose", "build").code == 0
    made.write({"libs/common.py": "X = 2\n"})
    assert chosen(made, "--affected") == ["jobs"]
    made.write({"libs/other.py": "Y = 2\n", "README.md": "more"})
    assert chosen(made, "--affected") == ["jobs"]


def test_a_library_outside_affects_all_that_were_never_built_here(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    assert made.fabric("compose", "build", "--service", "auth").code == 0
    made.write({"libs/common.py": "X = 2\n", "README.md": "more"})
    assert chosen(made, "--affected") == ["site", "api", "jobs"]


def test_the_compose_file_affects_every_service(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    with (made.root / "fabric.compose.yml").open("a") as file:
        file.write("# more\n")
    assert len(chosen(made, "--affected")) == 4


def test_choices_add_up(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    made.write({"api/main.py": handler("three")})
    assert chosen(made, "--affected", "--service", "site") == ["site"]
    assert not chosen(made, "--affected", "--service", "jobs")
    assert chosen(made, "--affected", "--with-dependencies") == ["site", "api", "auth"]


def test_git_changes_are_read_on_every_run(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    assert made.fabric("compose", "build").code == 0
    made.write({"auth/main.py": handler("new")})
    for _ in range(2):
        assert made.json("compose", "build", "--affected").result["artifacts"]
    commit(made)
    assert not made.json("compose", "build", "--affected").result["artifacts"]


def test_workspace_below_the_repository_root_detects_changes_above_it(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path / "repository"))
    outer = Project(made.root.parent, made.home)
    git(made, "init", "-q", "-b", "main", "..")
    (made.root / ".git").rename(tmp_path / "moved")
    outer.write({".gitignore": "home/\n.fabric/\n"})
    commit(made)
    outer.write({"shared.py": "Z = 1\n"})
    assert len(chosen(made, "--affected")) == 4
    assert made.fabric("compose", "build").code == 0
    assert not chosen(made, "--affected")


def test_a_repository_without_a_commit_is_all_new(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    git(made, "init", "-q", "-b", "main")
    assert len(chosen(made, "--affected")) == 4


# Clones that are too shallow, and no git at all.


@pytest.mark.parametrize("words", [(), ("--base", "origin/main"), ("--base", "HEAD~1")])
def test_a_shallow_clone_is_an_error_with_its_remedy(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    made = under_git(workspace(tmp_path))
    git(made, "checkout", "-qb", "feature")
    made.write({"site/main.py": handler("two")})
    commit(made)
    git(made, "checkout", "-q", "main")
    clone = shallow_clone(made, tmp_path / "clone", "feature")
    done = clone.json("compose", "plan", "--affected", *words)
    assert "--deepen" in failed(done, "usage/shallow-clone").error["hint"]
    git(clone, "fetch", "-q", "--unshallow", "origin", "main:refs/remotes/origin/main")
    assert chosen(clone, "--affected") == ["site"]


def test_a_base_that_was_fetched_without_its_past_is_too_shallow(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    git(made, "checkout", "-qb", "feature")
    commit(made, "theirs")
    git(made, "checkout", "-q", "main")
    commit(made, "ours")
    clone = shallow_clone(made, tmp_path / "clone", "feature")
    git(clone, "fetch", "-q", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    failed(clone.json("compose", "build", "--affected"), "usage/shallow-clone")


def test_without_a_repository_affected_means_tasks_that_would_run(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    assert len(chosen(made, "--affected")) == 4
    assert made.fabric("compose", "build").code == 0
    assert not chosen(made, "--affected")
    made.write({"auth/main.py": handler("new")})
    assert chosen(made, "--affected") == ["site", "api", "auth"]
    done = made.json("compose", "plan", "--affected", "--base", "main")
    failed(done, "usage/no-repository")


def test_without_git_affected_means_tasks_that_would_run(tmp_path: Path) -> None:
    made = under_git(workspace(tmp_path))
    assert chosen(made, "--affected", env={"PATH": str(tmp_path / "nowhere")}) == [
        "site",
        "api",
        "auth",
        "jobs",
    ]


# What a choice reads, and what it leaves alone.


def test_a_chosen_service_needs_no_config_and_no_record_of_strangers(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",), jobs=())
    assert made.json("compose", "deploy").code == 0
    made.write({"auth/.fabric/state/auth/dev/cloud1-lambda.state.json": '{"broken'})
    (made.root / "api/fabric.yml").unlink()
    made.write({"jobs/main.py": handler("newer")})
    result = made.json("compose", "deploy", "--service", "jobs").result
    assert [row["service"] for row in result["deployments"]] == ["jobs"]


def test_a_service_without_a_config_is_named(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    (made.root / "api/fabric.yml").unlink()
    error = made.json("compose", "plan").error
    assert error["code"] == "compose/missing-config"
    assert "`api`" in error["message"]
    assert error["where"]["file"] == "fabric.compose.yml"


def test_include_pattern_without_matches_warns(tmp_path: Path) -> None:
    made = compose(tmp_path, auth=())
    text = (made.root / "fabric.compose.yml").read_text()
    made.write({"fabric.compose.yml": f"{text}include: [servces/*/fabric.yml]\n"})
    done = made.json("compose", "plan")
    assert done.code == 0
    assert "warning[compose/nothing-included]" in done.err
    assert "servces" in done.err


def test_affected_runs_no_program_that_the_repository_names(tmp_path: Path) -> None:
    """`.git` comes with a checkout when that is unpacked or copied."""
    made = under_git(workspace(tmp_path))
    canary = made.home / "canary"
    monitor = made.root / ".git/monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {canary}\n")
    monitor.chmod(0o755)
    for key, value in {
        "core.fsmonitor": str(monitor),
        "core.hooksPath": str(made.root / ".git"),
        "filter.evil.clean": f"touch {canary}; cat",
        "filter.evil.smudge": f"touch {canary}; cat",
        "filter.worse.process": str(monitor),
        "filter.worse.required": "true",
        "filter.a=b.clean": f"touch {canary}; cat",
        "diff.evil.command": str(monitor),
        "diff.evil.textconv": str(monitor),
        "diff.external": str(monitor),
    }.items():
        git(made, "config", key, value)
    rules = "*.py filter=evil diff=evil\n*.yml filter=worse\n*.md filter=a=b\n"
    made.write({".git/info/attributes": rules, "api/notes.md": "edited"})
    made.write({"auth/main.py": handler("edited"), "api/fabric.yml": service("api", "main")})
    assert "auth" in chosen(made, "--affected")
    assert not canary.exists()


def test_affected_runs_no_program_that_a_submodule_names(tmp_path: Path) -> None:
    made = workspace(tmp_path)
    canary = made.home / "canary"
    inner = Project(made.root / "lib", made.home)
    inner.root.mkdir()
    inner.write({"notes.md": "first"})
    under_git(inner)
    under_git(made)
    git(inner, "config", "filter.evil.clean", f"touch {canary}; cat")
    inner.write({".git/info/attributes": "* filter=evil\n", "notes.md": "other"})
    chosen(made, "--affected")
    assert not canary.exists()
