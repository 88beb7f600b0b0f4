"""Deploys of a Netlify site: find them by title, create, upload and publish them."""

from collections.abc import Iterable, Iterator
from urllib.parse import quote

from msgspec import Struct, field

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.core.errors import Judged, ignore_missing
from fabric.providers.core.http_calls import ProviderCall, build_json_call
from fabric.providers.core.retry import poll_until
from fabric.providers.core.work import ApiWork
from fabric.providers.host2.client import Host2Api, classify_refusal
from fabric.providers.host2.redirects import SiteRules

_PAGE = 100
_READY = "ready"
_FAILED = frozenset(("error", "rejected", "deleted"))


class DeployRow(Struct, frozen=True):
    """A deploy."""

    ident: str = field(name="id")
    state: str = ""
    title: str | None = None
    # Hashes of functions that Netlify still needs.
    required_functions: tuple[str, ...] | None = None
    # Hashes of files that Netlify still needs.
    required: tuple[str, ...] | None = None
    error_message: str | None = None

    @property
    def state_word(self) -> str:
        return self.state

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


class Host2Work(ApiWork[Host2Api], frozen=True, kw_only=True):
    title: str = "Netlify"
    rules: SiteRules = SiteRules()
    judged: Judged = classify_refusal

    @property
    def site(self) -> str:
        return self.api.account.site

    def path(self, rest: str = "") -> str:
        return self.api.account.site_path + rest


class _User(Struct, frozen=True):
    email: str | None = None
    full_name: str | None = None


def fetch_identity(work: Host2Work) -> str:
    """Fetch the identity of the token, and check that it can read the site."""
    user = work.ask(ProviderCall("GET", "/user"), _User)
    site = fetch_site(work)
    who = user.email or user.full_name or "a user without a name"
    return f"{who}, with the site {site.name or work.site} at {site.endpoint}"


def fetch_site(work: Host2Work) -> SiteRow:
    return work.ask(ProviderCall("GET", work.path()), SiteRow)


def fetch_deploy(work: Host2Work, ident: str) -> DeployRow | None:
    """Fetch a deploy. Netlify deletes deploys that stay unpublished for long."""
    return work.look(build_fetch_call(work, ident), DeployRow)


def build_fetch_call(work: Host2Work, ident: str) -> ProviderCall:
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
            found = wanted.among([work.api.once(build_fetch_call(work, found.ident), DeployRow)])
        return found or work.api.once(call, DeployRow)

    return work.patient(act)


def is_required(work: Host2Work, ident: str, digest: str) -> bool:
    row = work.api.once(build_fetch_call(work, ident), DeployRow)
    return digest in (*(row.required_functions or ()), *(row.required or ()))


def publish_deploy(work: Host2Work, ident: str) -> None:
    """Publish a deploy at the site's address."""
    call = ProviderCall("POST", work.path(f"/deploys/{quote(ident, safe='')}/restore"))
    work.ask(call, object)

    def look() -> SiteRow | None:
        site = fetch_site(work)
        is_met = site.published_deploy is not None and site.published_deploy.ident == ident
        return site if is_met else None

    if poll_until(look, work.waiting, work.watch) is None:
        message = f"the deploy {ident} was published, but the site does not point to it"
        raise FabricError(Problem("provider/not-ready", message, "run the command again"))


def delete_deploy(work: Host2Work, ident: str) -> None:
    with ignore_missing():
        work.ask(ProviderCall("DELETE", f"/deploys/{quote(ident, safe='')}"), object)
