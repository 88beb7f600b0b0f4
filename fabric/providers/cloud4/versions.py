"""Versions of functions on Alibaba Cloud, and the live alias that routes traffic to one of them."""

from collections.abc import Iterator

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud4.api import Cloud4Call, build_cloud4_call
from fabric.providers.cloud4.settings import LIVE, PublishedMark, mark_in
from fabric.providers.cloud4.work import Cloud4Work
from fabric.providers.core.errors import RefusedCallError

_VERSION_GONE = "VersionNotFound"


class PublishedVersion(Struct, frozen=True, rename="camel"):
    version_id: str
    description: str = ""

    @property
    def mark(self) -> PublishedMark:
        return mark_in(self.description)


class _VersionPage(Struct, frozen=True, rename="camel"):
    versions: tuple[PublishedVersion, ...] = ()
    next_token: str = ""


class AliasRow(Struct, frozen=True, rename="camel"):
    alias_name: str = ""
    version_id: str = ""
    additional_version_weight: dict[str, float] | None = None

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that the alias routes to."""
        return (self.version_id, *(self.additional_version_weight or ()))

    def is_all_on(self, version: str) -> bool:
        return self.version_id == version and not self.additional_version_weight


class _AliasPage(Struct, frozen=True, rename="camel"):
    aliases: tuple[AliasRow, ...] = ()
    next_token: str = ""


def list_versions(work: Cloud4Work, name: str) -> Iterator[PublishedVersion]:
    for page in work.pages("ListFunctionVersions", (name, "versions"), _VersionPage):
        yield from page.versions


def find_version(work: Cloud4Work, name: str, wanted: PublishedMark) -> PublishedVersion | None:
    """Find the oldest version with this mark."""
    found = [one for one in list_versions(work, name) if one.mark.is_wanted(wanted)]
    return min(found, key=_number) if found else None


def _number(row: PublishedVersion) -> int:
    return int(row.version_id) if row.version_id.isdecimal() else 0


def publish_version(work: Cloud4Work, name: str, mark: PublishedMark) -> PublishedVersion:
    """Publish the current state of the function. A retry must look for the version first."""
    call = build_cloud4_call(
        "PublishFunctionVersion", "POST", (name, "versions"), {"description": mark.text}
    )
    return work.api.once(call, PublishedVersion)


def delete_version(work: Cloud4Work, name: str, version: str) -> None:
    work.delete("DeleteFunctionVersion", name, "versions", version)


def list_aliases(work: Cloud4Work, name: str) -> Iterator[AliasRow]:
    for page in work.pages("ListAliases", (name, "aliases"), _AliasPage):
        yield from page.aliases


def delete_alias(work: Cloud4Work, name: str, alias: str) -> None:
    work.delete("DeleteAlias", name, "aliases", alias)


def find_live_alias(work: Cloud4Work, name: str) -> AliasRow | None:
    """Find the alias that receives traffic."""
    return work.look(Cloud4Call("GetAlias", "GET", (name, "aliases", LIVE)), AliasRow)


def activate_version(work: Cloud4Work, name: str, version: str) -> bool:
    """Route all traffic to this version. Returns whether anything changed."""

    def act(work: Cloud4Work) -> bool:
        row = find_live_alias(work, name)
        if row is not None and row.is_all_on(version):
            return False
        wanted = {"versionId": version}
        if row is None:
            document: object = {"aliasName": LIVE, **wanted}
            call = build_cloud4_call("CreateAlias", "POST", (name, "aliases"), document)
        else:
            document = {**wanted, "additionalVersionWeight": {}}
            call = build_cloud4_call("UpdateAlias", "PUT", (name, "aliases", LIVE), document)
        work.api.once(call, object)
        return True

    try:
        return work.trying(act)
    except RefusedCallError as error:
        if error.is_gone or _VERSION_GONE in error.codes:
            raise FabricError(_missing_version_problem(name, version)) from error
        raise


def _missing_version_problem(name: str, version: str) -> Problem:
    message = f"version {version} of the function `{name}` no longer exists"
    return Problem("provider/gone", message, "run: fabric deploy --force")
