"""Settings that Google Cloud or fabric does not support there, found without an API call."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from fabric.model.concurrency import format_settings, parse_concurrency
from fabric.model.problems import Problem
from fabric.providers.cloud2.events import LONGEST
from fabric.providers.cloud2.revisions import find_tag_problems, is_reserved
from fabric.providers.cloud2.settings import Cloud2Settings, build_function_name
from fabric.providers.cloud2.source import find_source_runtime, unknown_runtime_problem
from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.triggers import convert_to_five_fields

_CODE = "config/unfit"
# By Google's schedule of runtimes: what is there runs on, and can be gone back to.
_ENDED = dict.fromkeys(("nodejs20.x", "nodejs20"), "2026-10-30")
_EXTENSION = ("extensions", "cloud2-functions")
# Whose project stands in it.
_OWNED = re.compile(r"[^@\s]+@([a-z0-9-]+)\.iam\.gserviceaccount\.com")
_ACCOUNT = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def find_setting_problems(own: Cloud2Settings) -> Iterator[Unsupported]:
    """Check the settings of the whole service."""
    if own.service_account and not _ACCOUNT.fullmatch(own.service_account):
        keys = (*_EXTENSION, "serviceAccount")
        why = (
            f"`{'.'.join(keys)}` is `{own.service_account}`, which is not a service account address"
        )
        hint = "use an address such as shop@my-project.iam.gserviceaccount.com"
        yield Unsupported("", Problem(_CODE, why, hint), keys=keys)


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
            yield Unsupported(one.name, _function_problem(one.name, why, hint), kinds.index("cron"))


def find_unsupported(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    for one in functions:
        yield from (Unsupported(one.name, problem) for problem in _find_function_problems(one))
        for number, text in enumerate(one.triggers):
            problem = _find_trigger_problem(one, json.loads(text))
            if problem is not None:
                yield Unsupported(one.name, problem, number)
    yield from _find_name_conflicts(address, functions)


def _find_function_problems(one: FunctionDraft) -> Iterator[Problem]:
    settings = dict(one.settings)
    runtime = settings.get("runtime", "")
    if find_source_runtime(runtime) is None:
        yield unknown_runtime_problem(one.name, runtime)
    if runtime in _ENDED:
        why = (
            f"has the runtime `{runtime}`, which Google Cloud no longer builds since "
            f"{_ENDED[runtime]}"
        )
        yield _function_problem(
            one.name,
            why,
            "use nodejs22.x, nodejs24.x, or python3.10 to "
            "python3.14; deployed functions keep running",
        )
    if settings.get("architecture", "").startswith("arm"):
        yield _function_problem(
            one.name, "has the architecture `arm64`, and Google Cloud supports only x86_64"
        )
    yield from _find_concurrency_problems(one)
    yield from find_tag_problems(one.name, one.tags)
    for name in sorted(filter(is_reserved, one.variables)):
        why = f"sets `{name}`, which the runtime reserves"
        yield _function_problem(one.name, why, "rename the variable")


def _find_concurrency_problems(one: FunctionDraft) -> Iterator[Problem]:
    reserved, _ = parse_concurrency(dict(format_settings(one.settings)).get("concurrency", ""))
    if reserved == 0:
        why = "sets `reservedConcurrency: 0`, and Google Cloud cannot disable a function"
        yield _function_problem(
            one.name, why, "remove its triggers, or remove `reservedConcurrency`"
        )
    if one.provisioned_concurrency:
        why = "sets `provisionedConcurrency`, which fabric does not support for Google Cloud"
        yield _function_problem(one.name, why, "remove it: instances start on demand")


def _find_trigger_problem(one: FunctionDraft, trigger: Mapping[str, object]) -> Problem | None:
    match trigger.get("type"):
        case "http":
            return _find_http_problem(one.name, trigger)
        case "cron":
            return _find_cron_problem(one, trigger)
        case kind:
            why = (
                f"has a trigger of type `{kind}`, which fabric does not support for "
                "Google Cloud yet"
            )
            return _function_problem(one.name, why, "use http or cron")


def _find_http_problem(function: str, trigger: Mapping[str, object]) -> Problem | None:
    if trigger.get("authorizer"):
        why = "has an authorizer, which fabric does not support for Google Cloud"
        return _function_problem(function, why, "authorize callers in the handler")
    return None


def _find_cron_problem(one: FunctionDraft, trigger: Mapping[str, object]) -> Problem | None:
    timeout = dict(one.settings).get("timeout", "")
    if timeout.isdigit() and int(timeout) > LONGEST:
        why = (
            f"has a timeout of {timeout} s and a schedule; Cloud Scheduler waits at most "
            f"{LONGEST:,} s"
        )
        return _function_problem(one.name, why)
    schedule = str(trigger.get("schedule", ""))
    try:
        convert_to_five_fields(schedule)
    except ValueError as error:
        why = f"has the schedule `{schedule}`, which Google Cloud does not support: {error}"
        return _function_problem(one.name, why, "use five cron fields")
    return None


def _find_name_conflicts(
    address: DeploymentAddress, functions: Sequence[FunctionDraft]
) -> Iterator[Unsupported]:
    taken: dict[str, str] = {}
    for one in functions:
        name = build_function_name(address, one.name)
        first = taken.setdefault(name, one.name)
        if first != one.name:
            why = f"would be named `{name}` at Google Cloud, which conflicts with `{first}`"
            yield Unsupported(one.name, _function_problem(one.name, why, "rename one of them"))


def _function_problem(function: str, why: str, hint: str = "") -> Problem:
    return Problem(_CODE, f"function `{function}` {why}", hint)
