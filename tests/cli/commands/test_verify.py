"""Deployed code, compared with a build of its commit."""

from pathlib import Path

import pytest

from tests.support.git import commit, git, under_git
from tests.support.in_process import compose, project
from tests.support.project import Done, Project, handler, service


def shop(folder: Path) -> Project:
    made = project(folder)
    text = service("shop", "one", "two")
    made.write({"fabric.yml": text, "one.py": handler("one"), "two.py": handler("two")})
    return under_git(made)


def verdicts(done: Done) -> dict[str, str]:
    found = done.document["result"]["functions"]
    return {one["function"]: one["verdict"] for one in found}


def test_a_deployment_of_a_commit_matches_it(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    made.write({"one.py": handler("later")})
    done = made.json("verify")
    assert (done.code, verdicts(done)) == (0, {"one": "match", "two": "match"})
    [one, _] = done.result["functions"]
    assert one["expected"] == one["actual"] != ""
    assert done.result["commit"] == git(made, "rev-parse", "HEAD").strip()


def test_a_function_that_its_commit_does_not_build_is_named(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"two.py": handler("not committed")})
    assert made.json("deploy").code == 0
    done = made.json("verify")
    assert (done.code, verdicts(done)) == (1, {"one": "match", "two": "differs"})
    assert "differs shop/two (cloud1-lambda): the commit builds another archive" in (
        made.fabric("verify").out
    )


def test_changes_that_were_committed_after_the_deploy_match(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"two.py": handler("committed later")})
    assert made.json("deploy").code == 0
    commit(made)
    assert made.json("deploy").code == 0
    done = made.json("verify")
    assert (done.code, verdicts(done)) == (0, {"one": "match", "two": "match"})


def test_a_commit_that_does_not_build_is_unknown(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    git(made, "tag", "v1")
    made.write({"fabric.yml": service("shop", "one", "two", "three")})
    commit(made)
    done = made.json("verify", "--commit", "HEAD")
    assert (done.code, set(verdicts(done).values())) == (2, {"unknown"})
    assert "cannot be built" in done.result["functions"][0]["reason"]
    assert made.json("verify").code == 0


def test_a_commit_that_the_clone_lacks_is_unknown(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({"one.py": handler("second")})
    commit(made)
    assert made.json("deploy").code == 0
    git(made, "reset", "-q", "--hard", "HEAD~1")
    git(made, "reflog", "expire", "--expire=now", "--all")
    git(made, "gc", "-q", "--prune=now")
    done = made.json("verify")
    assert (done.code, verdicts(done)["one"]) == (2, "unknown")
    assert "cannot be built" in done.result["functions"][0]["reason"]


def test_another_commit_can_be_compared(tmp_path: Path) -> None:
    made = shop(tmp_path)
    git(made, "tag", "v1")
    made.write({"one.py": handler("later")})
    commit(made)
    assert made.json("deploy").code == 0
    assert made.json("verify").code == 0
    done = made.json("verify", "--commit", "v1")
    assert verdicts(done) == {"one": "differs", "two": "match"}
    assert made.json("verify", "--commit", "v9").error["code"] == "usage/unknown-base"


def test_a_stored_archive_that_was_changed_is_found(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("deploy").code == 0
    for path in (made.root / ".fabric/archives").iterdir():
        path.chmod(0o600)
        path.write_bytes(path.read_bytes() + b"x")
    done = made.json("verify")
    assert (done.code, set(verdicts(done).values())) == (1, {"differs"})


def test_without_a_commit_nothing_is_known(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write({"fabric.yml": service("shop", "one"), "one.py": handler("one")})
    nothing = made.fabric("verify")
    assert (nothing.code, nothing.out) == (2, "Nothing is deployed in stage dev.\n")
    assert made.json("deploy").code == 0
    done = made.json("verify")
    assert (done.code, verdicts(done)) == (2, {"one": "unknown"})
    assert made.json("verify", "--commit", "HEAD").error["code"] == "git/no-repository"


def test_packages_beside_the_checkout_are_used_if_their_lock_is_the_same(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write(
        {
            "fabric.yml": "service: shop\nprovider: {name: cloud1-lambda, runtime: nodejs22.x}\n"
            "functions:\n  - {name: one, entry: one.mjs}\n",
            "one.mjs": "import word from 'word';\nexport const handler = async () => word;\n",
            "package.json": '{"dependencies": {"word": "1.0.0"}}',
            "node_modules/word/package.json": '{"name": "word", "version": "1.0.0"}',
            "node_modules/word/index.js": "module.exports = 'word';\n",
            ".gitignore": "node_modules/\n.fabric/\n",
            "sub/file": "",
        }
    )
    git(made, "init", "-q", "-b", "main")
    commit(made)
    assert made.json("deploy").code == 0
    assert made.json("verify").code == 0
    assert made.json("verify", "-c", "..", cwd="sub").code == 0


def test_packages_of_another_lock_above_the_service_are_not_used(tmp_path: Path) -> None:
    made = project(tmp_path)
    made.write(
        {
            "api/fabric.yml": "service: shop\n"
            "provider: {name: cloud1-lambda, runtime: nodejs22.x}\n"
            "functions:\n  - {name: one, entry: one.mjs}\n",
            "api/one.mjs": "import word from 'word';\nexport const handler = async () => word;\n",
            "package-lock.json": '{"lockfileVersion": 3, "packages": {}}',
            "node_modules/word/package.json": '{"name": "word", "version": "1.0.0"}',
            "node_modules/word/index.js": "module.exports = 'word';\n",
            ".gitignore": "node_modules/\n.fabric/\n",
        }
    )
    git(made, "init", "-q", "-b", "main")
    commit(made)
    assert made.json("deploy", "-c", "api").code == 0
    assert made.json("verify", cwd="api").code == 0
    made.write({"package-lock.json": '{"lockfileVersion": 3, "packages": {"": {}}}'})
    [one] = made.json("verify", cwd="api").result["functions"]
    assert (one["verdict"], "cannot be built" in one["reason"]) == ("unknown", True)


def test_build_steps_of_the_commit_do_not_change_the_installed_packages(tmp_path: Path) -> None:
    made = shop(tmp_path)
    step = "build:\n  before: [{name: a, command: sh step.sh, inputs: [step.sh], outputs: [out]}]\n"
    made.write(
        {
            "fabric.yml": service("shop", "one", "two") + step,
            "step.sh": "echo more >> node_modules/a/index.js && touch out\n",
            "node_modules/a/index.js": "",
            ".gitignore": "out\nnode_modules/\n.fabric/\n",
        }
    )
    commit(made)
    assert made.json("deploy").code == 0
    before = (made.root / "node_modules/a/index.js").read_text()
    assert made.json("verify").code == 0
    assert (made.root / "node_modules/a/index.js").read_text() == before


@pytest.mark.parametrize("place", ["auth", "api"])
def test_a_service_of_a_monorepo_is_built_in_its_place(place: str, tmp_path: Path) -> None:
    made = compose(tmp_path, auth=(), api=("auth",))
    made.write({".gitignore": ".fabric/\n"})
    git(made, "init", "-q", "-b", "main")
    commit(made)
    assert made.json("compose", "deploy").code == 0
    done = made.json("verify", "-c", place)
    assert (done.code, set(verdicts(done).values())) == (0, {"match"})
