"""Credentials and endpoints of AWS services, and boto3 clients for them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from fabric.model.secrets.secret import Secret
from fabric.system.http.http_client import CONNECT_SECONDS, READ_SECONDS

CREDENTIALS = "CLOUD1_ACCESS_KEY_ID and CLOUD1_SECRET_ACCESS_KEY"
_OWN_KEYS = ("CLOUD1_ACCESS_KEY_ID", "CLOUD1_SECRET_ACCESS_KEY")
_REGIONS = ("CLOUD1_REGION", "AWS_REGION", "AWS_DEFAULT_REGION")
_FIRST_REGION = "us-east-1"
# What services call it when the caller is not who he has to be, or may not do it.
REFUSED = frozenset(
    "AccessDenied AccessDeniedException AllAccessDisabled ExpiredToken ExpiredTokenException"
    " InvalidAccessKeyId InvalidClientTokenId InvalidToken SignatureDoesNotMatch"
    " UnrecognizedClientException 401 403".split()
)
THROTTLED = frozenset(
    "SlowDown Throttling ThrottlingException TooManyRequestsException RequestLimitExceeded"
    " ProvisionedThroughputExceededException".split()
)


class Cloud1Account(Struct, frozen=True):
    """An AWS account. Empty keys are left to the client's own chain: profiles, roles, metadata."""

    key_id: Secret[str]
    secret: Secret[str]
    token: Secret[str]
    region: str
    endpoint: str

    @property
    def is_half(self) -> bool:
        """Whether one of the two keys is missing."""
        return bool(self.key_id) != bool(self.secret)


class Trying(Struct, frozen=True):
    """Retry settings of a client: retries, parallel calls, and read timeout."""

    mode: str
    tries: int
    at_once: int = 10
    seconds: float = READ_SECONDS


def resolve_cloud1_account(env: Mapping[str, str], endpoints: Sequence[str]) -> Cloud1Account:
    """Read the account. The first set variable of `endpoints` is the endpoint."""
    family = "CLOUD1" if any(env.get(name) for name in _OWN_KEYS) else "AWS"
    return Cloud1Account(
        key_id=Secret(env.get(f"{family}_ACCESS_KEY_ID", "")),
        secret=Secret(env.get(f"{family}_SECRET_ACCESS_KEY", "")),
        token=Secret(env.get(f"{family}_SESSION_TOKEN", "")),
        region=next((env[name] for name in _REGIONS if env.get(name)), ""),
        endpoint=next((env[name] for name in endpoints if env.get(name)), ""),
    )


def open_boto_session(account: Cloud1Account) -> Any:
    """Open an untyped boto3 session. The caller handles a missing boto3."""
    import boto3
    import botocore.session
    from botocore.loaders import create_loader

    core = botocore.session.get_session()
    loader = create_loader(core.get_config_variable("data_path"))
    loader.file_loader = _open_model_files()
    core.register_component("data_loader", loader)
    return boto3.session.Session(
        botocore_session=core,
        aws_access_key_id=account.key_id.reveal() or None,
        aws_secret_access_key=account.secret.reveal() or None,
        aws_session_token=account.token.reveal() or None,
        region_name=account.region or None,
    )


class _ModelFiles:
    """Descriptions of services, parsed once for all sessions of a process."""

    def __init__(self, files: Any) -> None:
        self.exists = files.exists
        self.load_file = cache(files.load_file)


@cache
def _open_model_files() -> _ModelFiles:
    from botocore.loaders import JSONFileLoader

    return _ModelFiles(JSONFileLoader())


def open_boto_client(
    session: Any, service: str, account: Cloud1Account, trying: Trying, region: str = ""
) -> Any:
    """Open a thread-safe client. Raises boto3's errors."""
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=trying.seconds,
        retries={"mode": trying.mode, "total_max_attempts": trying.tries},
        max_pool_connections=trying.at_once,
        # Stores that only speak the same protocol do not all know the newer checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if account.endpoint else "auto"},
        # The host of a given endpoint is complete.
        **({"inject_host_prefix": False} if account.endpoint else {}),
    )
    client = session.client(
        service,
        region_name=region or session.region_name or _FIRST_REGION,
        endpoint_url=account.endpoint or None,
        config=config,
    )
    client.meta.events.register("before-parse.*.*", _refuse_half)
    return client


def _refuse_half(operation_model: Any, response_dict: Mapping[str, Any], **_: object) -> None:
    """Raise for a truncated response, which boto3 would accept as complete."""
    from botocore.exceptions import ResponseStreamingError

    body, said = response_dict["body"], response_dict["headers"].get("content-length", "")
    if operation_model.http.get("method") == "HEAD" or not isinstance(body, bytes):
        return
    if said.isdigit() and len(body) < int(said):
        raise ResponseStreamingError(error=f"the response to {operation_model.name} was cut off")


def read_error_code(error: Any) -> str:
    """Return the error code of a service's response."""
    return str(error.response.get("Error", {}).get("Code", ""))
