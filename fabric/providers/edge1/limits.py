"""Settings that Cloudflare or fabric does not support there, found without an API call."""

import datetime
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    Trigger,
    find_draft_problems,
    find_language_problems,
    find_name_conflicts,
    find_scaling_problems,
    find_trigger_problems,
    find_utc_schedule_problems,
    function_problem,
    unsupported_setting,
)
from fabric.providers.edge1.client import Edge1Place, Edge1Settings, build_worker_name
from fabric.providers.edge1.events import convert_schedule

_EXTENSION = ("extensions", "edge1-workers")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+", re.IGNORECASE)
_MEMORY = 128
_VARIABLES = 128
_MOST_MESSAGES, _LONGEST_WINDOW = 100, 60


def find_setting_problems(own: Edge1Settings, place: Edge1Place) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if not _is_date(own.compatibility_date):
        why = f"`{own.compatibility_date}`, which is not a date"
        yield unsupported_setting(
            _EXTENSION, "compatibilityDate", why, "use a date such as 2026-01-31"
        )
    if not own.hostname:
        return
    if not _HOST.fullmatch(own.hostname):
        why = f"`{own.hostname}`, which is not a hostname"
        yield unsupported_setting(
            _EXTENSION, "hostname", why, "use a hostname such as shop.example.com"
        )
    # Who has no credentials at all may still look at a plan.
    if place.is_known and not place.zone:
        why = f"`{own.hostname}`, and `EDGE1_ZONE_ID` is not set"
        hint = "set `EDGE1_ZONE_ID` in the environment or in `.env` beside the config"
        yield unsupported_setting(_EXTENSION, "hostname", why, hint, code="credentials/missing")


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_worker_name, address), "the Worker `{}`"
    )


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    missing = "Cloudflare Workers run only JavaScript"
    yield from find_language_problems(one, missing, lambda name: name.startswith("nodejs"))
    memory = settings.get("memory", "")
    if memory.isdigit() and int(memory) > _MEMORY:
        yield function_problem(
            one.name, f"has {memory} MB of memory; a Worker always has {_MEMORY}"
        )
    yield from find_scaling_problems(
        one, "Cloudflare Workers do not have", "remove it: Workers scale on demand"
    )
    if len(one.variables) > _VARIABLES:
        why = f"has {len(one.variables)} variables; Cloudflare allows {_VARIABLES}"
        yield function_problem(one.name, why)


def _find_queue_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    for key, most, unit in (
        ("batchSize", _MOST_MESSAGES, "messages"),
        ("maximumBatchingWindowSeconds", _LONGEST_WINDOW, "seconds"),
    ):
        value = trigger.get(key)
        if isinstance(value, int) and value > most:
            why = f"has `{key}: {value}`; queues of Cloudflare allow at most {most} {unit}"
            yield function_problem(one.name, why)
    if trigger.get("enabled") is False:
        why = "disables its queue, which Cloudflare does not support"
        yield function_problem(one.name, why, "remove the trigger: messages stay in the queue")


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    if trigger.get("type") == "queue":
        yield from _find_queue_problems(one, trigger)
        return
    of_cron = partial(find_utc_schedule_problems, convert=convert_schedule, provider="Cloudflare")
    yield from find_trigger_problems(one, trigger, "Cloudflare Workers", of_cron)
