"""Find deploys of single functions where one version contains all functions."""

from collections.abc import Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.app.project.compiled import Compiled
from fabric.graph.judge import find_dropped_functions
from fabric.model.catalog import DeployUnit, find_provider_facts, format_provider_title
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.task_inputs import DeployInputs

_CODE = "deploy/whole-service"


def find_partial_deploys(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    for inputs in work.graph.inputs_of("deploy"):
        if isinstance(inputs, DeployInputs) and inputs.mode == Mode.REAL:
            facts = find_provider_facts(dict(inputs.place)["provider-id"])
            if facts is not None and facts.is_one_version and inputs.others:
                yield _partial_deploy_problem(inputs).of(inputs.service)
            elif facts is not None and facts.unit is DeployUnit.SERVICE and work.is_part:
                yield from (
                    one.of(inputs.service) for one in _find_dropped_functions(inputs, scope)
                )


def _partial_deploy_problem(inputs: DeployInputs) -> Problem:
    message = (
        f"cannot deploy only {_format_function_names(inputs)} of `{inputs.service}`: "
        f"{format_provider_title(inputs.provider)} deploys all functions of a service together"
    )
    hint = "omit --function: unchanged functions are not uploaded again"
    return Problem(_CODE, message, hint)


def _find_dropped_functions(inputs: DeployInputs, scope: DeployScope) -> Iterator[Problem]:
    """Find functions that this deploy would delete although only others were named."""
    record = scope.record(RecordRef(inputs.service, inputs.stage, inputs.provider))
    dropped = find_dropped_functions(record, inputs) if record else ()
    if dropped:
        names = ", ".join(f"`{name}`" for name in dropped)
        message = (
            f"refusing to deploy {_format_function_names(inputs)}: this would also delete "
            f"{names}, no longer in the config of `{inputs.service}`"
        )
        yield Problem(_CODE, message, "omit --function to deploy all configured functions")


def _format_function_names(inputs: DeployInputs) -> str:
    return ", ".join(f"`{one[0]}`" for one in inputs.functions)
