"""Attributes of functions that no version has: tags and reserved concurrency.

They affect the active version immediately, so a release sets them. A function without traffic gets
them in its deploy.
"""

from typing import Protocol

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.task import Pairs
from fabric.providers.cloud4.client import Cloud4Work
from fabric.providers.cloud4.limits import set_concurrency
from fabric.providers.cloud4.tags import FunctionTag, set_tags
from fabric.providers.core.contract import FunctionOrder, LiveFunction

_DIGEST = 16


class Cloud4Beside(Struct, frozen=True):
    tags: Pairs = ()
    reserved: int | None = None

    @property
    def digest(self) -> str:
        parts = (part for pair in sorted(self.tags) for part in pair)
        return hash_fields((str(self.reserved), *parts))[:_DIGEST]


def read_attributes(one: FunctionOrder | LiveFunction) -> Cloud4Beside:
    return Cloud4Beside(one.tags, one.reserved_concurrency)


class TaggedRow(Protocol):
    """The attributes of an existing function."""

    @property
    def function_arn(self) -> str: ...
    @property
    def tags(self) -> tuple[FunctionTag, ...]: ...


def update_attributes(work: Cloud4Work, name: str, row: TaggedRow, wanted: Cloud4Beside) -> None:
    set_concurrency(work, name, wanted.reserved)
    set_tags(work, row.function_arn, row.tags, wanted.tags)
