"""Scaling of provisioned instances: by their use, and at times.

The instances belong to a version, so the scaling does as well. It ends when the version receives no
traffic.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.config.schedule import normalize_schedule
from fabric.model.hashing import hash_fields
from fabric.providers.cloud1.core.client import GONE, ignore_codes
from fabric.providers.cloud1.core.cron_expressions import convert_cron_expression
from fabric.providers.cloud1.core.versions import Cloud1Work
from fabric.providers.cloud1.functions.aliases import StoredReleaseState, read_live_version
from fabric.providers.core.contract import LiveFunction
from fabric.system.cloud1_account import REFUSED

SCALING = "provisionedConcurrency"
_TARGET = 0.7
_POLICY = "fabric"
_DIGEST = 12
_NOT_FOUND = frozenset(("ObjectNotFoundException",))
# The answer of a compatible server to a service that it does not have.
_UNKNOWN = frozenset(("404", "UnknownOperationException"))


def read_setting(one: LiveFunction, key: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(dict(one.settings).get(key, "{}"))
    return said


def read_scaling(one: LiveFunction) -> str:
    """Return the version and its scaling; empty without one."""
    text = dict(one.settings).get(SCALING, "")
    return f"{read_live_version(one)} {text}" if text else ""


def set_scaling(work: Cloud1Work, one: LiveFunction, text: str) -> str:
    """Register the version, and return it."""
    version, _, settings = text.partition(" ")
    said, which = json.loads(settings), _identify(one.resource_name, version)
    scaling = work.clients.of("application-autoscaling")
    scaling.register_scalable_target(**which, MinCapacity=said["min"], MaxCapacity=said["max"])
    metric = {"PredefinedMetricType": "LambdaProvisionedConcurrencyUtilization"}
    scaling.put_scaling_policy(
        **which,
        PolicyName=_POLICY,
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": said.get("target", _TARGET),
            "PredefinedMetricSpecification": metric,
        },
    )
    actions = {one["ScheduledActionName"]: one for one in build_actions(said)}
    for action in actions.values():
        scaling.put_scheduled_action(**which, **action)
    pages = scaling.get_paginator("describe_scheduled_actions")
    for page in pages.paginate(**which):
        for name in (one["ScheduledActionName"] for one in page["ScheduledActions"]):
            if name not in actions:
                scaling.delete_scheduled_action(**which, ScheduledActionName=name)
    return version


def build_actions(said: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Build the scheduled actions. Their names are hashes of them. Raises a ValueError for invalid
    times."""
    limits = {"min": "MinCapacity", "max": "MaxCapacity"}
    for one in said.get("schedules", ()):
        times = f"at({one['at']})" if "at" in one else one["cron"]
        ident = hash_fields((json.dumps(one, sort_keys=True),))[:_DIGEST]
        yield {
            "ScheduledActionName": f"{_POLICY}-{ident}",
            "Schedule": convert_cron_expression(normalize_schedule(times)),
            "Timezone": one.get("timezone", "UTC"),
            "ScalableTargetAction": {name: one[key] for key, name in limits.items() if key in one},
        }


def stop_scaling(work: Cloud1Work, name: str, version: str, *, is_known: bool) -> None:
    """Deregister a version. AWS deletes its policy and its scheduled actions as well."""
    unknown = frozenset() if is_known else REFUSED | _UNKNOWN
    with ignore_codes(GONE, _NOT_FOUND, unknown):
        work.clients.of("application-autoscaling").deregister_scalable_target(
            **_identify(name, version)
        )


def stop_function_scaling(work: Cloud1Work, one: LiveFunction, kept: StoredReleaseState) -> None:
    """Deregister the versions of a function that is deleted."""
    known = kept.texts.get(f"scaling:{one.name}", "").partition(" ")[2]
    recorded = read_scaling(one).partition(" ")[0]
    for version in sorted({known, recorded} - {""}):
        stop_scaling(work, one.resource_name, version, is_known=version == known)


def _identify(name: str, version: str) -> dict[str, str]:
    return {
        "ServiceNamespace": "lambda",
        "ResourceId": f"function:{name}:{version}",
        "ScalableDimension": "lambda:function:ProvisionedConcurrency",
    }
