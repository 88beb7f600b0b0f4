"""What people read after a deploy: what moved, and what is as it was before."""

from fabric.model.outcomes.deployed import DeployOutcome, ServiceEnd, TaskCounts
from fabric.views.deploy_text import deploy_text
from fabric.views.style import Style
from tests.support.outcomes import service_end


def told(*rows: ServiceEnd) -> list[str]:
    summary = TaskCounts(ran=2, skipped=0, failed=1, blocked=0, ms=1200)
    outcome = DeployOutcome("dev", rolled_back=False, deployments=rows, levels=(), summary=summary)
    return deploy_text(outcome, Style()).splitlines()


def test_rolled_back_service_is_not_reported_as_created() -> None:
    lines = told(
        service_end("web", "failed", "failed"), service_end("api", "rolled-back", "cancelled")
    )
    assert lines == [
        "web on cloud1-lambda (command): failed",
        "  \u2717 main",
        "api on cloud1-lambda (command): rolled-back",
        "Deploy failed: 1 failed, 1 service rolled back (1.2 s).",
    ]


def test_summary_without_rollback_does_not_mention_one() -> None:
    lines = told(service_end("web", "failed", "failed"), service_end("api", "deployed", "created"))
    assert lines[-1] == "Deploy failed: 1 created, 1 failed (1.2 s)."


def test_a_deploy_without_changed_functions_tells_how_many_tasks_ran() -> None:
    summary = TaskCounts(ran=2, skipped=0, failed=0, blocked=0, ms=1200)
    rows = (service_end("web", "deployed", "unchanged"),)
    outcome = DeployOutcome("dev", rolled_back=False, deployments=rows, levels=(), summary=summary)
    last = deploy_text(outcome, Style()).splitlines()[-1]
    assert last == "Deploy complete: 1 function unchanged, 2 tasks run (1.2 s)."


def test_a_failure_outside_the_functions_is_no_complete_deploy() -> None:
    for end, counts in (("updated", "1 updated"), ("unchanged", "1 function unchanged, 2 tasks")):
        lines = told(service_end("web", "failed", end))
        assert lines[-1].startswith(f"Deploy failed: {counts}")
