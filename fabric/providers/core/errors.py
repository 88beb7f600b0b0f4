"""Rejected API calls, invalid credentials and unsupported orders as problems. Independent of any
provider."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from fabric.model.problems import ConfigSpot, FabricError, Problem, UntouchedError, replace_problems
from fabric.model.routing.hosts import is_name_in_host
from fabric.providers.core.contract import CallContext, FunctionOrder
from fabric.providers.core.redaction import Redaction, redact_errors
from fabric.system.http.urls import is_plain, is_web_address
from fabric.system.retry import TransientError

# What is shown of words that are not ours.
Quoted: TypeAlias = Callable[[str], str]
_NOT_FOUND = 404


class RefusedCallError(Exception):
    """An API error that a retry would not change. `call` is its method and path. `words` is the raw
    message: the caller must redact and shorten it."""

    def __init__(
        self, status: int, words: str, call: str, codes: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(call)
        self.status = status
        self.words = words or str(status)
        self.call = call
        self.codes = codes

    @property
    def is_gone(self) -> bool:
        """Whether the resource itself does not exist."""
        return self.status == _NOT_FOUND


def format_generic_hint(provider: str) -> str:
    """Return the hint for a rejection whose reason is unknown."""
    return f"fix the cause in this message from {provider}, then run the command again"


# What a provider's refusal is as a problem of somebody.
Judged: TypeAlias = Callable[[str, RefusedCallError, Quoted], Problem]


@contextlib.contextmanager
def mark_untouched() -> Iterator[None]:
    """Mark errors raised before any API call: the deployed state is unchanged."""
    try:
        yield
    except FabricError as error:
        raise UntouchedError(*error.problems) from error


@contextlib.contextmanager
def convert_refusals(whose: str, quoted: Quoted, judged: Judged) -> Iterator[None]:
    """Convert uncaught API errors to problems of `whose`."""
    try:
        yield
    except RefusedCallError as error:
        raise FabricError(judged(whose, error, quoted)) from error
    except TransientError as error:
        hint = "check the network and the endpoint, then run the command again"
        message = f"{whose}: {quoted(str(error))}"
        raise FabricError(Problem("provider/unreachable", message, hint)) from error


@contextlib.contextmanager
def convert_call_errors(
    whose: str, judged: Judged, hide: Redaction, orders: Sequence[FunctionOrder] = ()
) -> Iterator[Redaction]:
    """Convert the errors of a whole deployer call; no message shows a value of these orders."""
    hide = extend_redaction(hide, orders)
    with redact_errors(hide), convert_refusals(whose, hide.quote, judged):
        yield hide


def extend_redaction(hide: Redaction, orders: Sequence[FunctionOrder]) -> Redaction:
    variables = [pair for order in orders for pair in order.env.reveal()]
    secrets = [value for order in orders for value in order.secret_values]
    return hide.with_more(secrets, variables)


def redact_progress(watch: CallContext, quoted: Quoted) -> CallContext:
    """Redact provider messages in progress lines the same way as in errors."""
    return CallContext(lambda line: watch.hear(quoted(line)), watch.is_to_end)


@contextlib.contextmanager
def ignore_missing() -> Iterator[None]:
    """Ignore the error for a missing resource: the desired state is reached already."""
    try:
        yield
    except RefusedCallError as error:
        if not error.is_gone:
            raise


def require_variables(
    provider: str, env: Mapping[str, str], names: Sequence[str], any_letters: Sequence[str] = ()
) -> None:
    """Check credentials and report all missing ones together. Values of `any_letters` are escaped
    wherever they are sent, so they can contain any character."""
    missing = " and ".join(f"`{name}`" for name in names if not env.get(name))
    if missing:
        hint = f"set {missing} in the environment or in `.env` beside the config"
        raise FabricError(
            Problem(
                "credentials/missing",
                f"missing credentials for `{provider}`: {missing} not set",
                hint,
            )
        )
    for name in names:
        if name not in any_letters:
            refuse_unsendable(name, env[name])


def refuse_unsendable(name: str, value: str) -> None:
    """Raise if a value is invalid in a header or a URL, without showing it."""
    strange = next((one for one in value if not (one.isascii() and one.isprintable())), "")
    if strange or " " in value:
        what = "a line break" if strange in tuple("\r\n") else "a character"
        message = f"`{name}` contains {what} that is invalid in a token or account name"
        hint = "copy the value again, without surrounding spaces and quotes"
        raise FabricError(Problem("credentials/unreadable", message, hint))


def refuse_other_host(name: str, value: str) -> None:
    """Raise if a value would change the host that is called.

    A `.env` in a repository can set it, and the user's key is sent to that host.
    """
    if not is_name_in_host(value):
        message = f"`{name}` is not a valid region: requests would be sent to another host"
        hint = "use a region such as us-south (lowercase letters, digits and hyphens)"
        raise FabricError(Problem("credentials/unreadable", message, hint))


def refuse_plain(name: str, url: str) -> None:
    """Raise if a URL is invalid or uses plain HTTP. An empty value means the official URL."""
    if url and not is_web_address(url):
        message = f"`{name}` is not a valid URL"
        raise FabricError(
            Problem(
                "credentials/unreadable",
                message,
                "use a URL with its scheme, such as https://api.example.com",
            )
        )
    if is_plain(url):
        message = f"`{name}` uses plain HTTP, which would expose the token"
        raise FabricError(Problem("credentials/plain-endpoint", message, "use an https:// URL"))


# What no address has, among them braces around another name.
_NO_ADDRESS = re.compile(r"[{}<>\\^`|\"]")


def refuse_address_form(name: str, form: str, placeholder: str) -> None:
    """Raise if the form of an address is invalid: it would appear in outputs and in state."""
    url = form.replace(placeholder, "shop.example")
    if form and (not is_web_address(url) or _NO_ADDRESS.search(url)):
        message = f"`{name}` is not a valid URL"
        hint = f"use a URL such as http://localhost:3000/{placeholder}, or unset `{name}`"
        raise FabricError(Problem("credentials/unreadable", message, hint))


@contextlib.contextmanager
def attach_error_spot(function: str, trigger: int | None = None) -> Iterator[None]:
    """Attribute errors raised inside to this function and trigger, unless they name a place
    already."""
    try:
        yield
    except FabricError as error:
        spot = ConfigSpot(function, trigger)
        raise replace_problems(
            error, ((one if one.about else replace(one, about=spot)) for one in error.problems)
        ) from error


def refuse_without_version(order: FunctionOrder) -> None:
    """Raise if the version was not found, before anything else is created in its place."""
    if order.only_version:
        message = f"function `{order.name}`: its version `{order.version}` no longer exists"
        hint = "add --with-current-environment: the old environment values are not stored"
        raise FabricError(Problem("rollback/version-gone", message, hint))
