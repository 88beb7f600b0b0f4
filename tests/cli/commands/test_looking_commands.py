"""Commands that only look run no code of a checkout, and call no provider that nobody enabled."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.records.record import Mode
from fabric.model.records.record_json import decode, encode
from tests.support.in_process import project
from tests.support.project import PYTHON, Project

CANARY = "import pathlib; pathlib.Path({path!r}).touch()\n"


def planted(made: Project) -> Path:
    """Modules and settings that whatever starts Python or Node in the project would run."""
    canary = made.home / "canary"
    code = CANARY.format(path=str(canary))
    made.write(
        {
            "pip.py": code,
            "sitecustomize.py": code,
            "usercustomize.py": code,
            "pip/__init__.py": code,
            "hook.cjs": f"require('fs').writeFileSync({str(canary)!r}, '')\n",
            "requirements.txt": "",
            ".env": f"PYTHONPATH={made.root}\nNODE_OPTIONS=--require={made.root}/hook.cjs\n"
            f"PYTHONSTARTUP={made.root}/pip.py\nBASH_ENV={made.root}/hook.sh\nPATH={made.root}\n",
            "hook.sh": f"touch {canary}\n",
        }
    )
    for name in ("node", "npm", "kubectl", "git", "wrangler", "python3"):
        (made.root / name).write_text(f"#!/bin/sh\ntouch {canary}\n")
        (made.root / name).chmod(0o755)
    return canary


LOOKING = (
    ("doctor",), ("validate",), ("plan",), ("config", "show"), ("logs",), ("outputs",),
    ("releases",), ("state", "list"), ("state", "reconcile"), ("cache", "stats"),
    ("explain", "build:shop/one"),
    ("compose", "plan"), ("router", "status"),
)  # fmt: skip


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_a_command_that_looks_runs_nothing_of_the_checkout(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = project(tmp_path)
    node = PYTHON + "  - {name: three, entry: src/three.mjs, runtime: nodejs22.x}\n"
    made.write({"fabric.yml": node, "src/three.mjs": "export const handler = () => 1\n"})
    canary = planted(made)
    made.fabric(*words)
    assert not canary.exists()


def with_record(made: Project, provider: str, mode: str) -> None:
    """A deployed stage, whose record says that it was deployed in another mode."""
    made.write({"fabric.yml": PYTHON.replace("cloud1-lambda", provider)})
    assert made.fabric("deploy").code == 0
    (path,) = (made.root / ".fabric/state").rglob("*.state.json")
    record = decode(path.read_bytes(), path.name)
    path.write_bytes(encode(replace(record, mode=Mode(mode))))


CREDENTIALS = {
    "CLOUD1_ACCESS_KEY_ID": "a", "CLOUD1_SECRET_ACCESS_KEY": "b", "CLOUD1_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "EDGE1_API_TOKEN": "t", "EDGE1_ACCOUNT_ID": "a" * 32,
    "EDGE1_API_BASE_URL": "http://127.0.0.1:9", "CLUSTER_CONFIG": "k", "CLUSTER_CONTEXT": "c",
    "CLUSTER_NAMESPACE": "n",
}  # fmt: skip


def test_a_simulated_plan_over_a_record_of_mode_real_needs_no_role(tmp_path: Path) -> None:
    made = project(tmp_path)
    with_record(made, "cloud1-lambda", "real")
    made.write({"src/one.py": "def handler(event, context):\n    return 11\n"})
    done = made.fabric("plan")
    assert done.code == 0
    assert "warning[deploy/mode-mismatch]" in done.err


@pytest.mark.parametrize("words", [("logs",), ("metrics",), ("traces",)])
def test_a_record_of_a_deploy_by_command_makes_no_call_that_was_not_enabled(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    made = project(tmp_path)
    with_record(made, "cloud1-lambda", "command")
    done = made.json(*words, env=CREDENTIALS)
    assert (done.code, done.error["code"]) == (1, "deploy/not-enabled")


@pytest.mark.parametrize("words", [("logs",), ("metrics",), ("traces",), ("state", "reconcile")])
@pytest.mark.parametrize("provider", ["cloud1-lambda", "cluster-orchestrator"])
def test_a_record_of_mode_real_makes_no_call_that_was_not_enabled(
    tmp_path: Path, provider: str, words: tuple[str, ...]
) -> None:
    made = project(tmp_path)
    with_record(made, provider, "real")
    tool = made.home / "bin"
    tool.mkdir()
    (tool / "kubectl").write_text(f"#!/bin/sh\ntouch {made.home}/called\n")
    (tool / "kubectl").chmod(0o755)
    path = {"PATH": f"{tool}:{os.defpath}"}
    done = made.json(*words, env={**CREDENTIALS, **path})
    assert done.code == 1
    assert done.error["code"] == "deploy/not-enabled"
    assert "REAL_DEPLOY=1" in done.error["hint"]
    assert not (made.home / "called").exists()
