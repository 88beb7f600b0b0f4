"""Client of the Vercel API: calls with a token, typed responses and error messages."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.hashing import hash_fields
from fabric.model.problems import Problem
from fabric.model.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.errors import Quoted, RefusedCallError, format_generic_hint
from fabric.providers.core.http_calls import (
    ProviderCall,
    decode_reply,
    open_provider_http,
    send_with_token,
)
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.system.http_client import Http

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


class Host1Api:
    """Thread-safe API client."""

    def __init__(self, account: Host1Account, http: Http | None = None) -> None:
        self.account = account
        self._http = http or open_provider_http("host1")

    def close(self) -> None:
        self._http.close()

    def once(self, call: ProviderCall, kind: type[T]) -> T:
        """Make a call once. Raises a TransientError if the outcome is unknown, otherwise a
        RefusedCallError."""
        reply = send_with_token(self._http, self.account.base_url, self.account.token, call)
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


_NAME_LENGTH = 63
_OTHERS = re.compile(r"[^A-Za-z0-9_-]+")
_OWNER_LENGTH, _MARK_LENGTH, _PART_LENGTH = 16, 32, 12
# Names in the metadata of a deployment, where each deployment of ours says what it is.
_OWNER, _NAME, _MARK, _PARTS = "fabric", "fabricService", "fabricMark", "fabricFunctions"


class Host1Place(Struct, frozen=True):
    """The project in the environment; empty if unset."""

    project: str = ""


class ProjectOwner(Struct, frozen=True):
    """The owner of a deployment, as its metadata shows it."""

    service: str
    stage: str

    @property
    def name(self) -> str:
        return f"{self.service}/{self.stage}"

    @property
    def _digest(self) -> str:
        return hash_fields((self.service, self.stage))[:_OWNER_LENGTH]

    def build_metadata(self, mark: str, marks: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Build the metadata. `marks` maps names of functions to their marks."""
        parts = " ".join(sorted(_hash_part(*one) for one in marks))
        mark = mark[:_MARK_LENGTH]
        return {_OWNER: self._digest, _NAME: self.name, _MARK: mark, _PARTS: parts}

    def is_of(self, said: Mapping[str, str]) -> bool:
        return said.get(_OWNER) == self._digest

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


def build_function_name(address: DeploymentAddress, function: str) -> str:
    name = _OTHERS.sub("-", format_resource_name(address, function))
    return shorten_name(name, _NAME_LENGTH)


class ProjectVersion(Struct, frozen=True):
    """One deployment of one project, with its number of functions."""

    project: str = ""
    deployment: str = ""
    count: int = 0

    @property
    def text(self) -> str:
        return f"{self.project}/{self.deployment}/{self.count}"


def parse_version(resource_id: str) -> ProjectVersion:
    """Parse a resource id; the result is empty if the id names no version."""
    parts = resource_id.rsplit("/", 2)
    is_whole = len(parts) == _VERSION_PARTS and parts[2].isdecimal()
    return ProjectVersion(parts[0], parts[1], int(parts[2])) if is_whole else ProjectVersion()


_VERSION_PARTS = 3


def count_of(settings: Pairs, name: str) -> int:
    """Return a number from the settings; 0 means none."""
    text = dict(settings).get(name, "")
    return int(text) if text.isdigit() else 0


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
        for number, (schedule, zone) in enumerate(list_crons(order.triggers))
    )


OWN_PATHS = "/_fabric/"


def list_crons(triggers: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """List the schedules with their time zones."""
    found = (one for one in map(json.loads, triggers) if one.get("type") == "cron")
    return tuple((one["schedule"], one.get("timezone") or "") for one in found)


_NODE = re.compile(r"nodejs(?:(\d+)(?:\.x)?)?")
_VERSIONS = ("20", "22", "24")
_USUAL = "22"


def choose_vercel_runtime(runtime: str) -> str:
    """Return the runtime, the default version if none is given; empty if Vercel does not support
    it."""
    found = _NODE.fullmatch(runtime)
    version = (found[1] or _USUAL) if found else ""
    return f"nodejs{version}.x" if version in _VERSIONS else ""
