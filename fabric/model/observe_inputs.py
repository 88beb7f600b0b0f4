"""Inputs of observation tasks. Their results are valid only at that time."""

from typing import ClassVar

from msgspec import Struct

from fabric.model.task import InputEntry, Lane
from fabric.model.task_inputs import list_option_entries


class _ObserveInputs(Struct, frozen=True):
    lane: ClassVar[Lane] = Lane.IO
    shown_in: ClassVar[str] = ""
    owns_folder: ClassVar[bool] = False
    shares_folder: ClassVar[bool] = False

    service: str
    provider: str
    stage: str

    @property
    def function(self) -> str:
        return ""

    def entries(self) -> tuple[InputEntry, ...]:
        return list_option_entries(self, "service")


class LogsInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "logs"


class MetricsInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "metrics"


class TracesInputs(_ObserveInputs, frozen=True):
    kind: ClassVar[str] = "traces"


OBSERVE_INPUTS = {cls.kind: cls for cls in (LogsInputs, MetricsInputs, TracesInputs)}
