"""Clients for cloud1's services: whose keys, which endpoint, and what their errors mean."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from fabric.model.secrecy import without_userinfo
from fabric.model.secret import Secret
from fabric.state.backends.failures import (
    extra,
    failed,
    missing,
    no_credentials,
    refused,
    understood,
    unreachable,
)
from fabric.system.http_client import CONNECT_SECONDS, READ_SECONDS
from fabric.system.retry import Patience, TransientError

_CREDENTIALS = "CLOUD1_ACCESS_KEY_ID and CLOUD1_SECRET_ACCESS_KEY"
_REFUSED = frozenset(
    "AccessDenied AccessDeniedException AllAccessDisabled ExpiredToken ExpiredTokenException"
    " InvalidAccessKeyId InvalidClientTokenId InvalidToken SignatureDoesNotMatch"
    " UnrecognizedClientException 401 403".split()
)
_SERVER_ERROR = 500
_WORDS_END = 300
_THROTTLED = frozenset(
    "SlowDown Throttling ThrottlingException TooManyRequestsException RequestLimitExceeded"
    " ProvisionedThroughputExceededException".split()
)


class Cloud1Keys(Struct, frozen=True):
    """Keys that are empty are left to the client's own chain: profiles, roles, metadata."""

    key_id: Secret[str]
    secret: Secret[str]
    token: Secret[str]
    region: str
    endpoint: str


def account(env: Mapping[str, str], service: str) -> Cloud1Keys:
    """`service` is the name that endpoints of one service have in variables, such as `S3`."""
    names = ("OBJSTORE1_ENDPOINT_URL", f"AWS_ENDPOINT_URL_{service}", "AWS_ENDPOINT_URL")
    own = bool(env.get("CLOUD1_ACCESS_KEY_ID") or env.get("CLOUD1_SECRET_ACCESS_KEY"))
    family = "CLOUD1" if own else "AWS"
    regions = ("CLOUD1_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
    return Cloud1Keys(
        key_id=Secret(env.get(f"{family}_ACCESS_KEY_ID", "")),
        secret=Secret(env.get(f"{family}_SECRET_ACCESS_KEY", "")),
        token=Secret(env.get(f"{family}_SESSION_TOKEN", "")),
        region=next((env[name] for name in regions if env.get(name)), ""),
        endpoint=next((env[name] for name in names if env.get(name)), ""),
    )


def client(service: str, account: Cloud1Keys, place: str, patience: Patience) -> Any:
    """A thread-safe client of boto3, which is untyped."""
    with extra("cloud"):
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    if bool(account.key_id) != bool(account.secret):
        raise no_credentials(place, _CREDENTIALS)
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "total_max_attempts": patience.tries},
        # Stores that only speak the same protocol do not all know the newer checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if account.endpoint else "auto"},
    )
    try:
        session = boto3.session.Session(
            aws_access_key_id=account.key_id.reveal() or None,
            aws_secret_access_key=account.secret.reveal() or None,
            aws_session_token=account.token.reveal() or None,
            region_name=account.region or None,
        )
        return session.client(
            service,
            region_name=session.region_name or "us-east-1",
            endpoint_url=account.endpoint or None,
            config=config,
        )
    except (BotoCoreError, ValueError) as error:
        raise failed(place, type(error).__name__) from None


def code_of(error: Any) -> str:
    """The name of an error that a service answered with."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextlib.contextmanager
def cut_off() -> Iterator[None]:
    """One that ends in the middle may be whole the next time: the client tries its calls again
    by itself, but nothing that goes wrong after the head of an answer."""
    from botocore.exceptions import IncompleteReadError, ResponseStreamingError
    from botocore.httpsession import ProtocolError

    try:
        yield
    except (IncompleteReadError, ResponseStreamingError, ProtocolError) as error:
        raise TransientError(_words(error)) from error


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """What the client raises, and no caller answered, as problems."""
    from botocore import exceptions as wrong
    from botocore.parsers import ResponseParserError

    try:
        with understood(place):
            yield
    except ResponseParserError as error:
        raise failed(place, f"its answer cannot be read: {_words(error)[:_WORDS_END]}") from error
    except wrong.ClientError as error:
        raise _answer_problem(place, error) from error
    except (wrong.NoCredentialsError, wrong.PartialCredentialsError) as error:
        raise no_credentials(place, _CREDENTIALS) from error
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
    if code in _REFUSED:
        return refused(place, words)
    if code in _THROTTLED or status >= _SERVER_ERROR:
        return unreachable(place, words)
    return failed(place, words)


def _words(error: Exception) -> str:
    return without_userinfo(" ".join(str(error).split()))
