"""Clients of cloud1 services: credentials, endpoints and error conversion."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.distribution import Extra
from fabric.model.secrecy import without_userinfo
from fabric.state.backends.failures import (
    extra,
    failed,
    missing,
    no_credentials,
    refused,
    understood,
    unreachable,
)
from fabric.system.cloud1_account import (
    CREDENTIALS,
    REFUSED,
    THROTTLED,
    Cloud1Account,
    Trying,
    account_of,
    client_of,
    code_of,
    session_of,
)
from fabric.system.retry import Patience, TransientError

_SERVER_ERROR = 500
_WORDS_END = 300


def account(env: Mapping[str, str], service: str) -> Cloud1Account:
    """Read the account. `service` is the service name in endpoint variables, such as `S3`."""
    names = ("OBJSTORE1_ENDPOINT_URL", f"AWS_ENDPOINT_URL_{service}", "AWS_ENDPOINT_URL")
    return account_of(env, names)


def client(service: str, account: Cloud1Account, place: str, patience: Patience) -> Any:
    """A thread-safe client of boto3, which is untyped."""
    with extra(Extra.CLOUD):
        from botocore.exceptions import BotoCoreError
    if account.is_half:
        raise no_credentials(place, CREDENTIALS)
    try:
        with extra(Extra.CLOUD):
            session = session_of(account)
        return client_of(session, service, account, Trying("standard", patience.tries))
    except (BotoCoreError, ValueError) as error:
        raise failed(place, type(error).__name__) from None


@contextlib.contextmanager
def cut_off() -> Iterator[None]:
    """Return whether a response was cut off, so that a retry can succeed.

    The client retries failed calls itself, but not failures after the response headers.
    """
    from botocore.exceptions import IncompleteReadError, ResponseStreamingError
    from botocore.httpsession import ProtocolError

    try:
        yield
    except (IncompleteReadError, ResponseStreamingError, ProtocolError) as error:
        raise TransientError(_words(error)) from error


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """Convert client errors that no caller handled into problems."""
    from botocore import exceptions as wrong
    from botocore.parsers import ResponseParserError

    try:
        with understood(place):
            yield
    except ResponseParserError as error:
        raise failed(place, f"invalid response: {_words(error)[:_WORDS_END]}") from error
    except wrong.ClientError as error:
        raise _answer_problem(place, error) from error
    except (wrong.NoCredentialsError, wrong.PartialCredentialsError) as error:
        raise no_credentials(place, CREDENTIALS) from error
    except (wrong.HTTPClientError, wrong.ConnectionError) as error:
        raise unreachable(place, _words(error)) from error
    except wrong.BotoCoreError as error:
        raise failed(place, _words(error)) from error


def _answer_problem(place: str, error: Any) -> Exception:
    code = code_of(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    words = f"{code}: {error.response.get('Error', {}).get('Message', '')}"
    if code == "NoSuchBucket":
        return missing(place, "bucket")
    if code in REFUSED:
        return refused(place, words)
    if code in THROTTLED or status >= _SERVER_ERROR:
        return unreachable(place, words)
    return failed(place, words)


def _words(error: Exception) -> str:
    return without_userinfo(" ".join(str(error).split()))
