"""Find deploys of single functions where one version contains all functions."""

from collections.abc import Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.app.project.compiled import Compiled
from fabric.graph.judge import dropped_functions
from fabric.model.catalog import DeployUnit, facts_of, titled
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.task_inputs import DeployInputs

_CODE = "deploy/whole-service"


def parts_of_wholes(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    for inputs in work.graph.inputs_of("deploy"):
        if isinstance(inputs, DeployInputs) and inputs.mode == Mode.REAL:
            facts = facts_of(dict(inputs.place)["provider-id"])
            if facts is not None and facts.is_one_version and inputs.others:
                yield _without_others(inputs).of(inputs.service)
            elif facts is not None and facts.unit is DeployUnit.SERVICE and work.is_part:
                yield from (one.of(inputs.service) for one in _would_drop(inputs, scope))


def _without_others(inputs: DeployInputs) -> Problem:
    message = (
        f"cannot deploy only {_named(inputs)} of `{inputs.service}`: {titled(inputs.provider)} "
        "deploys all functions of a service together"
    )
    hint = "omit --function: unchanged functions are not uploaded again"
    return Problem(_CODE, message, hint)


def _would_drop(inputs: DeployInputs, scope: DeployScope) -> Iterator[Problem]:
    """Find functions that this deploy would delete although only others were named."""
    record = scope.record(RecordRef(inputs.service, inputs.stage, inputs.provider))
    dropped = dropped_functions(record, inputs) if record else ()
    if dropped:
        names = ", ".join(f"`{name}`" for name in dropped)
        message = (
            f"refusing to deploy {_named(inputs)}: this would also delete {names}, no longer in "
            f"the config of `{inputs.service}`"
        )
        yield Problem(_CODE, message, "omit --function to deploy all configured functions")


def _named(inputs: DeployInputs) -> str:
    return ", ".join(f"`{one[0]}`" for one in inputs.functions)
