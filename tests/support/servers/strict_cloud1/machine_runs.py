"""Executions of state machines: the states of JSONPath, with the functions called for real."""

import json
import re
import uuid
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.invocations import Called
from tests.support.servers.strict_cloud1.machine_calls import there
from tests.support.servers.strict_cloud1.machines import (
    Execution,
    Machine,
    now,
    refusal,
)
from tests.support.servers.strict_cloud1.refusals import RefusalError, not_written
from tests.support.servers.strict_cloud1.role_access import is_allowed

CallFunction = Callable[[Region, str, object], Called]
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']+)'\]")
_MOST_STEPS = 1000


class StateError(Exception):
    """An error that a state ends with, for its retriers and catchers."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(cause)
        self.name, self.cause = name, cause


def begin(region: Region, asked: Fields) -> tuple[Machine, Fields, Execution]:
    """An execution that has not run yet."""
    arn = asked["stateMachineArn"]
    machine = there(region, arn)
    version = machine.qualified(arn)
    if version is None or machine.leaving is not None:
        raise refusal("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")
    try:
        given = json.loads(asked.get("input") or "{}")
    except ValueError:
        raise refusal("InvalidExecutionInput", "Invalid State Machine Execution Input") from None
    name = asked.get("name") or str(uuid.uuid4())
    own = f"{machine.arn.replace(':stateMachine:', ':execution:')}:{name}"
    execution = Execution(own, name, given)
    machine.executions[own] = execution
    return machine, version, execution


def finish(region: Region, version: Fields, execution: Execution, call: CallFunction) -> None:
    try:
        run = _Run(region, version["roleArn"], execution, call)
        output = run.machine(json.loads(version["definition"]), execution.input)
    except StateError as error:
        execution.error, execution.cause = error.name, error.cause
        execution.status = "FAILED"
        return
    execution.output = json.dumps(output)
    execution.status = "SUCCEEDED"


def sync_answer(machine: Machine, execution: Execution) -> Fields:
    texts = {"output": execution.output, "error": execution.error, "cause": execution.cause}
    return {
        "executionArn": execution.arn,
        "stateMachineArn": machine.arn,
        "startDate": now(),
        "stopDate": now(),
        "status": execution.status,
        **{name: text for name, text in texts.items() if text},
    }


class _Run:
    def __init__(self, region: Region, role: str, execution: Execution, call: CallFunction) -> None:
        self._region, self._role, self._call = region, role, call
        self._context = {"Execution": {"Id": execution.arn, "Input": execution.input}}

    def machine(self, machine: Fields, given: Any) -> Any:
        name, value = machine["StartAt"], given
        for _ in range(_MOST_STEPS):
            state = machine["States"][name]
            value, name = self._state(state, value)
            if not name:
                return value
        raise StateError("States.Runtime", "the execution has too many events")

    def _state(self, state: Fields, given: Any) -> tuple[Any, str]:
        if state.get("QueryLanguage") == "JSONata":
            raise StateError("States.Runtime", "this server runs JSONPath only")
        attempts = {id(one): one.get("MaxAttempts", 3) for one in state.get("Retry", [])}
        while True:
            try:
                return self._attempt(state, given)
            except StateError as error:
                retrier = _handler(state.get("Retry", []), error)
                if retrier and attempts[id(retrier)] > 0:
                    attempts[id(retrier)] -= 1
                    continue
                catcher = _handler(state.get("Catch", []), error)
                if catcher is None:
                    raise
                said = {"Error": error.name, "Cause": error.cause}
                return _put(given, catcher.get("ResultPath", "$"), said), catcher["Next"]

    def _attempt(self, state: Fields, raw: Any) -> tuple[Any, str]:
        given = self._at(state.get("InputPath", "$"), raw)
        kind = state["Type"]
        if kind == "Fail":
            raise StateError(state.get("Error", ""), state.get("Cause", ""))
        if kind == "Choice":
            return self._at(state.get("OutputPath", "$"), given), self._chosen(state, given)
        if "Parameters" in state and kind != "Map":
            given = self._template(state["Parameters"], given)
        result = self._result(state, given)
        if "ResultSelector" in state:
            result = self._template(state["ResultSelector"], result)
        value = _put(raw, state.get("ResultPath", "$"), result)
        following = "" if kind == "Succeed" else state.get("Next", "")
        return self._at(state.get("OutputPath", "$"), value), following

    def _result(self, state: Fields, given: Any) -> Any:
        match state["Type"]:
            case "Pass":
                return state.get("Result", given)
            case "Task":
                return self._task(state["Resource"], given)
            case "Parallel":
                return [self.machine(one, given) for one in state["Branches"]]
            case "Map":
                return self._map(state, given)
            case "Wait" if state.get("Seconds", 0) != 0:
                raise StateError("States.Runtime", "this server does not wait")
        return given

    def _map(self, state: Fields, given: Any) -> list[Any]:
        inner = state.get("ItemProcessor") or state["Iterator"]
        selector = state.get("ItemSelector", state.get("Parameters"))
        found = []
        for number, item in enumerate(self._at(state.get("ItemsPath", "$"), given)):
            self._context["Map"] = {"Item": {"Index": number, "Value": item}}
            value = item if selector is None else self._template(selector, given)
            found.append(self.machine(inner, value))
        return found

    def _task(self, resource: str, given: Any) -> Any:
        if resource.startswith("arn:aws:states:::lambda:invoke"):
            called = self._function(given["FunctionName"], given.get("Payload", {}))
            return {"Payload": called, "StatusCode": 200}
        if ":lambda:" in resource:
            return self._function(resource, given)
        raise StateError("States.Runtime", f"this server does not run {resource}")

    def _function(self, arn: str, event: Any) -> Any:
        if not is_allowed(self._region, self._role, "lambda:InvokeFunction", arn):
            why = f"{self._role} is not authorized to perform: lambda:InvokeFunction on {arn}"
            raise StateError("Lambda.AWSLambdaException", why)
        try:
            called = self._call(self._region, arn, event)
        except RefusalError as error:
            raise StateError(f"Lambda.{error.code}", str(error)) from error
        if called.error:
            said: Any = called.result
            raise StateError(said.get("errorType", "Error"), called.body.decode())
        return called.result

    def _chosen(self, state: Fields, given: Any) -> str:
        for one in state["Choices"]:
            if self._holds(one, given):
                return str(one["Next"])
        if "Default" in state:
            return str(state["Default"])
        raise StateError("States.NoChoiceMatched", "no choice matched")

    def _holds(self, rule: Fields, given: Any) -> bool:
        if "And" in rule or "Or" in rule:
            found = [self._holds(one, given) for one in rule.get("And", rule.get("Or"))]
            return all(found) if "And" in rule else any(found)
        if "Not" in rule:
            return not self._holds(rule["Not"], given)
        [operator] = set(rule) - {"Variable", "Next", "Comment"}
        try:
            value = self._at(rule["Variable"], given)
        except StateError:
            return operator == "IsPresent" and not rule[operator]
        if operator not in _COMPARISONS:
            raise not_written(operator)
        return bool(_COMPARISONS[operator](value, rule[operator]))

    def _template(self, node: Any, given: Any) -> Any:
        if isinstance(node, list):
            return [self._template(one, given) for one in node]
        if not isinstance(node, dict):
            return node
        return {
            key.removesuffix(".$"): self._at(value, given)
            if key.endswith(".$")
            else self._template(value, given)
            for key, value in node.items()
        }

    def _at(self, path: Any, given: Any) -> Any:
        if path is None:
            return {}
        root, rest = (self._context, path[2:]) if path.startswith("$$") else (given, path[1:])
        for step in _STEP.finditer(rest):
            key: Any = int(step[2]) if step[2] else step[1] or step[3]
            try:
                root = root[key]
            except (KeyError, IndexError, TypeError):
                raise StateError("States.ParameterPathFailure", f"no {path}") from None
        return root


def _handler(handlers: list[Fields], error: StateError) -> Fields | None:
    for one in handlers:
        names = one["ErrorEquals"]
        if error.name in names or "States.ALL" in names or "States.TaskFailed" in names:
            return one
    return None


def _put(given: Any, path: str | None, result: Any) -> Any:
    if path is None:
        return given
    if path == "$":
        return result
    copy = json.loads(json.dumps(given if isinstance(given, dict) else {}))
    *steps, last = [one[1] or one[3] for one in _STEP.finditer(path[1:])]
    node = copy
    for step in steps:
        node = node.setdefault(step, {})
    node[last] = result
    return copy


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "StringEquals": lambda one, other: one == other,
    "BooleanEquals": lambda one, other: one is other,
    "NumericEquals": lambda one, other: one == other,
    "NumericLessThan": lambda one, other: one < other,
    "NumericLessThanEquals": lambda one, other: one <= other,
    "NumericGreaterThan": lambda one, other: one > other,
    "NumericGreaterThanEquals": lambda one, other: one >= other,
    "StringMatches": fnmatchcase,
    "IsPresent": lambda _, other: other,
    "IsNull": lambda one, other: (one is None) is other,
}
