"""Functions with their versions and aliases, as one region of one account holds them."""

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import conflict, not_found

if TYPE_CHECKING:
    from tests.support.servers.strict_cloud1.image_calls import FunctionImage

LATEST = "$LATEST"


class Reference(NamedTuple):
    """A function as a request names it: `name`, `name:qualifier`, or the whole ARN."""

    name: str
    qualifier: str = ""

    @classmethod
    def of(cls, text: str, qualifier: str | None = None) -> "Reference":
        parts = text.split(":")
        if len(parts) > 1 and "function" in parts[:-1]:
            parts = parts[parts.index("function") + 1 :]
        own = parts[1] if len(parts) > 1 else ""
        return cls(parts[0], own or qualifier or "")


@dataclass
class Version:
    """`settings` are as the service shows them; a published one never changes."""

    number: str
    arn: str
    settings: Fields
    content: bytes
    image: "FunctionImage | None" = None

    @property
    def runtime(self) -> str:
        return self.image.runtime if self.image else str(self.settings["Runtime"])

    @property
    def handler(self) -> str:
        return self.image.handler if self.image else str(self.settings["Handler"])

    @property
    def name(self) -> str:
        return self.arn.split(":")[6]

    @property
    def region(self) -> str:
        return self.arn.split(":")[3]


@dataclass
class Alias:
    shown: Fields
    turns: dict[str, float] = field(default_factory=dict)

    @property
    def weights(self) -> dict[str, float]:
        others = self.shown.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
        return {self.shown["FunctionVersion"]: 1 - sum(others.values()), **others}

    def next_version(self) -> str:
        """By weight, in turns that are always the same: of ten calls at 0.3 three go there."""
        for number, weight in self.weights.items():
            self.turns[number] = self.turns.get(number, 0) + weight
        number = max(self.weights, key=lambda one: self.turns[one])
        self.turns[number] -= 1
        return number


@dataclass
class Progress:
    """A change that is under way until it was looked at so often; no clock is asked."""

    looks: int = 0
    is_creation: bool = False
    numbers: frozenset[str] = frozenset()

    def look(self) -> bool:
        """Whether it was still under way."""
        is_under_way = self.looks > 0
        self.looks -= is_under_way
        return is_under_way


@dataclass
class Function:
    name: str
    latest: Version
    tags: dict[str, str]
    versions: dict[str, Version] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    policies: dict[str, list[Fields]] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    reserved: int | None = None
    recursion: str = "Terminate"
    # By version.
    provisioned: dict[str, Fields] = field(default_factory=dict)
    # By qualifier.
    event_settings: dict[str, Fields] = field(default_factory=dict)
    urls: dict[str, Fields] = field(default_factory=dict)
    next_number: int = 1
    is_changed: bool = True

    def arn(self, qualifier: str = "") -> str:
        return f"{self.latest.arn}:{qualifier}" if qualifier else self.latest.arn

    def version(self, qualifier: str) -> Version:
        """What a number, an alias or nothing stands for, without taking turns."""
        if qualifier in self.aliases:
            return self.numbered(self.aliases[qualifier].shown["FunctionVersion"])
        return self.numbered(qualifier or LATEST)

    def called(self, qualifier: str) -> Version:
        """The version that the next call of a qualifier goes to."""
        if qualifier in self.aliases:
            return self.numbered(self.aliases[qualifier].next_version())
        return self.numbered(qualifier or LATEST)

    def numbered(self, number: str) -> Version:
        if number == LATEST:
            return self.latest
        if number not in self.versions:
            raise not_found(f"Function not found: {self.arn(number)}")
        return self.versions[number]

    def must_be_settled(self) -> None:
        if self.progress.look():
            raise conflict(
                "The operation cannot be performed at this time. "
                f"An update is in progress for resource: {self.arn()}"
            )

    def users_of(self, number: str) -> list[str]:
        return [name for name, alias in self.aliases.items() if number in alias.weights]


def new_revision() -> str:
    return str(uuid.uuid4())


def shown(function: Function, version: Version) -> Fields:
    """As `get_function_configuration` shows it; to show it is to look at it."""
    concerned = version.number in function.progress.numbers
    return _with_state(version, function.progress, concerned and function.progress.look())


def just_changed(function: Function, version: Version) -> Fields:
    """As the answer to the change itself shows it, which is no look."""
    concerned = version.number in function.progress.numbers
    return _with_state(version, function.progress, concerned and function.progress.looks > 0)


def _with_state(version: Version, progress: Progress, is_under_way: bool) -> Fields:  # noqa: FBT001
    layers = [{"Arn": arn} for arn in version.settings.get("Layers", [])]
    state = {"State": "Active", "LastUpdateStatus": "Successful"}
    own = _under_way(progress) if is_under_way else state
    return {**version.settings, "Layers": layers or None, **own}


def _under_way(progress: Progress) -> Fields:
    words = {
        "LastUpdateStatus": "InProgress",
        "LastUpdateStatusReasonCode": "Creating",
        "LastUpdateStatusReason": "The function is being created.",
    }
    if not progress.is_creation:
        return {"State": "Active", "LastUpdateStatus": "InProgress"}
    reason = {"StateReason": "The function is being created.", "StateReasonCode": "Creating"}
    return {"State": "Pending", **reason, **words}
