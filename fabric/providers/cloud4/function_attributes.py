"""Tags of functions on Alibaba Cloud: those of the config, and those of the platform."""

import json
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.task import Pairs
from fabric.providers.cloud4.client import VERSION, Cloud4Call, Cloud4Work, build_cloud4_call
from fabric.providers.cloud4.limits import set_concurrency
from fabric.providers.cloud4.versions import build_tag_rows
from fabric.providers.core.contract import FunctionOrder, LiveFunction

_PATH = f"/{VERSION}/tags-v2"
_KIND = "function"
_ITS_OWN = ("acs:", "aliyun")


class FunctionTag(Struct, frozen=True, rename="pascal"):
    key: str = ""
    value: str = ""


def set_tags(work: Cloud4Work, arn: str, there: Sequence[FunctionTag], wanted: Pairs) -> None:
    """Set the tags, which belong to the function and not to a version."""
    known = {one.key: one.value for one in there if not one.key.startswith(_ITS_OWN)}
    if known == dict(wanted):
        return
    leaving = sorted(known.keys() - dict(wanted).keys())
    if wanted:
        document = {"ResourceType": _KIND, "ResourceId": [arn], "Tag": build_tag_rows(wanted)}
        call = build_cloud4_call("TagResources", "POST", (), document)
        work.ask(_build_tag_call(call), object)
    if leaving:
        query = (
            ("ResourceId", json.dumps([arn])),
            ("ResourceType", _KIND),
            ("TagKey", json.dumps(leaving)),
        )
        work.ask(_build_tag_call(Cloud4Call("UntagResources", "DELETE", query=query)), object)


def _build_tag_call(call: Cloud4Call) -> Cloud4Call:
    """Build the call of a tag API, which has a separate path."""
    return replace(call, path=_PATH)


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
