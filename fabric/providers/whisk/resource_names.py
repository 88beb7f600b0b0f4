"""Names and owners of a service's resources in a namespace. No effects."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import Json
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import shorten_name

# Names there have 256 letters; ours have other names behind them.
_LONGEST = 200
_BETWEEN = "--"
_DIGEST = 12
OWNER, MARK, AROUND, ARCHIVE, MET = (
    *("fabric-owner", "fabric-mark", "fabric-around", "fabric-archive"),
    "fabric-met",
)


class WhiskPlace(Struct, frozen=True):
    """A namespace; `host` distinguishes equal names at several installations."""

    namespace: str
    host: str = ""

    @property
    def id(self) -> str:
        return f"{self.host}/{self.namespace}" if self.host else self.namespace


def refuse_ways_out(variable: str, namespace: str) -> None:
    """Raise for a path part such as `..`, which escaping cannot make safe."""
    if namespace.strip(".") == "":
        message = f"`{variable}` is `{namespace}`, which is not a valid namespace"
        raise FabricError(Problem("credentials/unreadable", message))


class WhiskAnnotation(Struct, frozen=True):
    key: str
    value: object = None


Annotations = Sequence[WhiskAnnotation]


def read_annotation(annotations: Annotations, name: str) -> str:
    """Return the text of an annotation, or an empty text for any other value."""
    found = next((one.value for one in annotations if one.key == name), "")
    return found if isinstance(found, str) else ""


def build_annotations(texts: Mapping[str, Json]) -> list[Json]:
    return [{"key": name, "value": value} for name, value in texts.items()]


def package_name(address: DeploymentAddress) -> str:
    return shorten_name(f"{address.service}-{address.stage}", _LONGEST)


def package_owner(address: DeploymentAddress) -> str:
    return f"{address.service}/{address.stage}"


def format_action_owner(address: DeploymentAddress, function: str) -> str:
    return f"{package_owner(address)}/{function}"


def build_version_name(function: str, mark: str, around: str) -> str:
    return f"{function}{_BETWEEN}{hash_fields((mark, around))[:_DIGEST]}"


def format_resource_id(place: WhiskPlace, package: str, version: str) -> str:
    return f"{place.id}/{package}/{version}"


def place_in(resource: str) -> str:
    """Return the place in a resource id; empty for another kind of id."""
    parts = resource.rsplit("/", 2)
    return parts[0] if len(parts) > 2 else ""  # noqa: PLR2004 - place, package, version


def read_version(resource: str) -> str:
    """Return the name of the version's action; empty if the id names none."""
    return resource.rpartition("/")[2]
