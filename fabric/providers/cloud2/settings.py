"""Google Cloud settings of the config, resource names, and ownership. No effects."""

import hmac
import re

from msgspec import Struct

from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.ownership import FunctionOwner
from fabric.providers.core.triggers import format_resource_name, shorten_name

REGION = "us-central1"
# What serves a function has its name where that is no longer.
_NAME_LENGTH = 49
_OTHERS = re.compile(r"[^a-z0-9-]+")


class Cloud2Settings(Struct, frozen=True, rename="camel"):
    """The settings of this provider's config section."""

    # The identity of functions and their schedules; empty for the project's default.
    service_account: str = ""


class Cloud2Place(Struct, frozen=True):
    """A project and a region, as API paths begin."""

    project: str
    region: str

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


def format_version_id(place: Cloud2Place, name: str, revision: str) -> str:
    return f"{place.function(name)}@{revision}"


def parse_revision(resource_id: str) -> str:
    """Return the revision of an id; empty if it names none."""
    return resource_id.partition("@")[2]


def place_in(resource_id: str) -> Cloud2Place | None:
    found = re.match(r"projects/([^/]+)/locations/([^/]+)/", resource_id)
    return Cloud2Place(found[1], found[2]) if found else None
