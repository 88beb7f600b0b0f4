"""The deployed form of a function: a Cloud Function, or the Cloud Run service of an image."""

from msgspec import Struct, field

from fabric.providers.cloud2.client import RUN, Cloud2Call, build_cloud2_call
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.core.contract import LiveFunction
from fabric.providers.core.ownership import OWNER, FunctionOwner

MOVING = frozenset(("DEPLOYING", "DELETING"))
_SERVICES = "/services/"
# Cloud Functions labels its own services.
_MANAGER, _FUNCTIONS = "goog-managed-by", "cloudfunctions"


class ServedBy(Struct, frozen=True, rename="camel"):
    uri: str = ""
    service_account_email: str = ""


class Cloud2Row(Struct, frozen=True, rename="camel"):
    name: str
    state: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    service_config: ServedBy = ServedBy()

    def is_of(self, owner: FunctionOwner) -> bool:
        return self.labels.get(OWNER) == owner.label and self.labels.get(_MANAGER) != _FUNCTIONS

    @property
    def is_service(self) -> bool:
        return is_service(self.name)


class _Template(Struct, frozen=True, rename="camel"):
    service_account: str = ""


class _ServiceRow(Struct, frozen=True, rename="camel"):
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    uri: str = ""
    reconciling: bool = False
    template: _Template = _Template()


def is_service(resource_id: str) -> bool:
    """Return whether an id names a Cloud Run service, or a revision of one."""
    return _SERVICES in resource_id


def fetch_function(work: Cloud2Work, name: str) -> Cloud2Row | None:
    return work.look(Cloud2Call("GET", f"/v2/{work.place.function(name)}"), Cloud2Row)


def fetch_service(work: Cloud2Work, name: str) -> Cloud2Row | None:
    call = build_cloud2_call(RUN, "GET", f"/v2/{work.place.service(name)}")
    row = work.look(call, _ServiceRow)
    if row is None:
        return None
    state = "DEPLOYING" if row.reconciling else "ACTIVE"
    served = ServedBy(row.uri, row.template.service_account)
    return Cloud2Row(row.name, state, row.labels, served)


def fetch_either(work: Cloud2Work, name: str) -> Cloud2Row | None:
    return fetch_function(work, name) or fetch_service(work, name)


def fetch_deployed(work: Cloud2Work, one: LiveFunction) -> Cloud2Row | None:
    fetch = fetch_service if is_service(one.resource_id) else fetch_function
    return fetch(work, one.resource_name)
