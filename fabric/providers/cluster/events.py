"""Schedules of functions as CronJobs. No effects."""

import json
from collections.abc import Iterable, Iterator, Sequence

from fabric.model.sample_events import sample_event
from fabric.providers.cluster.names import MARK, build_cron_name, build_function_labels
from fabric.providers.cluster.objects import KubeObject
from fabric.providers.cluster.pods import PodPlan, build_job_template
from fabric.providers.core.payloads import format_json
from fabric.providers.core.triggers import convert_to_five_fields

# Versions of a cluster's API from which on: jobs that are stable, and jobs that know time zones.
_STABLE, ZONED = 21, 25
_UTC = "Etc/UTC"
_LONGEST_SECONDS = 3600


def list_crons(triggers: Iterable[str]) -> list[dict[str, object]]:
    found = (json.loads(text) for text in triggers)
    return [one for one in found if one.get("type") == "cron"]


def read_time_zone(trigger: dict[str, object]) -> str:
    return str(trigger.get("timezone") or "")


def build_cron_jobs(plan: PodPlan, triggers: Sequence[str], minor: int) -> Iterator[KubeObject]:
    for number, trigger in enumerate(list_crons(triggers)):
        labels = build_function_labels(plan.address, plan.function)
        name = build_cron_name(plan.address, plan.function, number)
        version = "batch/v1" if minor >= _STABLE else "batch/v1beta1"
        yield {
            "apiVersion": version,
            "kind": "CronJob",
            "metadata": {"name": name, "labels": labels, "annotations": {MARK: plan.mark}},
            "spec": _build_spec(plan, trigger, minor),
        }


def _build_spec(plan: PodPlan, trigger: dict[str, object], minor: int) -> KubeObject:
    zone = {"timeZone": read_time_zone(trigger) or _UTC} if minor >= ZONED else {}
    event = format_json(sample_event("cron", trigger))
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": plan.seconds or _LONGEST_SECONDS,
        "template": build_job_template(plan, event),
    }
    return {
        "schedule": convert_to_five_fields(str(trigger.get("schedule", ""))),
        **zone,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 200,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {"spec": job},
    }
