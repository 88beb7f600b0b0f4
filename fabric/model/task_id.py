"""Names of tasks: `kind:service[/function][@provider]`. Nobody else builds or cuts one.

A vendor task has the digest of what it fetches in the place of a service, a look at the
surroundings the name of the check, where no config says whose they are.
"""

from typing import NamedTuple, NewType

TaskId = NewType("TaskId", str)


class TaskName(NamedTuple):
    """The parts of a name; empty where it has none."""

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


def kind_of(task: str) -> str:
    return task.partition(":")[0]


def is_kind(task: str, kind: str) -> bool:
    """Cheaper than to ask for its kind: graphs have tens of thousands."""
    return task.startswith(f"{kind}:")


def task_id(kind: str, service: str, function: str = "", provider: str = "") -> TaskId:
    return TaskName(kind, service, function, provider).id


def package_id(service: str, function: str) -> TaskId:
    return task_id("package", service, function)


def dns_sync_id(service: str, stage: str) -> TaskId:
    """One for each name, however many targets it leads to."""
    return task_id("dns-sync", service, provider=stage)


def release_id(service: str, provider: str) -> TaskId:
    return task_id("release", service, provider=provider)
