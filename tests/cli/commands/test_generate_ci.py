"""`fabric generate ci`: a workflow for a project that exists."""

from pathlib import Path

from tests.support.in_process import project
from tests.support.project import Project, handler, service

WORKFLOW = ".github/workflows/fabric.yml"


def shop(folder: Path, more: str = "") -> Project:
    return project(folder, service("shop", "main") + more, {"main.py": handler("x")})


def test_a_workflow_is_written_for_the_config(tmp_path: Path) -> None:
    made = shop(tmp_path, "backend: {kind: sql}\n")
    made.write({"requirements-dev.txt": "pytest\n"})
    result = made.json("generate", "ci").result
    assert result["kind"] == "ci"
    assert result["files"] == [{"path": WORKFLOW, "change": "create"}]
    text = (made.root / WORKFLOW).read_text()
    assert "role-to-assume" in text
    assert "serverless-fabric[cloud,postgres]" in text
    assert "python -m pytest" in text
    assert "setup-node" not in text


def test_a_workflow_with_previews_deploys_pull_requests(tmp_path: Path) -> None:
    made = shop(tmp_path)
    assert made.json("generate", "ci", "--previews").code == 0
    text = (made.root / WORKFLOW).read_text()
    assert 'fabric deploy --preview "$PREVIEW" --expires 7d' in text
    assert 'fabric remove --stage "$PREVIEW" --yes' in text


def test_a_workflow_that_exists_is_replaced_only_with_force(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write({WORKFLOW: "mine\n"})
    done = made.json("generate", "ci")
    assert (done.code, done.error["code"]) == (73, "disk/workflow-exists")
    shown = made.json("generate", "ci", "--force", "--dry-run").result
    assert "-mine" in shown["diff"]
    assert (made.root / WORKFLOW).read_text() == "mine\n"
    assert made.json("generate", "ci", "--force").code == 0
    assert made.json("generate", "ci").code == 0


def test_it_is_written_at_the_root_of_the_repository(tmp_path: Path) -> None:
    made = shop(tmp_path)
    made.write(
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            "services/api/fabric.yml": service("api", "main"),
            "services/api/main.py": handler("x"),
            "services/api/package.json": '{"scripts": {"test": "node --test"}}',
        }
    )
    assert made.json("generate", "ci", "-c", "services/api").code == 0
    text = (made.root / WORKFLOW).read_text()
    assert "working-directory: services/api" in text
    assert "run: npm install\n      - run: npm test" in text


def test_a_provider_that_hangs_on_a_variable_is_named(tmp_path: Path) -> None:
    made = shop(tmp_path)
    text = (made.root / "fabric.yml").read_text()
    made.write({"fabric.yml": text.replace("cloud1-lambda", '"${env:PLACE}"')})
    done = made.json("generate", "ci")
    assert (done.code, done.error["code"]) == (65, "config/unset-variable")
    assert not (made.root / WORKFLOW).exists()
