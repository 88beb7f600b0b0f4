"""Cloud Run revisions of functions, and their traffic."""

from collections.abc import Iterator
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud2.api import RUN
from fabric.providers.cloud2.documents import MARK
from fabric.providers.cloud2.settings import NO_MARK, RevisionMark, mark_in
from fabric.providers.cloud2.work import Cloud2Work, OperationRow, wait_for_operation
from fabric.providers.core.http_calls import ProviderCall, build_json_call

_BY_REVISION = "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION"
_FAILED, _READY = "CONDITION_FAILED", "Ready"
_PAGE = 100
_ALL = 100


class _Variable(Struct, frozen=True):
    name: str
    value: str = ""


class _Container(Struct, frozen=True):
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
    return work.look(RUN, f"/v2/{work.place.service(name)}", ServingRow)


def fetch_revision(work: Cloud2Work, name: str, ident: str) -> RevisionRow | None:
    path = f"/v2/{work.place.service(name)}/revisions/{quote(ident, safe='')}"
    return work.look(RUN, path, RevisionRow)


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
        page = work.look(RUN, path, _RevisionPage) or _RevisionPage()
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
        begun = work.api.once(RUN, _build_traffic_call(row, ident), OperationRow)
        wait_for_operation(work, RUN, begun, f"traffic to the revision `{ident}`")
        return True

    return work.trying(act)


def pin_traffic(work: Cloud2Work, name: str) -> None:
    """Keep traffic on the current revision when a new one is created."""
    row = fetch_serving(work, name)
    if row is not None and row.met and not row.is_pinned:
        activate_version(work, name, row.met)


def _build_traffic_call(row: ServingRow, ident: str) -> ProviderCall:
    tagged = [replace(one, percent=0) for one in row.traffic if one.tag]
    rows = [Traffic(_BY_REVISION, ident, _ALL), *tagged]
    return build_json_call("PATCH", f"/v2/{row.name}?updateMask=traffic", {"traffic": rows})


def _missing_function_problem(name: str) -> Problem:
    message = f"the function `{name}` no longer exists"
    return Problem("provider/gone", message, "run: fabric deploy --force")
