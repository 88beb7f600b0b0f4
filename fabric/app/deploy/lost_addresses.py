"""Keep the upstream addresses of deployed functions when a compose file is ignored."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from fabric.app.deploy.scope import DeployScope
from fabric.app.project.compiled import Compiled
from fabric.app.project.compose_files import NOT_OURS
from fabric.model.problems import Problem
from fabric.model.task_inputs import DeployInputs
from fabric.tasks.deploy import get_record_ref

_OF_UPSTREAMS = re.compile(r"SERVICE_\w+_URL|FABRIC_OUTPUT_\w+_ENDPOINT")


def find_lost_addresses(work: Compiled, scope: DeployScope) -> Iterator[Problem]:
    """Find variables that functions would lose only because a compose file is ignored."""
    passed_over = next((one for one in work.info.warnings if one.code == NOT_OURS), None)
    if passed_over is None:
        return
    for inputs in work.graph.inputs_of("deploy"):
        names = (
            sorted(_list_lost_variables(inputs, scope)) if isinstance(inputs, DeployInputs) else []
        )
        if names:
            message = f"`{inputs.service}` would lose {', '.join(names)}: {passed_over.message}"
            yield replace(passed_over, message=message, service=inputs.service)


def _list_lost_variables(inputs: DeployInputs, scope: DeployScope) -> Iterator[str]:
    record = scope.record(get_record_ref(inputs))
    for name, _, env in inputs.functions:
        live = record.function(name) if record else None
        wanted = {variable for variable, _ in env}
        for variable, _ in live.environment if live else ():
            if variable not in wanted and _OF_UPSTREAMS.fullmatch(variable):
                yield variable
