"""Settings that Google Cloud or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial

from fabric.model.problems import Problem
from fabric.providers.cloud2.events import LONGEST
from fabric.providers.cloud2.revisions import find_tag_problems, is_reserved
from fabric.providers.cloud2.source import RUNTIMES
from fabric.providers.cloud2.work import Cloud2Settings, build_function_name
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.limits import (
    Trigger,
    find_architecture_problems,
    find_concurrency_problems,
    find_draft_problems,
    find_name_conflicts,
    find_reserved_variables,
    find_schedule_problems,
    find_trigger_problems,
    function_problem,
    unsupported_setting,
)
from fabric.providers.core.triggers import convert_to_five_fields

# By Google's schedule of runtimes: what is there runs on, and can be gone back to.
_ENDED = dict.fromkeys(("nodejs20.x", "nodejs20"), "2026-10-30")
_EXTENSION = ("extensions", "cloud2-functions")
# Whose project stands in it.
_OWNED = re.compile(r"[^@\s]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com")
_ACCOUNT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def find_setting_problems(own: Cloud2Settings) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if own.service_account and not _ACCOUNT.fullmatch(own.service_account):
        why = f"`{own.service_account}`, which is not a service account address"
        hint = "use an address such as shop@my-project.iam.gserviceaccount.com"
        yield unsupported_setting(_EXTENSION, "serviceAccount", why, hint)


def find_unsupported_clocks(
    own: Cloud2Settings, project: str, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    """Check schedules: Cloud Scheduler uses only accounts in the same project."""
    found = _OWNED.fullmatch(own.service_account)
    if found is None or not project or found[1] == project:
        return
    for one in functions:
        kinds = [json.loads(text).get("type") for text in one.triggers]
        if "cron" in kinds:
            why = (
                f"has a schedule, and the scheduler of `{project}` cannot use "
                f"`{own.service_account}`"
            )
            hint = (
                "use a service account of that project, or move scheduled functions to "
                "another service"
            )
            yield Unsupported(one.name, function_problem(one.name, why, hint), kinds.index("cron"))


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    yield from find_draft_problems(functions, _find_function_problems, _find_trigger_problems)
    yield from find_name_conflicts(
        functions, partial(build_function_name, address), "named `{}` at Google Cloud"
    )


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    yield from RUNTIMES.find_problems(one)
    if runtime in _ENDED:
        why = (
            f"has the runtime `{runtime}`, which Google Cloud no longer builds since "
            f"{_ENDED[runtime]}"
        )
        yield function_problem(
            one.name,
            why,
            "use nodejs22.x, nodejs24.x, or python3.10 to "
            "python3.14; deployed functions keep running",
        )
    yield from find_architecture_problems(one, "and Google Cloud supports only x86_64")
    missing = "Google Cloud cannot disable a function"
    yield from find_concurrency_problems(one, missing, "Google Cloud")
    yield from find_tag_problems(one.name, one.tags)
    yield from find_reserved_variables(one, is_reserved)


def _find_trigger_problems(one: FunctionDraft, trigger: Trigger) -> Iterator[Problem]:
    of_cron = partial(_find_cron_problems, timeout=dict(one.settings).get("timeout", ""))
    yield from find_trigger_problems(one, trigger, "Google Cloud", of_cron)


def _find_cron_problems(function: str, trigger: Trigger, timeout: str) -> Iterator[Problem]:
    if timeout.isdigit() and int(timeout) > LONGEST:
        why = (
            f"has a timeout of {timeout} s and a schedule; Cloud Scheduler waits at most "
            f"{LONGEST:,} s"
        )
        yield function_problem(function, why)
        return
    yield from find_schedule_problems(function, trigger, convert_to_five_fields, "Google Cloud")
