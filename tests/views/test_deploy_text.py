"""What people read after a deploy: what moved, and what is as it was before."""

from typing import Any

from fabric.views.deploy_text import deploy_text


def row(service: str, status: str, function: str) -> dict[str, Any]:
    functions = [{"name": "main", "status": function}]
    return {
        "service": service, "provider": "cloud1-lambda", "mode": "command", "status": status,
        "functions": functions, "outputs": {}, "endpoint": "",
    }  # fmt: skip


def told(*rows: dict[str, Any]) -> list[str]:
    summary = {"ran": 2, "skipped": 0, "failed": 1, "blocked": 0, "ms": 1200}
    return deploy_text({"deployments": rows, "summary": summary}).splitlines()


def test_what_was_taken_back_is_not_told_as_made() -> None:
    lines = told(row("web", "failed", "failed"), row("api", "rolled-back", "cancelled"))
    assert lines == [
        "web on cloud1-lambda (command): failed",
        "  \u2717 main",
        "api on cloud1-lambda (command): rolled-back",
        "Deploy: 1 failed, 1 service taken back (1.2 s).",
    ]


def test_without_a_way_back_nothing_is_said_of_one() -> None:
    lines = told(row("web", "failed", "failed"), row("api", "deployed", "created"))
    assert lines[-1] == "Deploy: 1 created, 1 failed (1.2 s)."
