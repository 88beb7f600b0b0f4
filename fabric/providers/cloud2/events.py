"""Schedules on Google Cloud: a scheduler job per schedule, which calls the function with a service
account."""

import base64
import json
from collections.abc import Collection, Iterator, Sequence
from urllib.parse import quote

from msgspec import Raw, Struct, field
from msgspec.structs import replace

from fabric.model.calls.sample_events import sample_event
from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError
from fabric.providers.cloud2.client import DISABLED, RUN, SCHEDULER, build_cloud2_call
from fabric.providers.cloud2.work import Cloud2Work
from fabric.providers.core.errors import RefusedCallError, ignore_missing
from fabric.providers.core.ownership import FunctionOwner, foreign_resource_problem
from fabric.providers.core.payloads import format_json
from fabric.providers.core.retry import poll_until
from fabric.providers.core.triggers import convert_to_five_fields

CLOCK_HEADER = "X-Fabric-Clock"
_UTC = "Etc/UTC"
_PAGE = 500
_DIGEST = 8
# What cloud2 waits for an answer at most, in seconds.
LONGEST = 1_800
_SENT = "description,schedule,timeZone,attemptDeadline,httpTarget"


class JobRow(Struct, frozen=True, rename="camel"):
    name: str
    description: str = ""


class _JobPage(Struct, frozen=True, rename="camel"):
    jobs: tuple[JobRow, ...] = ()
    next_page_token: str = ""


class DesiredJob(Struct, frozen=True):
    """A desired scheduler job. `digest` is a hash of all its settings and identifies earlier
    versions."""

    id: str
    document: JsonObject
    # The number of the config trigger.
    number: int = 0

    @property
    def title(self) -> str:
        return f"its schedule `{self.document['schedule']}`"

    @property
    def digest(self) -> str:
        return hash_fields((self.id, format_json(self.document)))[:16]


class ClockCall(Struct, frozen=True):
    """A function that schedules call: its URL, the service account, and the secret in the call."""

    name: str
    owner: FunctionOwner
    uri: str
    account: str
    clock: str


def list_crons(triggers: Sequence[str]) -> list[JsonObject]:
    return [one for _, one in _number_crons(triggers)]


def _number_crons(triggers: Sequence[str]) -> Iterator[tuple[int, JsonObject]]:
    for number, text in enumerate(triggers):
        trigger = json.loads(text)
        if trigger.get("type") == "cron":
            yield number, trigger


def choose_zone(trigger: JsonObject) -> str:
    return str(trigger.get("timezone") or _UTC)


def plan_jobs(called: ClockCall, triggers: Sequence[str]) -> dict[str, DesiredJob]:
    """Plan one job per distinct schedule."""
    found: dict[str, DesiredJob] = {}
    for number, trigger in _number_crons(triggers):
        schedule, zone = (
            convert_to_five_fields(str(trigger.get("schedule", ""))),
            choose_zone(trigger),
        )
        ident = f"{called.name}-{hash_fields((schedule, zone))[:_DIGEST]}"
        event = format_json(sample_event("cron", trigger))
        target: JsonObject = {
            "uri": called.uri,
            "httpMethod": "POST",
            "headers": {"Content-Type": "application/json", CLOCK_HEADER: called.clock},
            "body": base64.b64encode(event.encode()).decode(),
            "oidcToken": {"serviceAccountEmail": called.account, "audience": called.uri},
        }
        found[ident] = DesiredJob(
            ident,
            {
                "description": called.owner.describe(),
                "schedule": schedule,
                "timeZone": zone,
                "attemptDeadline": f"{LONGEST}s",
                "httpTarget": target,
            },
            number,
        )
    return found


def list_own_jobs(work: Cloud2Work, owner: FunctionOwner) -> list[str]:
    return [
        one.name.rpartition("/")[2] for one in _fetch_jobs(work) if owner.is_in(one.description)
    ]


def list_all_jobs(work: Cloud2Work) -> list[JobRow]:
    return list(_fetch_jobs(work))


def _fetch_jobs(work: Cloud2Work) -> Iterator[JobRow]:
    """Yield no jobs if the API was never enabled."""
    try:
        yield from _fetch_job_pages(work)
    except RefusedCallError as error:
        if DISABLED not in error.codes:
            raise


def _fetch_job_pages(work: Cloud2Work) -> Iterator[JobRow]:
    token = ""
    while True:
        query = f"pageSize={_PAGE}" + (f"&pageToken={quote(token, safe='')}" if token else "")
        call = build_cloud2_call(SCHEDULER, "GET", f"/v1/{work.place.path}/jobs?{query}")
        page = work.ask(call, _JobPage)
        yield from page.jobs
        token = page.next_page_token
        if not token:
            return


def set_job(work: Cloud2Work, wanted: DesiredJob, owner: FunctionOwner) -> None:
    """Create or update a job."""
    name = work.place.job(wanted.id)

    def act(work: Cloud2Work) -> None:
        row = work.look(build_cloud2_call(SCHEDULER, "GET", f"/v1/{name}"), JobRow)
        if row is not None and not owner.is_in(row.description):
            raise FabricError(foreign_resource_problem("scheduler job", wanted.id, owner.title))
        if row is None:
            document = {"name": name, **wanted.document}
            call = build_cloud2_call(SCHEDULER, "POST", f"/v1/{work.place.path}/jobs", document)
        else:
            path = f"/v1/{name}?updateMask={_SENT}"
            call = build_cloud2_call(SCHEDULER, "PATCH", path, wanted.document)
        work.api.once(call, object)

    work.trying(act)


def delete_job(work: Cloud2Work, ident: str) -> None:
    with ignore_missing():
        path = f"/v1/{work.place.job(ident)}"
        work.ask(build_cloud2_call(SCHEDULER, "DELETE", path), object)


EVERYBODY = "allUsers"
_READY = "/.fabric/ready"
_ROLE = "roles/run.invoker"
# Conditions are told only to who asks so.
_ASKED = "options.requestedPolicyVersion=3"


class _PolicyRow(Struct, frozen=True, omit_defaults=True):
    role: str
    members: tuple[str, ...] = ()
    condition: Raw | None = None


class _Policy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An IAM policy."""

    version: int = 0
    etag: str = ""
    bindings: tuple[_PolicyRow, ...] = ()
    # Written back unchanged.
    audit_configs: tuple[Raw, ...] = field(default_factory=tuple)


def format_account_member(email: str) -> str:
    return f"serviceAccount:{email}"


def let_call(
    work: Cloud2Work, name: str, members: Collection[str], others: Collection[str]
) -> bool:
    """Grant these members the permission, and revoke it from `others`; all remaining members keep
    it. Returns whether the policy changed."""
    service = f"/v2/{work.place.service(name)}"

    def act(work: Cloud2Work) -> bool:
        look = build_cloud2_call(RUN, "GET", f"{service}:getIamPolicy?{_ASKED}")
        policy = work.api.once(look, _Policy)
        there = {one for row in policy.bindings if _is_plain(row) for one in row.members}
        wanted = (there - set(others)) | set(members)
        if wanted == there:
            return False
        document = {"policy": _with(policy, wanted)}
        call = build_cloud2_call(RUN, "POST", f"{service}:setIamPolicy", document)
        work.api.once(call, object)
        return True

    return work.trying(act)


def is_open(work: Cloud2Work, uri: str) -> bool:
    """Return whether a new public permission has reached the function's endpoint. The server around
    the handler answers, so the handler is not called."""
    found = poll_until(lambda: work.api.meets(uri + _READY) or None, work.waiting, work.watch)
    return found is not None


def _is_plain(row: _PolicyRow) -> bool:
    return row.role == _ROLE and row.condition is None


def _with(policy: _Policy, members: Collection[str]) -> _Policy:
    rest = tuple(row for row in policy.bindings if not _is_plain(row))
    own = (_PolicyRow(_ROLE, tuple(sorted(members))),) if members else ()
    return replace(policy, bindings=(*rest, *own))
