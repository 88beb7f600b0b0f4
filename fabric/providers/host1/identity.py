"""The identity of the Vercel token, and whether it can read the project. Changes nothing."""

from msgspec import Struct

from fabric.providers.host1.deployments import Host1Work
from fabric.providers.host1.projects import fetch_domain, fetch_project
from fabric.providers.http_calls import ProviderCall


class _Somebody(Struct, frozen=True):
    email: str | None = None
    username: str | None = None


class _WhoAnswer(Struct, frozen=True):
    user: _Somebody = _Somebody()


def fetch_identity(work: Host1Work) -> str:
    user = work.ask(ProviderCall("GET", "/v2/user"), _WhoAnswer).user
    project = fetch_project(work)
    who = user.email or user.username or "a user without a name"
    return f"{who}, with the project {project.name} at {fetch_domain(work)}"
