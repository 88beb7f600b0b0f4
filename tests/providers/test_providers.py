"""What every provider promises in every mode that is there, through one suite."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric.model.catalog import PROVIDERS, DeployUnit, ProviderFacts
from fabric.model.problems import ExitCode, FabricError
from fabric.model.records.record import Mode
from fabric.providers.cloud1.provider import Cloud1Lambda
from fabric.providers.command.deployer import Command
from fabric.providers.core.contract import (
    Deployed,
    Deployer,
    DeploymentAddress,
    FunctionOrder,
    Released,
)
from fabric.providers.core.deployer import GuardedDeployer
from fabric.providers.core.redaction import NOTHING_HIDDEN
from fabric.providers.registry import open_deployer
from fabric.providers.simulated import Simulated
from tests.support.orders import (
    CLOUD1,
    CRON,
    HTTP,
    address,
    around,
    context,
    open_real,
    order,
    recorder,
)

# Those that fabric deploys to by itself.
FUNCTIONS = (order("hello", HTTP), order("tick", CRON))


@dataclass(frozen=True)
class Spec:
    facts: ProviderFacts
    mode: Mode

    @property
    def id(self) -> str:
        return f"{self.facts.id}-{self.mode}"

    @property
    def address(self) -> DeploymentAddress:
        return address(self.facts.id, region="eu-1")

    def deployer(self, folder: Path) -> Deployer:
        tool = recorder(folder)
        lines = {
            self.facts.deploy_command_variable: tool.line("deploy"),
            self.facts.destroy_command_variable: tool.line("destroy"),
        }
        return open_deployer(context(self.facts.id, around(folder, lines)), self.mode)


SPECS = [Spec(facts, mode) for facts in PROVIDERS for mode in (Mode.SIMULATED, Mode.COMMAND)]
EACH = pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)


def deploy_all(deployer: Deployer, where: DeploymentAddress) -> Deployed:
    """The way a run does it: one by one, or all at once."""
    if deployer.unit is DeployUnit.SERVICE:
        return deployer.deploy(where, FUNCTIONS)
    parts = [deployer.deploy(where, (one,)) for one in FUNCTIONS]
    return Deployed(tuple(one for part in parts for one in part.functions))


def release(deployer: Deployer, where: DeploymentAddress) -> Released:
    deployed = deploy_all(deployer, where)
    return deployer.release(where, deployed.functions, deployed.outputs)


@EACH
def test_a_deploy_answers_for_exactly_the_functions_ordered(spec: Spec, tmp_path: Path) -> None:
    live = deploy_all(spec.deployer(tmp_path), spec.address).functions
    assert [one.name for one in live] == ["hello", "tick"]
    assert [one.resource_name for one in live] == ["shop-dev-hello", "shop-dev-tick"]
    assert all(one.resource_id and one.artifact_sha256 == "ab" * 32 for one in live)
    assert live[0].endpoint.endswith("/hello")
    assert not live[1].endpoint


@EACH
def test_deploying_twice_changes_nothing(spec: Spec, tmp_path: Path) -> None:
    deployer = spec.deployer(tmp_path)
    assert deploy_all(deployer, spec.address) == deploy_all(deployer, spec.address)


@EACH
def test_release_outputs_urls_of_the_service_and_its_functions(spec: Spec, tmp_path: Path) -> None:
    released = release(spec.deployer(tmp_path), spec.address)
    outputs = dict(released.outputs)
    assert released.endpoint == outputs["url"]
    assert released.endpoint.startswith("https://")
    assert outputs["region"] == "eu-1"
    assert outputs["url_hello"] == f"{released.endpoint}/hello"
    assert {"arn_hello", "arn_tick"} <= set(outputs)
    assert "url_tick" not in outputs


@EACH
def test_nothing_is_left_after_a_service_is_dissolved(spec: Spec, tmp_path: Path) -> None:
    deployer = spec.deployer(tmp_path)
    live = deploy_all(deployer, spec.address).functions
    for _ in range(2):  # what is gone already is no error
        deployer.dissolve(spec.address, live)
        assert not (tmp_path / "live").exists()
        assert all(deployer.find(spec.address, one.name) is None for one in live)


@EACH
def test_the_unit_is_the_catalogs_and_a_commands_the_service(spec: Spec, tmp_path: Path) -> None:
    expected = DeployUnit.SERVICE if spec.mode is Mode.COMMAND else spec.facts.unit
    assert spec.deployer(tmp_path).unit is expected


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda facts: facts.id)
def test_a_simulated_function_is_named_after_its_service_and_stage(facts: ProviderFacts) -> None:
    simulated = Simulated(facts.unit)
    (live,) = simulated.deploy(address(facts.id), (FUNCTIONS[0],)).functions
    endpoint = f"https://shop-dev.{facts.id}.fabric.example"
    assert live.resource_id == f"{facts.id}:local:function:shop-dev-hello"
    assert live.endpoint == f"{endpoint}/hello"
    released = simulated.release(address(facts.id), (live,), ())
    assert dict(released.outputs) == {
        "url": endpoint,
        "region": "local",
        "url_hello": live.endpoint,
        "arn_hello": live.resource_id,
    }
    simulated.destroy(address(facts.id), (live,))
    simulated.dissolve(address(facts.id), (live,))


def refused(act: Callable[[], object]) -> FabricError:
    with pytest.raises(FabricError) as caught:
        act()
    return caught.value


def test_a_simulated_release_forgets_the_url_of_a_function_without_its_trigger() -> None:
    simulated = Simulated(DeployUnit.FUNCTION)
    functions = simulated.deploy(address(), [order()]).functions
    given = (("url_hello", "https://old.test"), ("arn_gone", "old"), ("bucket", "files"))
    outputs = dict(simulated.release(address(), functions, given).outputs)
    assert outputs["bucket"] == "files"
    assert {"url_hello", "arn_gone"}.isdisjoint(outputs)


def test_real_cloud1_deploy_without_a_role_is_refused_first(tmp_path: Path) -> None:
    error = refused(lambda: open_real(CLOUD1.id, around(tmp_path)))
    assert [one.code for one in error.problems] == ["credentials/role-missing"]
    assert "FABRIC_CLOUD1_LAMBDA_ROLE_ARN" in error.first.hint
    assert error.exit_code is ExitCode.NO_CREDENTIALS


@pytest.mark.parametrize(
    ("env", "extension"),
    [({"FABRIC_CLOUD1_LAMBDA_ROLE_ARN": "arn:r"}, "{}"), ({}, '{"roleArn": "arn:r"}')],
)
def test_a_role_comes_from_the_environment_or_the_config(
    env: dict[str, str], extension: str, tmp_path: Path
) -> None:
    deployer = open_real(CLOUD1.id, around(tmp_path, env), extension)
    assert isinstance(deployer, Cloud1Lambda)
    assert deployer.own.role_arn == "arn:r"


def test_a_provider_of_another_version_is_named(tmp_path: Path) -> None:
    error = refused(lambda: open_deployer(context("cloud9", around(tmp_path)), Mode.SIMULATED))
    assert "cloud9" in error.first.message


def test_a_command_may_only_deploy_or_only_destroy(tmp_path: Path) -> None:
    nothing = Command(CLOUD1, "", " ", around(tmp_path))
    function: FunctionOrder = FUNCTIONS[0]
    error = refused(lambda: nothing.deploy(address(), (function,)))
    assert error.first.code == "deploy/no-deployer"
    error = refused(lambda: nothing.dissolve(address(), ()))
    assert error.first.code == "remove/no-destroy-command"
    assert "FABRIC_CLOUD1_DESTROY_CMD" in error.first.hint


def test_a_deployer_that_lacks_a_part_cannot_be_made() -> None:
    class Half(GuardedDeployer[int], frozen=True):
        unit = DeployUnit.FUNCTION

    with pytest.raises(TypeError, match="'_open_work', 'unfit'"):
        Half(hide=NOTHING_HIDDEN)  # type: ignore[abstract, call-arg]
