"""Step Functions state machines: their versions, their roles and their deletion."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.late_values import find_late_names, format_placeholder
from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.core.client import GONE, ignore_codes, is_role_too_new
from fabric.providers.cloud1.core.ownership import refuse_other_account, refuse_other_region
from fabric.providers.cloud1.core.permissions import Arn
from fabric.providers.cloud1.core.policies import RolePolicies, build_managed_arn, build_statements
from fabric.providers.cloud1.core.versions import (
    ALIAS,
    Cloud1Work,
    build_ownership_tags,
    format_mark,
    mark_in,
)
from fabric.providers.cloud1.functions.log_groups import create_log_group
from fabric.providers.cloud1.functions.roles import (
    OwnRole,
    RoleUse,
    find_place,
    grow_role,
    open_role,
)
from fabric.providers.core.contract import DeployedWorkflow, DeploymentAddress, WorkflowOrder
from fabric.providers.core.own_arns import fill_own_arns
from fabric.providers.core.payloads import format_json
from fabric.providers.core.retry import poll_until
from fabric.system.cloud1_account import read_error_code

MISSING_MACHINE = GONE | {"StateMachineDoesNotExist", "ResourceNotFound"}
_TAG = "fabric:workflow"
_DELETING = "StateMachineDeleting"
# The dot separates the name from those of functions.
_MACHINE_ROLE = RoleUse(".workflow-role", "workflow", ("states.amazonaws.com",))
_LOG_ACTIONS = (
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery"),
    *("logs:DeleteLogDelivery", "logs:ListLogDeliveries", "logs:PutResourcePolicy"),
    *("logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
)


class Machine(Struct, frozen=True):
    """A state machine of the service. Its ARN follows from the place and its name."""

    work: Cloud1Work
    address: DeploymentAddress
    name: str

    @property
    def place(self) -> Arn:
        return find_place(self.work, self.address)

    @property
    def alias_arn(self) -> str:
        return self.fill(format_placeholder(f"workflow:{self.name}.arn"))

    @property
    def arn(self) -> str:
        return self.alias_arn.removesuffix(f":{ALIAS}")

    @property
    def log_group(self) -> str:
        return f"/aws/vendedlogs/states/{self.arn.rpartition(':')[2]}"

    @property
    def role(self) -> OwnRole:
        return OwnRole(self.work, self.address, self.name, _MACHINE_ROLE)

    @property
    def states(self) -> Any:
        return self.work.clients.of("stepfunctions")

    def fill(self, text: str) -> str:
        """Fill the ARNs of the service, if a text has any."""
        if not find_late_names(text):
            return text
        return fill_own_arns(text, self.address, self.place.of)


def has_machine_role(settings: Mapping[str, str]) -> bool:
    """Return whether fabric creates the role of the state machine: unless one is set."""
    return "role" not in settings


def build_machine_policies(machine: Machine, settings: Mapping[str, str]) -> RolePolicies:
    """Build the policies of the role, also for calls of the definition, logs and traces."""
    entries = json.loads(settings.get("resolved") or settings.get("permissions") or "[]")
    entries = entries if isinstance(entries, list) else []
    statements = [one for entry in entries for one in build_statements(entry, machine.place)]
    statements += _build_call_statements(machine, settings.get("calls", ""))
    if "logs" in settings:
        statements.append({"Effect": "Allow", "Action": list(_LOG_ACTIONS), "Resource": ["*"]})
    managed = [build_managed_arn(one, machine.place) for one in entries if isinstance(one, str)]
    if settings.get("tracing") == "active":
        managed.append(build_managed_arn("AWSXRayDaemonWriteAccess", machine.place))
    texts = (format_json(one) for one in statements)
    return RolePolicies(tuple(dict.fromkeys(texts)), tuple(dict.fromkeys(managed)))


def _build_call_statements(machine: Machine, calls: str) -> Iterator[dict[str, object]]:
    """Build the statements for functions and workflows that the definition names. A name without
    an alias calls the function or the workflow itself."""
    allowed: dict[str, list[str]] = {}
    for one in calls.split():
        owner, _, key = one.rpartition(".")
        arn = machine.fill(format_placeholder(f"{owner}.arn"))
        is_function = owner.startswith("function:")
        resources = [arn] if is_function and key == "arn" else [arn, arn.removesuffix(f":{ALIAS}")]
        action = "lambda:InvokeFunction" if is_function else "states:StartExecution"
        allowed.setdefault(action, []).extend(resources)
    for action, arns in sorted(allowed.items()):
        yield {"Effect": "Allow", "Action": [action], "Resource": list(dict.fromkeys(arns))}


def deploy_machine(
    work: Cloud1Work, address: DeploymentAddress, order: WorkflowOrder
) -> DeployedWorkflow:
    """Create or update the state machine, and publish a version without traffic."""
    refuse_other_region(work, address)
    machine = Machine(work, address, order.name)
    settings = dict(order.settings)
    role = _require_arn(order.name, settings) or _prepare_role(machine, settings)
    if order.version:
        return DeployedWorkflow(machine.arn, order.version)
    asked = {
        "definition": machine.fill(order.definition),
        "roleArn": role,
        "loggingConfiguration": _prepare_logs(machine, settings),
        "tracingConfiguration": {"enabled": settings.get("tracing") == "active"},
        "publish": True,
        "versionDescription": format_mark(order.mark),
    }
    is_there = check_owner(machine)
    if not is_there:
        refuse_other_account(work, address)
    version = _find_newest(machine, order.mark) if is_there else ""
    version = version or _publish(machine, settings.get("type", "standard"), asked, is_there)
    work.scope.watch.hear(f"{order.name}: version {version.rpartition(':')[2]} is ready")
    return DeployedWorkflow(machine.arn, version)


def _require_arn(workflow: str, settings: Mapping[str, str]) -> str:
    """Return the set role. An output of a stack is known only now."""
    role = settings.get("role", "")
    if role and not role.startswith("arn:"):
        message = f"`role` of the workflow `{workflow}` is `{role}`, not an ARN"
        raise FabricError(
            Problem("config/unfit", message, "use an output with the ARN of the role")
        )
    return role


def _prepare_role(machine: Machine, settings: Mapping[str, str]) -> str:
    """Return the ARN of the own role, with at least the permissions of this order."""
    there = open_role(machine.role)
    grow_role(machine.role, build_machine_policies(machine, settings), there)
    return there.arn


def _prepare_logs(machine: Machine, settings: Mapping[str, str]) -> dict[str, object]:
    """Create the log group of the executions, and return the settings of the logs. The release sets
    the retention, which no version contains."""
    if "logs" not in settings:
        return {"level": "OFF"}
    said = json.loads(settings["logs"])
    create_log_group(machine.work, machine.log_group)
    arn = machine.place.of("logs", f"log-group:{machine.log_group}:*")
    return {
        "level": said.get("level", "ERROR"),
        "includeExecutionData": said.get("includeExecutionData", False),
        "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": arn}}],
    }


def check_owner(machine: Machine) -> bool:
    """Return whether the state machine exists. Raises if it belongs to another owner."""
    tags = read_machine_tags(machine)
    if tags is None or is_own_machine(machine, tags):
        return tags is not None
    # Servers other than AWS return no tags for what does not exist.
    if not tags and not _exists(machine):
        return False
    message = (
        f"the state machine `{machine.arn.rpartition(':')[2]}` already exists at AWS and does not "
        f"belong to the workflow `{machine.name}`"
    )
    hint = "delete it manually, or rename your workflow; it was not changed"
    raise FabricError(Problem("deploy/foreign", message, hint))


def _exists(machine: Machine) -> bool:
    found: list[object] = []
    with ignore_codes(MISSING_MACHINE):
        found += [machine.states.describe_state_machine(stateMachineArn=machine.arn)]
    return bool(found)


def is_own_machine(machine: Machine, tags: Mapping[str, str]) -> bool:
    return all(tags.get(name) == text for name, text in _build_tags(machine).items())


def _build_tags(machine: Machine) -> dict[str, str]:
    return {**build_ownership_tags(machine.address), _TAG: machine.name}


def read_machine_tags(machine: Machine) -> dict[str, str] | None:
    """Read the tags; None if the state machine does not exist."""
    found: list[dict[str, str]] = []
    with ignore_codes(MISSING_MACHINE):
        answer = machine.states.list_tags_for_resource(resourceArn=machine.arn)
        found = [{one["key"]: one["value"] for one in answer["tags"]}]
    return found[0] if found else None


def _publish(machine: Machine, kind: str, asked: Mapping[str, Any], is_there: bool) -> str:  # noqa: FBT001
    """Update or create the state machine, and return the ARN of its new version. Repeated while its
    role is too new, or an earlier state machine is being deleted."""
    from botocore.exceptions import ClientError

    states, refused = machine.states, list[ClientError]()
    tags = [{"key": name, "value": text} for name, text in _build_tags(machine).items()]
    own = {"name": machine.arn.rpartition(":")[2], "type": kind.upper(), "tags": tags}

    def call() -> Mapping[str, Any]:
        answers: list[Mapping[str, Any]] = []
        with ignore_codes(MISSING_MACHINE):
            if is_there:
                answers += [states.update_state_machine(stateMachineArn=machine.arn, **asked)]
        return answers[0] if answers else states.create_state_machine(**own, **asked)

    def call_once() -> Mapping[str, Any] | None:
        try:
            return call()
        except ClientError as error:
            refused.append(error)
            if read_error_code(error) != _DELETING and not is_role_too_new(error):
                raise
            return None

    answer = poll_until(call_once, machine.work.scope.waiting, machine.work.scope.watch)
    if answer is not None:
        return str(answer["stateMachineVersionArn"])
    if read_error_code(refused[-1]) == _DELETING:
        message = f"the previous state machine of workflow `{machine.name}` is still being deleted"
        hint = "wait until its executions have ended, or stop them, then deploy again"
        raise FabricError(Problem("provider/not-ready", message, hint)) from refused[-1]
    raise refused[-1]


def list_version_arns(machine: Machine) -> Iterator[str]:
    """List the versions, newest first."""
    more: dict[str, str] = {}
    while True:
        answer = machine.states.list_state_machine_versions(stateMachineArn=machine.arn, **more)
        yield from (str(one["stateMachineVersionArn"]) for one in answer["stateMachineVersions"])
        if not answer.get("nextToken"):
            return
        more = {"nextToken": answer["nextToken"]}


def _find_newest(machine: Machine, mark: str) -> str:
    """Return the newest version if it has this mark: a call whose response was lost made it."""
    newest, mark_there = "", ""
    with ignore_codes(MISSING_MACHINE):  # it is being deleted
        newest = next(list_version_arns(machine), "")
        found = machine.states.describe_state_machine(stateMachineArn=newest) if newest else {}
        mark_there = mark_in(found.get("description"))
    return newest if mark_there == mark else ""
