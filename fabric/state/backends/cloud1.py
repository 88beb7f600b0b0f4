"""Clients of cloud1 services: credentials, endpoints and error conversion."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from fabric.model.distribution import Extra
from fabric.model.secrets.secrecy import redact_userinfo
from fabric.state.backends.failures import (
    import_extra,
    missing_object_error,
    no_credentials_error,
    report_malformed_answer,
    store_failure_error,
    store_refusal_error,
    unreachable_store_error,
)
from fabric.system.cloud1_account import (
    CREDENTIALS,
    REFUSED,
    THROTTLED,
    Cloud1Account,
    Trying,
    open_boto_client,
    open_boto_session,
    read_error_code,
    resolve_cloud1_account,
)
from fabric.system.retry import Patience, TransientError

_SERVER_ERROR = 500
_WORDS_END = 300


def read_store_account(env: Mapping[str, str], service: str) -> Cloud1Account:
    """Read the account. `service` is the service name in endpoint variables, such as `S3`."""
    names = ("OBJSTORE1_ENDPOINT_URL", f"AWS_ENDPOINT_URL_{service}", "AWS_ENDPOINT_URL")
    return resolve_cloud1_account(env, names)


def create_cloud1_client(
    service: str, account: Cloud1Account, place: str, patience: Patience
) -> Any:
    """A thread-safe client of boto3, which is untyped."""
    with import_extra(Extra.CLOUD):
        from botocore.exceptions import BotoCoreError
    if account.is_half:
        raise no_credentials_error(place, CREDENTIALS)
    try:
        with import_extra(Extra.CLOUD):
            session = open_boto_session(account)
        return open_boto_client(session, service, account, Trying("standard", patience.tries))
    except (BotoCoreError, ValueError) as error:
        raise store_failure_error(place, type(error).__name__) from None


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
        raise TransientError(_format_error(error)) from error


@contextlib.contextmanager
def explain_client_errors(place: str) -> Iterator[None]:
    """Convert client errors that no caller handled into problems."""
    from botocore import exceptions as wrong
    from botocore.parsers import ResponseParserError

    try:
        with report_malformed_answer(place):
            yield
    except ResponseParserError as error:
        raise store_failure_error(
            place, f"invalid response: {_format_error(error)[:_WORDS_END]}"
        ) from error
    except wrong.ClientError as error:
        raise _convert_answer_error(place, error) from error
    except (wrong.NoCredentialsError, wrong.PartialCredentialsError) as error:
        raise no_credentials_error(place, CREDENTIALS) from error
    except (wrong.HTTPClientError, wrong.ConnectionError) as error:
        raise unreachable_store_error(place, _format_error(error)) from error
    except wrong.BotoCoreError as error:
        raise store_failure_error(place, _format_error(error)) from error


def _convert_answer_error(place: str, error: Any) -> Exception:
    code = read_error_code(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    words = f"{code}: {error.response.get('Error', {}).get('Message', '')}"
    if code == "NoSuchBucket":
        return missing_object_error(place, "bucket")
    if code in REFUSED:
        return store_refusal_error(place, words)
    if code in THROTTLED or status >= _SERVER_ERROR:
        return unreachable_store_error(place, words)
    return store_failure_error(place, words)


def _format_error(error: Exception) -> str:
    return redact_userinfo(" ".join(str(error).split()))
