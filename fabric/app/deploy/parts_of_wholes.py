"""Deploys of some functions where one version has all of them: told before any change."""

from collections.abc import Iterator

from fabric.app.project.compiled import Compiled
from fabric.model.catalog import facts_of
from fabric.model.problems import Problem
from fabric.model.records.record import Mode
from fabric.model.task_inputs import DeployInputs


def parts_of_wholes(work: Compiled) -> Iterator[Problem]:
    for inputs in work.graph.inputs_of("deploy"):
        if isinstance(inputs, DeployInputs) and inputs.others and _is_whole(inputs):
            names = ", ".join(f"`{one[0]}`" for one in inputs.functions)
            yield Problem(
                "deploy/whole-service",
                f"`{inputs.service}` is one version as a whole at `{inputs.provider}`: {names} "
                "cannot be deployed without its other functions",
                hint="leave `--function` out: what has not changed is not uploaded again",
            )


def _is_whole(inputs: DeployInputs) -> bool:
    facts = facts_of(dict(inputs.place)["provider-id"])
    return inputs.mode == Mode.REAL and facts is not None and facts.is_one_version
