"""The context of Google Cloud calls: settings, names, places, and long-running operations."""

import contextlib
import hmac
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

from msgspec import Raw, Struct, field

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.client import (
    EVENTARC,
    Cloud2Api,
    build_cloud2_call,
    classify_refusal,
)
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.errors import Judged
from fabric.providers.core.ownership import FunctionOwner, RegionalPlace
from fabric.providers.core.retry import RetryPolicy, poll_until, sleep_interruptibly
from fabric.providers.core.triggers import format_resource_name, shorten_name
from fabric.providers.core.work import ApiWork
from fabric.system.retry import TransientError

if TYPE_CHECKING:
    from fabric.system.registries.push import Registries

REGION = "us-central1"
# What serves a function has its name where that is no longer.
_NAME_LENGTH = 49
_OTHERS = re.compile(r"[^a-z0-9-]+")


class SecretReference(Struct, frozen=True):
    """A version of a secret in Secret Manager, by default in the project of the function."""

    secret: str
    version: str = "latest"
    project: str = ""


class Cloud2Settings(Struct, frozen=True, rename="camel", kw_only=True):
    """The settings of this provider's config section. Empty ones are not sent."""

    # The identity of functions and their schedules; empty for the project's default.
    service_account: str = ""
    # Of each function without `reservedConcurrency`.
    max_instances: int = 0
    # Calls of one instance at the same time; 0 means one.
    concurrency: int = 0
    cpu: float = 0
    vpc_connector: str = ""
    vpc_egress: str = ""
    ingress: str = ""
    # By the names of variables.
    secrets: dict[str, SecretReference] = field(default_factory=dict)
    # Whether Eventarc delivers an event again after a failure.
    retry_events: bool = False
    # For the images of functions.
    registry: str = ""


class Cloud2Place(RegionalPlace, frozen=True, kw_only=True):
    """A project and a region, as API paths begin."""

    project: str

    @property
    def path(self) -> str:
        return f"projects/{self.project}/locations/{self.region}"

    def function(self, name: str) -> str:
        return f"{self.path}/functions/{name}"

    def service(self, name: str) -> str:
        """Return the path of the Cloud Run service behind a function."""
        return f"{self.path}/services/{name}"

    def job(self, name: str) -> str:
        return f"{self.path}/jobs/{name}"

    @property
    def title(self) -> str:
        return f"in `{self.path}`"

    def differs_from(self, other: Self, *, is_region_known: bool) -> bool:
        """Compare projects, and regions if known. A missing project is reported with the missing
        credentials."""
        is_other = self != other if is_region_known else self.project != other.project
        return bool(other.project) and is_other


def build_function_name(address: DeploymentAddress, function: str) -> str:
    """Build a name of lowercase letters, digits and hyphens that starts with a letter."""
    plain = _OTHERS.sub("-", format_resource_name(address, function).lower()).strip("-")
    named = plain if plain[:1].isalpha() else f"f-{plain}"
    return shorten_name(named, _NAME_LENGTH).rstrip("-")


def derive_clock_key(address: DeploymentAddress, owner: FunctionOwner) -> str:
    """Derive the secret of schedule calls to a public function. It is equal for all deploys.

    Users with read access to the record or to the function at Google Cloud can know it.
    """
    salt = address.previous.salt if address.previous else ""
    if not salt:
        return ""
    return hmac.new(salt.encode(), f"clock {owner.label}".encode(), "sha256").hexdigest()[:32]


class RevisionMark(Struct, frozen=True):
    """The mark of a revision, in a separate variable. A function label would show the last
    requested state, not the state of a revision."""

    mark: str
    around: str
    archive: str

    @property
    def text(self) -> str:
        return f"{self.mark}:{self.around}:{self.archive}"


NO_MARK = RevisionMark("", "", "")


def mark_in(text: str) -> RevisionMark:
    parts = text.split(":")
    return RevisionMark(*parts) if len(parts) == len(RevisionMark.__struct_fields__) else NO_MARK


def format_version_id(path: str, revision: str) -> str:
    """Format the id of a revision. `path` is that of its function or service."""
    return f"{path}@{revision}"


def parse_revision(resource_id: str) -> str:
    """Return the revision of an id; empty if it names none."""
    return resource_id.partition("@")[2]


def place_in(resource_id: str) -> Cloud2Place | None:
    found = re.match(r"projects/([^/]+)/locations/([^/]+)/", resource_id)
    return Cloud2Place(project=found[1], region=found[2]) if found else None


# A build takes a minute or two, and more where many are built at once.
BUILDING = RetryPolicy(base=1.0, cap=5.0, most=900.0)
# Words for an operation that broke off, and may be begun again: ABORTED and UNAVAILABLE.
_PASSING = frozenset((10, 14))


class Cloud2Work(ApiWork[Cloud2Api], frozen=True, kw_only=True):
    """The context of one call. `building` limits the wait for operations."""

    title: str = "Google Cloud"
    judged: Judged = classify_refusal
    own: Cloud2Settings = Cloud2Settings()
    place: Cloud2Place
    # Only deployers have it.
    open_registries: "Callable[[], Registries] | None" = None
    building: RetryPolicy = BUILDING

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Limit the number of parallel builds."""
        while not self.api.builds.acquire(blocking=False):
            sleep_interruptibly(self.building.base, self.building, self.watch)
        try:
            yield
        finally:
            self.api.builds.release()


class OperationFault(Struct, frozen=True):
    code: int = 0
    message: str = ""


class OperationRow(Struct, frozen=True):
    name: str
    done: bool = False
    error: OperationFault | None = None
    response: Raw = Raw(b"null")


def wait_for_operation(
    work: Cloud2Work, interface: str, begun: OperationRow, whose: str
) -> OperationRow:
    """Wait until an operation is done. Raises a TransientError if it can be started again."""
    version = "v1" if interface == EVENTARC else "v2"

    def look() -> OperationRow | None:
        row = work.ask(
            build_cloud2_call(interface, "GET", f"/{version}/{begun.name}"), OperationRow
        )
        return row if row.done else None

    row = begun if begun.done else poll_until(look, work.building, work.watch)
    if row is None:
        raise FabricError(timeout_problem(whose, work.building))
    if row.error is None:
        return row
    words = f"{whose}: {work.quoted(row.error.message or f'code {row.error.code}')}"
    if row.error.code in _PASSING:
        raise TransientError(words)
    raise FabricError(Problem("provider/failed", words, "this is a message from Google Cloud"))


def timeout_problem(whose: str, waiting: RetryPolicy) -> Problem:
    message = f"timeout: {whose} was not ready within {waiting.most:.0f} s"
    return Problem("provider/not-ready", message, "deploy again: existing resources are reused")


# Of each function: the revision with traffic, and its callers.
REVISION, CALLERS = "revision:", "callers:"
