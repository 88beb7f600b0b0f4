"""Outcomes of commands, as short to write as they are to read."""

from fabric.model.outcomes.deployed import DeployOutcome, FunctionEnd, ServiceEnd, TaskCounts
from fabric.model.outcomes.planned import (
    PlannedFunction,
    PlannedService,
    PlannedTask,
    PlanOutcome,
    PlanSummary,
)

NOTHING_RAN = TaskCounts(ran=0, skipped=0, failed=0, blocked=0, ms=0)


def service_end(service: str, status: str, function: str, endpoint: str = "") -> ServiceEnd:
    functions = (FunctionEnd("main", function, "", 0),)
    return ServiceEnd(
        service, "cloud1-lambda", "command", "", endpoint, {}, status, None, functions
    )


def deploy_outcome(*services: ServiceEnd, counts: TaskCounts = NOTHING_RAN) -> DeployOutcome:
    return DeployOutcome("dev", rolled_back=False, deployments=services, levels=(), summary=counts)


def planned_service(service: str, change: str = "create") -> PlannedService:
    function = PlannedFunction(
        "main", ({"type": "http", "method": "GET", "path": "/"},), (), change
    )
    return PlannedService(service, "cloud1-lambda", "simulated", (function,))


def planned_task(service: str, action: str) -> PlannedTask:
    kind = f"build:{service}/main"
    return PlannedTask(kind, "build", service, "main", "", 0, (), action, "because", 3, None)


def plan_outcome(services: tuple[PlannedService, ...], *tasks: PlannedTask) -> PlanOutcome:
    changes = [one.change for service in services for one in service.functions]
    summary = PlanSummary(
        create=changes.count("create"),
        update=changes.count("update"),
        delete=changes.count("delete"),
        unchanged=changes.count("none"),
        tasks=len(tasks),
        run=sum(one.action == "run" for one in tasks),
        skip=sum(one.action == "skip" for one in tasks),
        wait=sum(one.action == "wait" for one in tasks),
    )
    return PlanOutcome("dev", "simulated", services, tasks, (), summary)
