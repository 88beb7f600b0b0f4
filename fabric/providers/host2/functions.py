"""Deploys of a Netlify site: find them by title, create, upload and publish them."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import CallContext
from fabric.providers.core.errors import (
    Quoted,
    RefusedCallError,
    convert_refusals,
    format_generic_hint,
    ignore_missing,
)
from fabric.providers.core.http_calls import ProviderCall, build_json_call, retry_transient
from fabric.providers.core.retry import WAITING, RetryPolicy, poll_until
from fabric.providers.host2.client import Host2Api, classify_refusal

T = TypeVar("T")
_PAGE = 100
_READY = "ready"
_FAILED = frozenset(("error", "rejected", "deleted"))
# A site is made ready by others, in their own time: it is waited for longer than for an answer.
_LONGER = 10


class DeployRow(Struct, frozen=True):
    """A deploy."""

    id: str
    state: str = ""
    title: str | None = None
    # Hashes of functions that Netlify still needs.
    required_functions: tuple[str, ...] | None = None
    error_message: str | None = None

    @property
    def is_ready(self) -> bool:
        return self.state == _READY

    @property
    def is_failed(self) -> bool:
        return self.state in _FAILED


class SiteRow(Struct, frozen=True):
    name: str = ""
    url: str = ""
    ssl_url: str | None = None
    published_deploy: DeployRow | None = None

    @property
    def endpoint(self) -> str:
        return (self.ssl_url or self.url).rstrip("/")


class Host2Work(Struct, frozen=True):
    """The context of every call: client, watch, redaction and waiting limits."""

    api: Host2Api
    watch: CallContext
    quoted: Quoted
    waiting: RetryPolicy = WAITING

    @property
    def site(self) -> str:
        return self.api.account.site

    def path(self, rest: str = "") -> str:
        return self.api.account.site_path + rest

    def ask(self, call: ProviderCall, kind: type[T]) -> T:
        """Make an idempotent call, with retries."""
        return self.patient(lambda: self.api.once(call, kind))

    def convert_errors(self, whose: str) -> AbstractContextManager[None]:
        """Convert errors inside to problems of this resource."""
        return convert_refusals(whose, self.quoted, classify_refusal)

    def patient(self, act: Callable[[], T]) -> T:
        return retry_transient(act, "Netlify", self.waiting, self.watch)


def fetch_site(work: Host2Work) -> SiteRow:
    return work.ask(ProviderCall("GET", work.path()), SiteRow)


def fetch_deploy(work: Host2Work, ident: str) -> DeployRow | None:
    """Fetch a deploy. Netlify deletes deploys that stay unpublished for long."""
    try:
        return work.ask(_build_fetch_call(work, ident), DeployRow)
    except RefusedCallError as error:
        if error.is_gone:
            return None
        raise


def _build_fetch_call(work: Host2Work, ident: str) -> ProviderCall:
    return ProviderCall("GET", work.path(f"/deploys/{quote(ident, safe='')}"))


def list_deploys(work: Host2Work) -> Iterator[DeployRow]:
    """Yield all deploys, newest first."""
    page, rows = 1, _fetch_page(work, 1)
    while rows:
        yield from rows
        page += 1
        rows = _fetch_page(work, page) if len(rows) == _PAGE else ()


def list_newest_deploys(work: Host2Work) -> tuple[DeployRow, ...]:
    """Return the newest deploys, as many as one call returns."""
    return _fetch_page(work, 1)


def _fetch_page(work: Host2Work, number: int) -> tuple[DeployRow, ...]:
    return work.patient(lambda: _fetch_page_once(work, number))


def _fetch_page_once(work: Host2Work, number: int) -> tuple[DeployRow, ...]:
    path = work.path(f"/deploys?page={number}&per_page={_PAGE}")
    return work.api.once(ProviderCall("GET", path), tuple[DeployRow, ...])


class DesiredDeploy(Struct, frozen=True):
    """The desired deploy."""

    title: str
    # Contains variable values and must not be shown.
    document: JsonObject
    # Hashes of uploadable functions.
    digests: frozenset[str] = frozenset()

    def among(self, rows: Iterable[DeployRow]) -> DeployRow | None:
        return next((one for one in rows if self.is_met_by(one)), None)

    def is_met_by(self, row: DeployRow) -> bool:
        """Return whether a deploy can be used. A deploy that waits for files with unknown hashes
        cannot: repacking the same files can give other bytes."""
        can_end = self.digests.issuperset(row.required_functions or ())
        return row.title == self.title and not row.is_failed and can_end


def create_deploy(work: Host2Work, wanted: DesiredDeploy) -> DeployRow:
    """Return a deploy with this title, existing or new.

    A deploy from a call with a lost response is among the newest, so the next try finds it.
    """
    path = work.path(f"/deploys?title={quote(wanted.title)}")
    call = build_json_call("POST", path, wanted.document)

    def act() -> DeployRow:
        found = wanted.among(_fetch_page_once(work, 1))
        if found is not None and not found.is_ready:
            # A list does not tell what is still to be brought.
            found = wanted.among([work.api.once(_build_fetch_call(work, found.id), DeployRow)])
        return found or work.api.once(call, DeployRow)

    return work.patient(act)


def is_required(work: Host2Work, ident: str, sha256: str) -> bool:
    row = work.api.once(_build_fetch_call(work, ident), DeployRow)
    return sha256 in (row.required_functions or ())


def wait_until_processed(work: Host2Work, row: DeployRow) -> None:
    """Wait until Netlify has processed all uploads."""
    seen = row.state

    def look() -> DeployRow | None:
        nonlocal seen
        found = work.ask(_build_fetch_call(work, row.id), DeployRow)
        if found.state != seen:
            work.watch.hear(f"the deploy {row.id} is {found.state}")
            seen = found.state
        return found if found.is_failed or found.is_ready else None

    if not row.is_ready:
        work.watch.hear(f"waiting until the deploy {row.id} is ready")
    longer = replace(work.waiting, most=work.waiting.most * _LONGER)
    found = row if row.is_ready else poll_until(look, longer, work.watch)
    if found is None:
        message = f"timeout: the deploy {row.id} is still {seen} after {longer.most:.0f} s"
        hint = "check it in the Netlify dashboard, then run the command again to continue"
        raise FabricError(Problem("provider/not-ready", message, hint))
    if found.is_failed:
        said = work.quoted(found.error_message or found.state)
        message = f"the deploy {row.id} failed: {said}"
        raise FabricError(Problem("provider/refused", message, format_generic_hint("Netlify")))


def publish_deploy(work: Host2Work, ident: str) -> None:
    """Publish a deploy at the site's address."""
    call = ProviderCall("POST", work.path(f"/deploys/{quote(ident, safe='')}/restore"))
    work.ask(call, object)

    def look() -> SiteRow | None:
        site = fetch_site(work)
        is_met = site.published_deploy is not None and site.published_deploy.id == ident
        return site if is_met else None

    if poll_until(look, work.waiting, work.watch) is None:
        message = f"the deploy {ident} was published, but the site does not point to it"
        raise FabricError(Problem("provider/not-ready", message, "run the command again"))


def delete_deploy(work: Host2Work, ident: str) -> None:
    with ignore_missing():
        work.ask(ProviderCall("DELETE", f"/deploys/{quote(ident, safe='')}"), object)
