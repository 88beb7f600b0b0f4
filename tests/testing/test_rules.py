"""The rules for providers hold for the example, and each one fails for a deployer that breaks
it."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.model.secrets.secret import NO_PAIRS
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionOrder,
    LiveFunction,
    Released,
)
from fabric.testing import rules
from fabric.testing.rules import RULES, BrokenRuleError, Rule
from tests.support.example_provider import AcmeFunctions, AcmeSite, RejectedError, service_of


def name_of(rule: Rule) -> str:
    return getattr(rule, "__name__", "")


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_the_example_keeps_every_rule(rule: Rule, tmp_path: Path) -> None:
    rule(AcmeSite(tmp_path))


class ReleasesNothing(AcmeFunctions, frozen=True):
    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        return Released("https://shop-dev.acme.test")


class SwitchesAtOnce(AcmeFunctions, frozen=True):
    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        deployed = super().deploy(address, functions)
        live = json.loads(self.cloud.read(f"{service_of(address)}/live") or "{}")
        live |= {one.name: {"mark": one.mark, "on": one.triggers} for one in functions}
        self.cloud.write(f"{service_of(address)}/live", json.dumps(live, sort_keys=True))
        return deployed


class NamesNoArchive(AcmeFunctions, frozen=True):
    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        found = super().deploy(address, functions).functions
        return Deployed(tuple(replace(one, artifact_sha256="") for one in found))


class KeepsTheFirstVersion(AcmeFunctions, frozen=True):
    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        return super().deploy(address, [replace(one, mark="only") for one in functions])


class IgnoresTheEnvironment(AcmeFunctions, frozen=True):
    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        return super().deploy(address, [replace(one, env=NO_PAIRS) for one in functions])


class WritesAgain(AcmeFunctions, frozen=True):
    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        released = super().release(address, functions, given)
        key = f"{service_of(address)}/live"
        self.cloud.write(key, self.cloud.read(key))
        return released


class AddsRoutes(AcmeFunctions, frozen=True):
    """It never removes a route or a function from those that receive traffic."""

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        old = json.loads(self.cloud.read(f"{service_of(address)}/live") or "{}")
        rows = {one.name: one for one in functions}
        for name, row in old.items():
            one = rows.get(name) or LiveFunction(name, name, row["mark"])
            rows[name] = replace(one, triggers=tuple(dict.fromkeys((*one.triggers, *row["on"]))))
        return super().release(address, list(rows.values()), given)


class FindsWithoutAMark(AcmeFunctions, frozen=True):
    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        return super().find(address, function)


class DissolvesNothing(AcmeFunctions, frozen=True):
    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        pass


class DissolvesEverything(AcmeFunctions, frozen=True):
    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        self.cloud.delete("")


class MissesFunctions(AcmeFunctions, frozen=True):
    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        if not self.find(address, functions[0].name):
            raise FabricError(Problem("deploy/refused", "not found"))
        super().destroy(address, functions)


class HidesRejections(AcmeFunctions, frozen=True):
    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        try:
            return super().deploy(address, functions)
        except (RejectedError, FabricError):
            return super().deploy(address, functions)


BREAKS: Mapping[Callable[..., AcmeFunctions], Rule] = {
    ReleasesNothing: rules.check_service_is_served_after_release,
    SwitchesAtOnce: rules.check_deploy_switches_no_traffic,
    NamesNoArchive: rules.check_deploy_returns_the_ordered_functions,
    WritesAgain: rules.check_equal_order_changes_nothing,
    KeepsTheFirstVersion: rules.check_new_code_is_served,
    IgnoresTheEnvironment: rules.check_environment_is_applied,
    AddsRoutes: rules.check_removed_trigger_leaves_nothing,
    FindsWithoutAMark: rules.check_function_is_found_by_mark,
    DissolvesNothing: rules.check_service_is_deleted_twice,
    MissesFunctions: rules.check_missing_function_is_deleted,
    DissolvesEverything: rules.check_other_service_is_unchanged,
    HidesRejections: rules.check_rejected_change_can_be_repeated,
}


def site_of(kind: Callable[..., AcmeFunctions], folder: Path) -> AcmeSite:
    class Site(AcmeSite):
        @property
        def deployer(self) -> AcmeFunctions:
            good = super().deployer
            return kind(good.cloud, good.hide)

    return Site(folder)


@pytest.mark.parametrize("kind", BREAKS, ids=lambda kind: kind.__name__)
def test_a_rule_fails_for_a_deployer_that_breaks_it(
    kind: Callable[..., AcmeFunctions], tmp_path: Path
) -> None:
    with pytest.raises(BrokenRuleError):
        BREAKS[kind](site_of(kind, tmp_path))


def test_a_removed_function_that_is_still_served_breaks_a_rule(tmp_path: Path) -> None:
    with pytest.raises(BrokenRuleError):
        rules.check_removed_function_is_unreachable(site_of(AddsRoutes, tmp_path))


def test_each_rule_has_a_deployer_that_breaks_it() -> None:
    assert {*BREAKS.values(), rules.check_removed_function_is_unreachable} == set(RULES)
