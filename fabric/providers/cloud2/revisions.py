"""Cloud Run revisions of functions, and their traffic."""

import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem, raise_if_any
from fabric.model.task import Pairs
from fabric.providers.cloud2.client import RUN, Cloud2Call, build_cloud2_call
from fabric.providers.cloud2.source import ENTRY_POINT, RUNTIMES
from fabric.providers.cloud2.work import (
    NO_MARK,
    Cloud2Settings,
    Cloud2Work,
    OperationRow,
    RevisionMark,
    mark_in,
    wait_for_operation,
)
from fabric.providers.core.contract import FunctionOrder
from fabric.providers.core.ownership import OWNER, FunctionOwner
from fabric.providers.core.sources import TOO_LARGE, read_memory, read_timeout

_BY_REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
_FAILED, _READY = "CONDITION_FAILED", "Ready"
_PAGE = 100
_ALL = 100


class _Variable(Struct, frozen=True):
    name: str
    value: str = ""


class _Container(Struct, frozen=True):
    image: str = ""
    env: tuple[_Variable, ...] = ()


class _Condition(Struct, frozen=True):
    type: str = ""
    state: str = ""


class RevisionRow(Struct, frozen=True, rename="camel"):
    name: str
    create_time: str = ""
    containers: tuple[_Container, ...] = ()
    conditions: tuple[_Condition, ...] = ()

    @property
    def id(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def is_good(self) -> bool:
        return not any(one.type == _READY and one.state == _FAILED for one in self.conditions)

    @property
    def image(self) -> str:
        return next((one.image for one in self.containers), "")

    @property
    def mark(self) -> RevisionMark:
        env = (pair for one in self.containers for pair in one.env)
        return next((mark_in(one.value) for one in env if one.name == MARK), NO_MARK)


class _RevisionPage(Struct, frozen=True, rename="camel"):
    revisions: tuple[RevisionRow, ...] = ()
    next_page_token: str = ""


class Traffic(Struct, frozen=True, omit_defaults=True):
    type: str = ""
    revision: str = ""
    percent: int = 0
    tag: str = ""


class ServingRow(Struct, frozen=True, rename="camel"):
    """The Cloud Run service behind a function."""

    name: str
    traffic: tuple[Traffic, ...] = ()
    latest_ready_revision: str = ""

    @property
    def met(self) -> str:
        """The revision with most of the traffic."""
        there = [one for one in self.traffic if one.percent]
        most = max(there, key=lambda one: one.percent, default=None)
        if most is not None and most.revision:
            return most.revision
        return self.latest_ready_revision.rpartition("/")[2]

    @property
    def is_pinned(self) -> bool:
        """Whether new revisions receive no traffic until it is assigned."""
        there = [one for one in self.traffic if one.percent]
        return bool(there) and all(one.type == _BY_REVISION for one in there)

    def is_all_on(self, revision: str) -> bool:
        there = [one for one in self.traffic if one.percent]
        return self.is_pinned and all(one.revision == revision for one in there)


def fetch_serving(work: Cloud2Work, name: str) -> ServingRow | None:
    return work.look(build_cloud2_call(RUN, "GET", f"/v2/{work.place.service(name)}"), ServingRow)


def fetch_revision(work: Cloud2Work, name: str, ident: str) -> RevisionRow | None:
    path = f"/v2/{work.place.service(name)}/revisions/{quote(ident, safe='')}"
    return work.look(build_cloud2_call(RUN, "GET", path), RevisionRow)


def find_revision(work: Cloud2Work, name: str, wanted: RevisionMark) -> RevisionRow | None:
    """Find the oldest revision with this mark: manual edits copy the mark into later ones. Without
    given surroundings, any match."""
    found = [
        one for one in _list_revisions(work, name) if one.is_good and _is_match(one.mark, wanted)
    ]
    return min(found, key=_read_creation_time) if found else None


def _read_creation_time(row: RevisionRow) -> str:
    return row.create_time


def _is_match(mark: RevisionMark, wanted: RevisionMark) -> bool:
    return bool(mark.mark) and mark.mark == wanted.mark and wanted.around in ("", mark.around)


def _list_revisions(work: Cloud2Work, name: str) -> Iterator[RevisionRow]:
    token = ""
    while True:
        query = f"pageSize={_PAGE}" + (f"&pageToken={quote(token, safe='')}" if token else "")
        path = f"/v2/{work.place.service(name)}/revisions?{query}"
        page = work.look(build_cloud2_call(RUN, "GET", path), _RevisionPage) or _RevisionPage()
        yield from page.revisions
        token = page.next_page_token
        if not token:
            return


def activate_version(work: Cloud2Work, name: str, ident: str) -> bool:
    """Route all traffic to this revision and keep tagged URLs. Returns whether anything changed."""

    def act(work: Cloud2Work) -> bool:
        row = fetch_serving(work, name)
        if row is None:
            raise FabricError(_missing_function_problem(name))
        if row.is_all_on(ident):
            return False
        begun = work.api.once(_build_traffic_call(row, ident), OperationRow)
        wait_for_operation(work, RUN, begun, f"traffic to the revision `{ident}`")
        return True

    return work.trying(act)


def pin_traffic(work: Cloud2Work, name: str) -> None:
    """Keep traffic on the current revision when a new one is created."""
    row = fetch_serving(work, name)
    if row is not None and row.met and not row.is_pinned:
        activate_version(work, name, row.met)


def _build_traffic_call(row: ServingRow, ident: str) -> Cloud2Call:
    tagged = [replace(one, percent=0) for one in row.traffic if one.tag]
    rows = [Traffic(_BY_REVISION, ident, _ALL), *tagged]
    path = f"/v2/{row.name}?updateMask=traffic"
    return build_cloud2_call(RUN, "PATCH", path, {"traffic": rows})


def _missing_function_problem(name: str) -> Problem:
    message = f"the function `{name}` no longer exists"
    return Problem("provider/gone", message, "run: fabric deploy --force")


MARK, CLOCK = "FABRIC_MARK", "FABRIC_CLOCK"
_ENV_BYTES = 32 * 1024
_LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
# The runtime there sets these itself.
RESERVED = frozenset(
    (
        *(MARK, CLOCK, "PORT", "K_SERVICE", "K_REVISION", "K_CONFIGURATION"),
        *("FUNCTION_TARGET", "FUNCTION_SIGNATURE_TYPE", "FUNCTION_SOURCE", "FUNCTION_TRIGGER_TYPE"),
        *("CLOUD_RUN_TIMEOUT_SECONDS", "GOOGLE_CLOUD_PROJECT", "LOG_EXECUTION_ID"),
        *("ENTRY_POINT", "GCP_PROJECT", "GCLOUD_PROJECT", "GOOGLE_FUNCTION_TARGET"),
    )
)
RESERVED_BEGINS = "X_GOOGLE_"


def is_reserved(name: str) -> bool:
    return name in RESERVED or name.startswith(RESERVED_BEGINS)


# Whatever else somebody has set by hand stays as it is.
UPDATED = (
    *("description", "labels"),
    *("buildConfig.source", "buildConfig.runtime", "buildConfig.entryPoint"),
    *("serviceConfig.environmentVariables", "serviceConfig.availableMemory"),
    *("serviceConfig.timeoutSeconds", "serviceConfig.maxInstanceCount"),
    *("serviceConfig.maxInstanceRequestConcurrency", "serviceConfig.serviceAccountEmail"),
    "serviceConfig.allTrafficOnLatestRevision",
)


class Cloud2Plan(Struct, frozen=True):
    """An order with values computed from it."""

    order: FunctionOrder
    name: str
    owner: FunctionOwner
    mark: RevisionMark
    # The secret that schedule calls contain.
    clock: str = ""
    own: Cloud2Settings = Cloud2Settings()
    # The settings that fabric set last time, from the label of the function.
    settings_before: frozenset[str] = frozenset()

    @property
    def settings(self) -> JsonObject:
        """The optional settings, by their names in the API."""
        return build_optional_settings(self.own, self.order)

    @property
    def update_mask(self) -> str:
        """The fields to write. Settings that fabric never set are kept."""
        more = sorted((self.settings.keys() | self.settings_before) & _SETTINGS.keys())
        return ",".join((*UPDATED, *(f"serviceConfig.{name}" for name in more)))


INGRESS_SETTING = "ingressSettings"
# Settings with their short names in the label.
_SETTINGS = {
    "minInstanceCount": "min",
    "availableCpu": "cpu",
    "vpcConnector": "vpc",
    "vpcConnectorEgressSettings": "egress",
    INGRESS_SETTING: "ingress",
    "secretEnvironmentVariables": "secrets",
}
_SETTINGS_LABEL = "fabric-settings"
EGRESS = {"private-ranges-only": "PRIVATE_RANGES_ONLY", "all-traffic": "ALL_TRAFFIC"}
INGRESS = {
    "all": "ALLOW_ALL",
    "internal": "ALLOW_INTERNAL_ONLY",
    "internal-and-load-balancer": "ALLOW_INTERNAL_AND_GCLB",
}


def read_settings_label(labels: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the optional settings that fabric set last time."""
    short = labels.get(_SETTINGS_LABEL, "").split("_")
    return frozenset(name for name, text in _SETTINGS.items() if text in short)


def build_optional_settings(own: Cloud2Settings, order: FunctionOrder) -> JsonObject:
    wanted: JsonObject = {
        "minInstanceCount": choose_instances(own, order)[0],
        "availableCpu": f"{own.cpu:g}" if own.cpu else "",
        "vpcConnector": own.vpc_connector,
        "vpcConnectorEgressSettings": EGRESS.get(own.vpc_egress, ""),
        INGRESS_SETTING: INGRESS.get(own.ingress, ""),
        "secretEnvironmentVariables": [
            {
                "key": name,
                "secret": one.secret,
                "version": one.version,
                **({"projectId": one.project} if one.project else {}),
            }
            for name, one in sorted(own.secrets.items())
        ],
    }
    return {name: value for name, value in wanted.items() if value}


def build_function_document(plan: Cloud2Plan, source: JsonObject) -> JsonObject:
    """Build the document of a function. A new revision of an existing function receives no traffic
    yet."""
    order = plan.order
    return {
        "description": plan.owner.describe(),
        "labels": build_labels(plan),
        "environment": "GEN_2",
        "buildConfig": {
            "runtime": RUNTIMES.require(order).id,
            "entryPoint": ENTRY_POINT,
            "source": {"storageSource": source},
        },
        "serviceConfig": {
            "environmentVariables": build_variables(plan),
            "allTrafficOnLatestRevision": False,
            **_build_sizes(order, plan.own),
            **plan.settings,
            **(
                {"serviceAccountEmail": plan.own.service_account}
                if plan.own.service_account
                else {}
            ),
        },
    }


def build_labels(plan: Cloud2Plan) -> dict[str, str]:
    given = "_".join(text for name, text in _SETTINGS.items() if name in plan.settings)
    settings = {_SETTINGS_LABEL: given} if given else {}
    return {OWNER: plan.owner.label, **dict(plan.order.tags), **settings}


def build_variables(plan: Cloud2Plan) -> dict[str, str]:
    """Build the variables with the mark of the revision, and the secret of schedules."""
    env = {**dict(plan.order.env.reveal()), MARK: plan.mark.text}
    is_timed = any(json.loads(text).get("type") == "cron" for text in plan.order.triggers)
    return {**env, CLOCK: plan.clock} if is_timed else env


def choose_instances(own: Cloud2Settings, order: FunctionOrder) -> tuple[int, int]:
    """Return the minimum and maximum number of instances; 0 for the default."""
    provisioned = order.provisioned_concurrency or 0
    least = -(-provisioned // max(own.concurrency, 1))
    return least, order.reserved_concurrency or own.max_instances


def _build_sizes(order: FunctionOrder, own: Cloud2Settings) -> JsonObject:
    """Limit concurrency to one call per instance, unless the config sets another number."""
    wanted = {
        "availableMemory": f"{read_memory(order)}Mi" if read_memory(order) else None,
        "timeoutSeconds": read_timeout(order) or None,
        "maxInstanceCount": choose_instances(own, order)[1] or None,
    }
    told = {name: value for name, value in wanted.items() if value is not None}
    return {"maxInstanceRequestConcurrency": max(own.concurrency, 1), **told}


def refuse_order(order: FunctionOrder) -> None:
    """Raise for an unsupported order before any API call: variable values are first known here."""
    raise_if_any(_find_misfits(order))


def _find_misfits(order: FunctionOrder) -> Iterator[Problem]:
    whose = f"function `{order.name}`"
    pairs = order.env.reveal()
    size = sum(len(name.encode()) + len(text.encode()) for name, text in pairs)
    if size > _ENV_BYTES:
        message = f"{whose}: its environment has {size:,} bytes; Google Cloud allows {_ENV_BYTES:,}"
        yield Problem("deploy/environment-too-large", message, TOO_LARGE)
    yield from find_tag_problems(order.name, order.tags)


def find_tag_problems(function: str, tags: Pairs) -> Iterator[Problem]:
    for name, value in tags:
        if name in (OWNER, _SETTINGS_LABEL) or not (
            _LABEL.fullmatch(name) and _LABEL_VALUE.fullmatch(value)
        ):
            why = f"has the tag `{name}: {value}`, which is not a valid Google Cloud label"
            hint = "use lowercase letters, digits, `_` and `-`, at most 63 characters each"
            yield Problem("config/unfit", f"function `{function}` {why}", hint)
