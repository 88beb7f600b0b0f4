"""The calls of checks: a packaged function on this machine, with the variables of its stage."""

import tempfile
from pathlib import Path

from msgspec.structs import replace

from fabric.app.invoking.function_clients import build_simulated_caller
from fabric.app.invoking.installed_packages import find_installed_packages
from fabric.app.invoking.layer_folders import LayerArchive, unpack_layers
from fabric.app.records.scope import DeployScope
from fabric.graph.service_unit import ServiceUnit
from fabric.model.calls.host_facts import find_host_facts
from fabric.model.late_values import fill_placeholders
from fabric.model.problems import FabricError
from fabric.model.records.record import RecordRef
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.secret_pins import has_unread_values
from fabric.model.task_inputs import CheckInputs
from fabric.providers.core.redaction import build_redaction
from fabric.runtimes.invoke import Invocation, invoke
from fabric.tasks.check import CheckAnswer, CheckedFunction


class CheckCalls:
    def __init__(self, scope: DeployScope, workspace: Path) -> None:
        self._scope = scope
        self._workspace = workspace

    def __call__(self, inputs: CheckInputs, function: CheckedFunction, event: str) -> CheckAnswer:
        unit = self._scope.work.units.get(RecordRef(inputs.service, inputs.stage, inputs.provider))
        if unit is None:
            raise TypeError(f"no config has the service {inputs.service}")
        with tempfile.TemporaryDirectory(prefix="fabric-check-") as folder:
            call = self._build_call(unit, inputs, function, Path(folder))
            secrets = self._read_secrets(unit, inputs).reveal().values()
            hidden = {*unit.config.document.secret_values.reveal(), *secrets}
            hide = build_redaction(frozenset(hidden), call.env.reveal()).over
            try:
                answer = invoke(replace(call, event=event), self._scope.settings.env)
            except FabricError as error:
                return CheckAnswer(hide, failure=error.first.message)
        return CheckAnswer(hide, answer.response)

    def _build_call(
        self, unit: ServiceUnit, inputs: CheckInputs, function: CheckedFunction, folder: Path
    ) -> Invocation:
        """Build the call. Variables whose values are known only after a deploy are not set."""
        config = unit.config
        own = next(one for one in config.functions if one.name == inputs.function)
        runtime = dict(inputs.settings)["runtime"]
        secrets = self._read_secrets(unit, inputs).reveal()
        env = tuple(
            (name, fill_placeholders(value, secrets))
            for name, value in own.env
            if not has_unread_values(value)
        )
        installed = find_installed_packages(self._workspace, unit, runtime)
        layers = [_write_layer(folder, *one) for one in function.layers]
        facts = find_host_facts(config.provider.id)
        return Invocation(
            function=inputs.function,
            archive=function.archive,
            handler=function.handler,
            runtime=runtime,
            env=Secret(env),
            timeout=float(own.capacity.timeout or facts.timeout),
            installed=replace(installed, opt=unpack_layers(layers, folder / "opt")),
            caller=build_simulated_caller(config, own),
        )

    def _read_secrets(self, unit: ServiceUnit, inputs: CheckInputs) -> Secret[dict[str, str]]:
        own = next(one for one in unit.config.functions if one.name == inputs.function)
        ref = RecordRef(inputs.service, inputs.stage, inputs.provider)
        return self._scope.values.secrets(ref, tuple(value for _, value in own.env))


def _write_layer(folder: Path, sha256: str, content: bytes) -> LayerArchive:
    path = folder / f"{sha256}.zip"
    path.write_bytes(content)
    return LayerArchive("layer", sha256, path)
