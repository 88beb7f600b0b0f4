"""Client of the Netlify API: calls with a token, typed responses and error messages."""

import re
from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.ownership_tags import mark_of
from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import (
    ProviderCall,
    TokenApi,
    decode_reply,
)
from fabric.providers.core.triggers import convert_utc_schedule
from fabric.providers.core.whole_service import (
    WholeOwner,
    WholeVersion,
    build_function_name,
    count_marks,
    list_recorded_rows,
    pack_marks,
    parse_version,
)

T = TypeVar("T")


class Host2Account(Struct, frozen=True):
    """One site, with its endpoint and token."""

    base_url: str
    token: Secret[str]
    site: str

    @property
    def site_path(self) -> str:
        return f"/sites/{quote(self.site, safe='')}"


class Host2Fault(Struct, frozen=True):
    """A validation error with one message or several."""

    message: str = ""
    errors: object = None

    @property
    def words(self) -> str:
        return self.message or (str(self.errors) if self.errors else "")


class Host2Api(TokenApi[Host2Account]):
    provider = "host2"

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = self._send(call)
        if reply.ok:
            return decode_reply(call, replace(reply, content=reply.content or b"null"), kind)
        refusal = decode_reply(call, replace(reply, content=reply.content or b"{}"), Host2Fault)
        raise RefusedCallError(reply.status, refusal.words, call.title)


# Whatever is below it may be gone by itself.
_OF_THE_SITE = re.compile(r"GET /sites/[^/]+")
_LOGIN_STATUS = frozenset((401, 403))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
    if error.status in _LOGIN_STATUS:
        hint = "check `HOST2_AUTH_TOKEN` and its permission to deploy to the site `HOST2_SITE_ID`"
        return Problem("credentials/refused", words, hint)
    if error.is_gone and _OF_THE_SITE.fullmatch(error.call):
        hint = "check that `HOST2_SITE_ID` is the ID of a site that the token can access"
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Netlify"))


_MARK_LENGTH = 32
# How long a title may be with the marks of all functions.
_TITLE_LENGTH = 255
_NO_PARTS = "-"
_REMOVED = "fabric removed "


class ServiceOwner(WholeOwner, frozen=True):
    """The owner of a deploy, as its title shows it. The title is the only text of ours in every
    deploy."""

    def title(self, mark: str, marks: Iterable[tuple[str, str]]) -> str:
        """Build the title. `marks` maps names of functions to their marks; they are omitted if the
        title would be too long."""
        parts = pack_marks(marks)
        begin, end = f"fabric {self.digest} {mark[:_MARK_LENGTH]}", self.name
        title = f"{begin} {parts} {end}"
        return title if len(title) <= _TITLE_LENGTH else f"{begin} {_NO_PARTS} {end}"

    def count_in(self, title: str | None, function: str, mark: str) -> int:
        """Return the number of functions in a deploy, or 0 if this function with this mark is not
        among them."""
        if not self.is_of(title):
            return 0
        return count_marks((title or "").split(" ")[_PARTS_AT], function, mark)

    def is_of(self, title: str | None) -> bool:
        return (title or "").startswith(f"fabric {self.digest} ")

    @property
    def title_of_nothing(self) -> str:
        """The title of the empty deploy that replaces a deleted service."""
        return f"{_REMOVED}{self.digest} {self.name}"


# In a title: behind `fabric`, whose it is, and the mark of the whole.
_PARTS_AT = 3


def is_of_nobody(title: str | None) -> bool:
    return (title or "").startswith(_REMOVED)


def build_service_owner(address: DeploymentAddress) -> ServiceOwner:
    return ServiceOwner(address.service, address.stage)


def build_clock_name(address: DeploymentAddress, function: str, number: int) -> str:
    """Build the name of a scheduled function. On Netlify it has no URL, so it is deployed
    separately."""
    return build_function_name(address, f"{function}-clock{number or ''}")


# A function's name with its mark.
Marked = tuple[str, str]


def list_recorded_versions(
    record: Record | None, function: str, mark: str
) -> tuple[WholeVersion, ...]:
    """Return deploys that contain this function with this mark: a deploy never changes."""
    if record is None:
        return ()
    rows = (one for one in list_recorded_rows(record) if one.name == function and one.key)
    found = (
        parse_version(one.resource_id) for one in rows if mark_of(one.key, record.salt) == mark
    )
    return tuple(dict.fromkeys(one for one in found if one.ident))


def list_recorded_wholes(
    record: Record | None, marked: Iterable[Marked]
) -> tuple[WholeVersion, ...]:
    """Return deploys that contain exactly these functions with these marks."""
    wanted = tuple(marked)
    each = [list_recorded_versions(record, *one) for one in wanted]
    first = each[0] if each else ()
    return tuple(
        one for one in first if one.count == len(wanted) and all(one in rest for rest in each)
    )


def convert_own_cron(schedule: str, zone: str = "") -> str:
    """Convert a schedule to five fields in UTC. Raises a ValueError if Netlify cannot express
    it."""
    return convert_utc_schedule(schedule, zone, "Netlify")
