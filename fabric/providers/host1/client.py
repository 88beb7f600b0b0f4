"""Client of the Vercel API: calls with a token, typed responses and error messages."""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.problems import Problem
from fabric.model.secrets.secret import Secret
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import (
    ProviderCall,
    TokenApi,
    decode_reply,
)
from fabric.providers.core.triggers import convert_utc_schedule, list_schedules
from fabric.providers.core.whole_service import WholeOwner, build_function_name

T = TypeVar("T")


class Host1Account(Struct, frozen=True):
    """One project with its team, endpoint and token."""

    base_url: str
    token: Secret[str]
    project: str
    team: str = ""
    # Replaces public domains, with a `{domain}` placeholder; empty by default.
    sites_url: str = ""

    def path(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """Append the query parameters that every call needs."""
        whole = {**(query or {}), **({"teamId": self.team} if self.team else {})}
        return path + (f"?{urlencode(whole)}" if whole else "")

    def project_path(self, version: str, rest: str = "") -> str:
        return f"/{version}/projects/{quote(self.project, safe='')}{rest}"

    def endpoint(self, domain: str) -> str:
        return self.sites_url.replace("{domain}", domain) or f"https://{domain}"


class _FaultText(Struct, frozen=True):
    code: str = ""
    message: str = ""
    missing: tuple[str, ...] = ()


class Host1Fault(Struct, frozen=True):
    error: _FaultText = _FaultText()


class MissingFilesError(RefusedCallError):
    """A deployment lacks files at Vercel; `digests` are their hashes."""

    def __init__(self, refusal: RefusedCallError, digests: tuple[str, ...]) -> None:
        super().__init__(refusal.status, refusal.words, refusal.call, refusal.codes)
        self.digests = digests


class Host1Api(TokenApi[Host1Account]):
    provider = "host1"

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = self._send(call)
        if reply.ok:
            return decode_reply(call, replace(reply, content=reply.content or b"null"), kind)
        said = decode_reply(call, replace(reply, content=reply.content or b"{}"), Host1Fault).error
        refusal = RefusedCallError(reply.status, said.message, call.title, frozenset((said.code,)))
        if said.missing:
            raise MissingFilesError(refusal, said.missing)
        raise refusal


# Whatever is below it may be gone by itself.
_OF_THE_PROJECT = re.compile(r"GET /v9/projects/[^/]+(/domains)?")
_LOGIN_STATUS = frozenset((401, 403))


def classify_refusal(whose: str, error: RefusedCallError, quoted: Quoted) -> Problem:
    words = f"{whose}: `{error.call}` was rejected, {error.status} {quoted(error.words)}"
    if error.status in _LOGIN_STATUS:
        hint = (
            "check `HOST1_TOKEN` and its access to the project `HOST1_PROJECT_ID`, and "
            "`HOST1_ORG_ID` for a project of a team"
        )
        return Problem("credentials/refused", words, hint)
    if error.is_gone and _OF_THE_PROJECT.fullmatch(error.call):
        hint = (
            "check that `HOST1_PROJECT_ID` is a project ID the token can access, and "
            "`HOST1_ORG_ID` the ID of its team"
        )
        return Problem("credentials/refused", words, hint)
    return Problem("provider/refused", words, format_generic_hint("Vercel"))


_MARK_LENGTH, _PART_LENGTH = 32, 12
# Names in the metadata of a deployment, where each deployment of ours says what it is.
_OWNER, _NAME, _MARK, _PARTS = "fabric", "fabricService", "fabricMark", "fabricFunctions"


class ProjectOwner(WholeOwner, frozen=True):
    """The owner of a deployment, as its metadata shows it."""

    def build_metadata(self, mark: str, marks: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Build the metadata. `marks` maps names of functions to their marks."""
        parts = " ".join(sorted(_hash_part(*one) for one in marks))
        mark = mark[:_MARK_LENGTH]
        return {_OWNER: self.digest, _NAME: self.name, _MARK: mark, _PARTS: parts}

    def is_of(self, said: Mapping[str, str]) -> bool:
        return said.get(_OWNER) == self.digest

    def count_in(self, said: Mapping[str, str], function: str, mark: str) -> int:
        """Return the number of functions in a deployment, or 0 if this function with this mark is
        not among them."""
        parts = said.get(_PARTS, "").split(" ") if self.is_of(said) else []
        return len(parts) if _hash_part(function, mark) in parts else 0


def _hash_part(function: str, mark: str) -> str:
    return hash_fields((function, mark))[:_PART_LENGTH]


def mark_in(said: Mapping[str, str]) -> str:
    return said.get(_MARK, "")


def name_in(said: Mapping[str, str]) -> str:
    """Return the name of the deployment's service; empty for another owner."""
    return said.get(_NAME, "") if _OWNER in said else ""


def build_project_owner(address: DeploymentAddress) -> ProjectOwner:
    return ProjectOwner(address.service, address.stage)


class FunctionClock(Struct, frozen=True):
    """A schedule of a function, and the secret path that the scheduler calls.

    The path is derived from values that are not public, so it cannot be guessed.
    """

    schedule: str
    zone: str
    path: str


def list_function_clocks(
    address: DeploymentAddress, order: FunctionOrder
) -> tuple[FunctionClock, ...]:
    name = build_function_name(address, order.name)
    secret = hash_fields(("clock", order.name, order.mark, order.artifact.sha256))
    return tuple(
        FunctionClock(schedule, zone, f"{OWN_PATHS}clock/{name}/{number}-{secret[:_MARK_LENGTH]}")
        for number, (schedule, zone) in enumerate(list_schedules(order.triggers))
    )


OWN_PATHS = "/_fabric/"


_NODE = re.compile(r"nodejs(?:(\d+)(?:\.x)?)?")
_VERSIONS = ("20", "22", "24")
_USUAL = "22"


def choose_vercel_runtime(runtime: str) -> str:
    """Return the runtime, the default version if none is given; empty if Vercel does not support
    it."""
    found = _NODE.fullmatch(runtime)
    version = (found[1] or _USUAL) if found else ""
    return f"nodejs{version}.x" if version in _VERSIONS else ""


_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)


def convert_own_cron(schedule: str, zone: str = "") -> str:
    """Convert a schedule. Raises a ValueError if Vercel cannot express it."""
    minute, hour, day, month, weekday = convert_utc_schedule(schedule, zone, "Vercel").split()
    if day != "*" and weekday != "*":
        raise ValueError("a day of the month and a day of the week cannot be combined")
    return " ".join(
        (minute, hour, day, _number_names(month, _MONTHS, 1), _number_names(weekday, _DAYS, 0))
    )


def _number_names(field: str, names: tuple[str, ...], first: int) -> str:
    return re.sub(r"[A-Za-z]+", lambda hit: str(names.index(hit[0].upper()) + first), field)
