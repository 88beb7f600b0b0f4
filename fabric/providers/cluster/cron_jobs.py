"""Schedules of functions as CronJobs. No effects."""

import json
from collections.abc import Iterable, Iterator, Sequence

from fabric.model.sample_events import sample_event
from fabric.providers.cluster.names import MARK, cron_name, function_labels
from fabric.providers.cluster.objects import KubeObject
from fabric.providers.cluster.pods import PodPlan, job_template
from fabric.providers.five_fields import five_fields
from fabric.providers.payloads import as_json

# Versions of a cluster's API from which on: jobs that are stable, and jobs that know time zones.
_STABLE, ZONED = 21, 25
_UTC = "Etc/UTC"
_LONGEST_SECONDS = 3600


def crons_in(triggers: Iterable[str]) -> list[dict[str, object]]:
    found = (json.loads(text) for text in triggers)
    return [one for one in found if one.get("type") == "cron"]


def zone_of(trigger: dict[str, object]) -> str:
    return str(trigger.get("timezone") or "")


def cron_jobs(plan: PodPlan, triggers: Sequence[str], minor: int) -> Iterator[KubeObject]:
    for number, trigger in enumerate(crons_in(triggers)):
        labels = function_labels(plan.address, plan.function)
        name = cron_name(plan.address, plan.function, number)
        version = "batch/v1" if minor >= _STABLE else "batch/v1beta1"
        yield {
            "apiVersion": version,
            "kind": "CronJob",
            "metadata": {"name": name, "labels": labels, "annotations": {MARK: plan.mark}},
            "spec": _spec(plan, trigger, minor),
        }


def _spec(plan: PodPlan, trigger: dict[str, object], minor: int) -> KubeObject:
    zone = {"timeZone": zone_of(trigger) or _UTC} if minor >= ZONED else {}
    event = as_json(sample_event("cron", trigger))
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": plan.seconds or _LONGEST_SECONDS,
        "template": job_template(plan, event),
    }
    return {
        "schedule": five_fields(str(trigger.get("schedule", ""))),
        **zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 200,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {"spec": job},
    }
