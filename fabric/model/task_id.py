"""Task ids: `kind:service[/function][@provider]`, built and parsed only here.

A vendor task has a content hash instead of a service, and a wheel its name, version and hash. A
wheel from git has its name, commit and hash. A check without a known config has its check name.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple, NewType

TaskId = NewType("TaskId", str)
_MADE = ("build", "package", "image")


class TaskName(NamedTuple):
    """The parts of a task id; empty if absent."""

    kind: str
    service: str
    function: str = ""
    provider: str = ""

    @property
    def id(self) -> TaskId:
        function = f"/{self.function}" if self.function else ""
        provider = f"@{self.provider}" if self.provider else ""
        return TaskId(f"{self.kind}:{self.service}{function}{provider}")


def name_of(task: str) -> TaskName:
    kind, _, rest = task.partition(":")
    owner, _, provider = rest.partition("@")
    service, _, function = owner.partition("/")
    return TaskName(kind, service, function, provider)


def parse_task_kind(task: str) -> str:
    return task.partition(":")[0]


def is_kind(task: str, kind: str) -> bool:
    """Cheaper than to ask for its kind: graphs have tens of thousands."""
    return task.startswith(f"{kind}:")


def is_wheel(task: str) -> bool:
    """Return whether the output of a task is one Python package, downloaded or built."""
    return task.startswith(("wheel:", "git-wheel:"))


def passes_output(need: str, task_kind: str, uses: Collection[str] = ()) -> bool:
    """Return whether a task of this kind uses the output of a need, or only waits for it. `uses`
    are the needs whose outputs the parameters of a stack contain."""
    if is_kind(need, "hook") or is_kind(need, "check"):
        return False
    if task_kind == "workflow":
        return is_kind(need, "stack")
    if task_kind == "stack":
        return need in uses
    return not is_kind(need, "before") or task_kind in ("before", "build", "layer-archive")


def build_task_id(kind: str, service: str, function: str = "", provider: str = "") -> TaskId:
    return TaskName(kind, service, function, provider).id


def package_id(service: str, function: str) -> TaskId:
    return build_task_id("package", service, function)


def image_id(service: str, function: str) -> TaskId:
    return build_task_id("image", service, function)


def package_of(needs: Iterable[TaskId], service: str, function: str) -> TaskId:
    """The task among these that packs a function, whatever target it is for."""
    own = package_id(service, function)
    return next((one for one in needs if remove_target_suffix(one) == own), own)


def find_image_task(needs: Iterable[TaskId], service: str, function: str) -> TaskId | None:
    """Find the task among these that builds the image of a function, whatever target it is for."""
    own = image_id(service, function)
    return next((one for one in needs if remove_target_suffix(one) == own), None)


def remove_target_suffix(task: TaskId) -> TaskId:
    """Return the cache name of a task without its target, so that single-target runs share the
    result."""
    is_made = "@" in task and parse_task_kind(task) in _MADE
    return TaskId(task.partition("@")[0]) if is_made else task


def build_dns_sync_id(service: str, stage: str) -> TaskId:
    """Build the DNS task id, one per hostname regardless of its targets."""
    return build_task_id("dns-sync", service, provider=stage)


def is_other_stage(task: str) -> bool:
    """Return whether the task belongs to a record of another stage, which its id contains."""
    return "@" in name_of(task).provider


def release_id(service: str, provider: str) -> TaskId:
    return build_task_id("release", service, provider=provider)
