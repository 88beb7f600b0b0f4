"""Where a checkout stands, told by real git."""

from pathlib import Path

import pytest

from fabric.model.problems import FabricError
from fabric.system.git.git import (
    Checkout,
    find_checkout_state,
    find_commit,
    find_head,
    list_remote_branches,
    parse_repository_name,
    read_committed_file,
)
from tests.support.git import commit, git, shallow_clone, under_git
from tests.support.project import Project, environment, project


def looked(made: Project) -> Checkout:
    found = find_checkout_state(made.root, environment(made.home))
    assert found is not None
    return found


@pytest.fixture
def made(tmp_path: Path) -> Project:
    found = project(tmp_path)
    under_git(found)
    return found


def head(made: Project, name: str = "HEAD") -> str:
    return git(made, "rev-parse", name).strip()


def test_folder_without_git_has_no_checkout_state(tmp_path: Path) -> None:
    bare = project(tmp_path)
    assert find_checkout_state(bare.root, environment(bare.home)) is None
    assert find_commit(bare.root, environment(bare.home)) == ""


def test_repository_without_a_commit_has_no_checkout_state(tmp_path: Path) -> None:
    bare = project(tmp_path)
    git(bare, "init", "-q")
    assert find_checkout_state(bare.root, environment(bare.home)) is None


def test_missing_git_program_yields_no_checkout_state(made: Project) -> None:
    nowhere = {**environment(made.home), "PATH": "/nowhere"}
    assert find_checkout_state(made.root, nowhere) is None
    assert find_commit(made.root, nowhere) == ""


def test_checkout_state_has_commit_predecessors_and_branch(made: Project) -> None:
    commits = [head(made)]
    for _ in range(6):
        commit(made)
        commits.append(head(made))
    found = looked(made)
    assert found.commit == commits[-1] == find_commit(made.root, environment(made.home))
    assert found.before == tuple(reversed(commits[2:-1]))
    assert (found.branch, found.default_branch, found.repository) == ("main", "", "")


def test_head_is_commit_and_branch_in_one_call(made: Project, tmp_path: Path) -> None:
    env = environment(made.home)
    assert find_head(made.root, env) == (head(made), "main")
    git(made, "checkout", "-q", "--detach")
    assert find_head(made.root, env) == (head(made), "")
    assert find_head(tmp_path, env) == ("", "")
    assert find_head(made.root, {**env, "PATH": "/nowhere"}) == ("", "")


def test_branches_are_those_of_the_remote(made: Project, tmp_path: Path) -> None:
    git(made, "branch", "feature/one")
    clone = shallow_clone(made, tmp_path / "clone", "main")
    assert list_remote_branches(clone.root, environment(made.home)) == {"main", "feature/one"}


def test_programs_of_a_checkout_are_not_run_for_its_branches(made: Project, tmp_path: Path) -> None:
    clone, mark = shallow_clone(made, tmp_path / "clone", "main"), tmp_path / "ran"
    git(clone, "config", "remote.origin.uploadpack", f"touch {mark}; git-upload-pack")
    git(clone, "config", "core.fsmonitor", f"touch {mark}")
    assert list_remote_branches(clone.root, environment(made.home)) == {"main"}
    for address in (f"ext::touch {mark}", "ssh://-oProxyCommand=x/y"):
        git(clone, "config", "remote.origin.url", address)
        with pytest.raises(FabricError):
            list_remote_branches(clone.root, environment(made.home))
    assert not mark.exists()


def test_a_checkout_without_a_remote_has_no_branches_to_compare(made: Project) -> None:
    with pytest.raises(FabricError) as raised:
        list_remote_branches(made.root, environment(made.home))
    assert raised.value.first.code == "git/no-remote"


def test_a_clone_of_depth_one_knows_both_parents_of_a_merge(made: Project, tmp_path: Path) -> None:
    git(made, "checkout", "-qb", "side")
    commit(made, "aside")
    git(made, "checkout", "-q", "main")
    commit(made, "ahead")
    git(made, "merge", "-q", "--no-ff", "side")
    parents = {head(made, "HEAD^1"), head(made, "HEAD^2")}
    shallow = Project(tmp_path / "shallow", made.home)
    git(made, "clone", "-q", "--depth", "1", f"file://{made.root}", str(shallow.root))
    found = looked(shallow)
    assert set(found.before) == parents
    assert found.default_branch == "main"


def test_a_commit_without_a_branch(made: Project) -> None:
    git(made, "checkout", "-q", "--detach")
    assert looked(made).branch == ""


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.com/owner/name.git", "owner/name"),
        ("git@example.com:owner/name.git", "owner/name"),
        ("ssh://git@example.com:22/owner/name", "owner/name"),
        ("", ""),
        ("https://[", ""),
    ],
)
def test_a_repository_has_one_name_however_it_is_reached(url: str, name: str) -> None:
    assert parse_repository_name(url) == name


def test_file_of_a_commit_is_read_from_its_directory(made: Project) -> None:
    env = environment(made.home)
    made.write({"a/lock": "old"})
    commit(made)
    start = head(made)
    made.write({"a/lock": "new", "a/later": ""})
    commit(made)
    assert read_committed_file(made.root / "a/lock", start, env) == b"old"
    assert read_committed_file(made.root / "a/lock", "HEAD", env) == b"new"
    assert read_committed_file(made.root / "a/later", start, env) is None
