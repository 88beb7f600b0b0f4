"""`extensions.router` as a value, and its restrictions."""

import json
from collections.abc import Mapping
from typing import TypeAlias

from msgspec import Struct, convert

from fabric.config.values import Config
from fabric.model.problems import FabricError, Place, Problem, raise_if_any
from fabric.model.routing.routing import ROUTER_BACK_ENDS, WHOLE
from fabric.model.switches import is_on

# In so many seconds a shift has reached everybody who asks anew.
USUAL_TTL = 60
_PROD = "prod"
ReasonRule: TypeAlias = bool | tuple[str, ...] | dict[str, bool]


class Canary(Struct, frozen=True):
    percent: int = 0


class RouterSettings(Struct, frozen=True, rename="camel"):
    hostname: str = ""
    provider: str = ROUTER_BACK_ENDS[0]
    ttl: int = USUAL_TTL
    auto_apply: bool = False
    allow_prod_sync: bool = False
    approval_env_by_stage: Mapping[str, str] = {}
    require_reason: ReasonRule = False
    mutation_policy: str = "any"
    canary: Canary = Canary()

    def needs_reason(self, stage: str) -> bool:
        match self.require_reason:
            case bool(always):
                return always
            case dict(by_stage):
                return by_stage.get(stage, False)
            case stages:
                return stage in stages


def read_router_settings(config: Config) -> RouterSettings:
    """Read the router settings. Raises a FabricError if there are none."""
    found = read_router(config)
    if found is None:
        message = f"no router is configured for `{config.service}`"
        hint = "set `extensions.router.hostname` and `fabric.targets`"
        raise FabricError(
            Problem("router/not-configured", message, hint, Place(config.document.file))
        )
    if not found.hostname:
        message = "`hostname` is required below `extensions.router`"
        hint = "set the hostname that routes to the endpoints, such as `api.example.com`"
        raise FabricError(Problem("config/missing-key", message, hint, Place(config.document.file)))
    return found


def read_router(config: Config) -> RouterSettings | None:
    section = json.loads(config.provider.extensions).get("router")
    return None if section is None else convert(section, RouterSettings)


def list_target_labels(config: Config) -> tuple[str, ...]:
    """List the labels that are deployed together, at most 100, because each needs one percent."""
    labels = config.target_labels
    if len(labels) > WHOLE:
        message = f"too many targets in `fabric.targets`: {len(labels)} (maximum {WHOLE})"
        raise FabricError(
            Problem("config/too-many-targets", message, "", Place(config.document.file))
        )
    return labels


class ChangeConsent(Struct, frozen=True):
    """The confirmations that the user gives for a change."""

    reason: str = ""
    allows_prod: bool = False


def refuse_change(
    router: RouterSettings, stage: str, consent: ChangeConsent, env: Mapping[str, str]
) -> None:
    """Raise unless all confirmations for a DNS change of the stage are given."""
    problems = []
    if stage == _PROD and not (consent.allows_prod or router.allow_prod_sync):
        problems.append(
            Problem(
                "usage/prod-dns",
                f"refusing to change DNS of the stage `{stage}`: nothing was changed",
                hint="add --allow-prod-dns-sync, or set `allowProdSync: true` below "
                "`extensions.router`",
            )
        )
    if router.needs_reason(stage) and not consent.reason.strip():
        message = f"a reason is required to change DNS in the stage `{stage}`: nothing was changed"
        problems.append(Problem("usage/reason-missing", message, "add --reason TEXT"))
    variable = router.approval_env_by_stage.get(stage, "")
    if variable and not is_on(variable, env):
        problems.append(
            Problem(
                "router/not-approved",
                f"approval is required to change DNS in the stage `{stage}`: {variable} is not set",
                hint=f"set {variable}=1 to approve it",
            )
        )
    raise_if_any(problems)
