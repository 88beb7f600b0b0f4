"""What the config says of cloud2 alone, what functions are called there, and whose they are. No
effects."""

import hmac
import re

from msgspec import Struct

from fabric.model.hashing import digest_fields
from fabric.providers.contract import DeploymentAddress
from fabric.providers.naming import resource_name, shortened

REGION = "us-central1"
# What serves a function has its name where that is no longer.
_NAME_LENGTH = 49
_OTHERS = re.compile(r"[^a-z0-9-]+")
_OWNER_LENGTH = 16
OWNER = "fabric-owner"


class Cloud2Settings(Struct, frozen=True, rename="camel"):
    """What the provider's own part of a config says. `service_account` is whom functions, and the
    clocks that call them, run as; empty for the project's own default."""

    service_account: str = ""


class Cloud2Place(Struct, frozen=True):
    """A project and a region, as paths of the interface begin with them."""

    project: str
    region: str

    @property
    def path(self) -> str:
        return f"projects/{self.project}/locations/{self.region}"

    def function(self, name: str) -> str:
        return f"{self.path}/functions/{name}"

    def service(self, name: str) -> str:
        """What serves the function of this name."""
        return f"{self.path}/services/{name}"

    def job(self, name: str) -> str:
        return f"{self.path}/jobs/{name}"


def function_name(address: DeploymentAddress, function: str) -> str:
    """Small letters, digits and hyphens, with a letter first."""
    plain = _OTHERS.sub("-", resource_name(address, function).lower()).strip("-")
    named = plain if plain[:1].isalpha() else f"f-{plain}"
    return shortened(named, _NAME_LENGTH).rstrip("-")


class Cloud2Owner(Struct, frozen=True):
    """Whose a function or a job is."""

    service: str
    stage: str
    function: str

    @property
    def title(self) -> str:
        return f"{self.service}/{self.stage}/{self.function}"

    @property
    def label(self) -> str:
        """Values of labels are short, and of small letters."""
        return digest_fields((self.service, self.stage, self.function))[:_OWNER_LENGTH]

    @property
    def words(self) -> str:
        """For a description, where there are no labels."""
        return f"{self.title}, deployed by fabric ({OWNER}={self.label})"

    def is_in(self, description: str) -> bool:
        return f"({OWNER}={self.label})" in description


def clock_key(address: DeploymentAddress, owner: Cloud2Owner) -> str:
    """What a clock's call says, where everybody else may call, too: known to who may read the
    service's record, or the function at cloud2. It stays the same from deploy to deploy."""
    salt = address.previous.salt if address.previous else ""
    if not salt:
        return ""
    return hmac.new(salt.encode(), f"clock {owner.label}".encode(), "sha256").hexdigest()[:32]


def owner_of(address: DeploymentAddress, function: str) -> Cloud2Owner:
    return Cloud2Owner(address.service, address.stage, function)


class RevisionMark(Struct, frozen=True):
    """What a revision says of itself, in a variable of its own: a label of a function would tell
    what was asked for last, and not what a revision is."""

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


def version_id(place: Cloud2Place, name: str, revision: str) -> str:
    return f"{place.function(name)}@{revision}"


def revision_in(resource_id: str) -> str:
    """Empty for an id that names none."""
    return resource_id.partition("@")[2]


def place_in(resource_id: str) -> Cloud2Place | None:
    found = re.match(r"projects/([^/]+)/locations/([^/]+)/", resource_id)
    return Cloud2Place(found[1], found[2]) if found else None
