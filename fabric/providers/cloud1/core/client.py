"""The boto3 clients of one AWS account, created on demand and shared by all calls."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.errors import format_generic_hint
from fabric.providers.core.http_calls import require_cloud_extra
from fabric.system.cloud1_account import (
    CREDENTIALS,
    REFUSED,
    THROTTLED,
    Cloud1Account,
    Trying,
    open_boto_client,
    open_boto_session,
    read_error_code,
)
from fabric.system.optional_packages import require_packages

MAX_PARALLEL = 16
# The client itself finds the rate that an account takes; a fixed one fails a large first deploy.
PATIENT = Trying("adaptive", 10, MAX_PARALLEL)
# For what a second call would do twice.
ONCE = Trying("standard", 1, MAX_PARALLEL)
# A function may take a quarter of an hour.
CALLING = Trying("standard", 1, MAX_PARALLEL, 910.0)


class Cloud1Clients:
    """Thread-safe cache of clients, with the retries of most calls. Clients are untyped, because
    boto3 defines operations as data."""

    def __init__(self, account: Cloud1Account, trying: Trying = PATIENT) -> None:
        self._account = account
        self._trying = trying
        self._guard = threading.Lock()
        self._session: Any = None
        self._made: dict[tuple[str, Trying, str], Any] = {}
        self._asking = threading.Lock()
        self._number = ""
        self._refused: dict[str, float] = {}
        self._roles: dict[str, str] = {}

    def has_waited(self, role: str, seconds: float) -> bool:
        """Return whether the wait for a new role is over since it was first rejected. All functions
        share this wait instead of each starting a new one."""
        with self._guard:
            first = self._refused.setdefault(role, time.monotonic())
        return time.monotonic() - first > seconds

    def remember_role(self, name: str, text: str) -> None:
        """Remember what a deploy of this run wrote to a role; empty if that is unknown."""
        with self._guard:
            self._roles[name] = text

    def take_role(self, name: str) -> str:
        """Return it once: later changes are not remembered."""
        with self._guard:
            return self._roles.pop(name, "")

    def of(self, service: str, trying: Trying | None = None, region: str = "") -> Any:
        """Return a client. Without a region it is that of the account."""
        key = (service, trying or self._trying, region)
        with self._guard:
            if key not in self._made:
                self._made[key] = self._create_client(*key)
            return self._made[key]

    def account(self) -> str:
        """The account number; reading it needs no permission."""
        with self._asking:
            self._number = self._number or self.of("sts").get_caller_identity()["Account"]
            return self._number

    def _create_client(self, service: str, trying: Trying, region: str) -> Any:
        if self._account.is_half:
            raise FabricError(missing_credentials_problem())
        with require_packages(require_cloud_extra("cloud1-lambda")):
            self._session = self._session or open_boto_session(self._account)
        return open_boto_client(self._session, service, self._account, trying, region)

    def close(self) -> None:
        with self._guard:
            for client in self._made.values():
                client.close()
            self._made.clear()


def missing_credentials_problem() -> Problem:
    message = "missing credentials for AWS Lambda (`cloud1-lambda`)"
    return Problem("credentials/missing", message, hint=f"set {CREDENTIALS}")


# What is shown of words that are not ours.
Quoted: TypeAlias = Callable[[str], str]
_SERVER_ERROR = 500
GONE = frozenset(
    (
        *("ResourceNotFoundException", "NotFoundException", "NoSuchEntity", "NoSuchBucket"),
        "ProvisionedConcurrencyConfigNotFoundException",
    )
)
MISSING_QUEUE = frozenset(("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"))
DENIED = frozenset(("AccessDenied", "AccessDeniedException"))
# Of a change that is under way, or was made by somebody else just now: after a moment it may do.
BUSY = frozenset(
    (
        "ConcurrentModificationException",
        "OperationAborted",
        "ResourceInUseException",
        "TooManyUpdates",
    )
)
CONFLICT = frozenset(("ResourceConflictException", "ConflictException"))
_UNDER_WAY = ("in progress", "concurrent")
_ALREADY = "already exist"
# A new role or its policy is not known everywhere at once: the words of Lambda and Step Functions.
_ROLE_TOO_NEW = (
    "cannot be assumed",
    "is authorized to assume",
    "is not authorized to access the Log Destination",
)
# What was allowed a moment ago is not known everywhere at once.
_NOT_KNOWN_YET = (
    "does not have permissions to call",
    "to assume the role",
    "Unable to validate the following destination",
)
_MALFORMED = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)


@contextlib.contextmanager
def convert_client_errors(whose: str, quoted: Quoted) -> Iterator[None]:
    """Convert uncaught errors of the AWS client to problems of `whose`."""
    with require_packages(require_cloud_extra("cloud1-lambda")):
        from botocore import exceptions as wrong
        from botocore.parsers import ResponseParserError

    try:
        yield
    except wrong.ClientError as error:
        raise FabricError(_rejection_problem(whose, error, quoted)) from error
    except wrong.ParamValidationError as error:
        raise FabricError(_invalid_settings_problem(whose, error, quoted)) from error
    except (wrong.NoCredentialsError, wrong.PartialCredentialsError) as error:
        raise FabricError(missing_credentials_problem()) from error
    except (wrong.HTTPClientError, wrong.ConnectionError) as error:
        raise FabricError(_unreachable_problem(whose, quoted(str(error)))) from error
    except wrong.BotoCoreError as error:
        message = f"{whose}: {quoted(str(error))}"
        raise FabricError(
            Problem("provider/failed", message, format_generic_hint("AWS"))
        ) from error
    except (ResponseParserError, *_MALFORMED) as error:
        raise FabricError(_response_format_problem(whose, error)) from error


def _response_format_problem(whose: str, error: Exception) -> Problem:
    """Build the problem for a response with missing or mistyped fields, which the client does not
    validate."""
    message = f"{whose}: invalid response from AWS ({type(error).__name__})"
    return Problem("provider/failed", message, hint="check AWS_ENDPOINT_URL and try again")


@contextlib.contextmanager
def ignore_codes(*codes: frozenset[str]) -> Iterator[None]:
    """Ignore an error with one of these codes: the desired state is reached already."""
    from botocore.exceptions import ClientError

    try:
        yield
    except ClientError as error:
        if not any(read_error_code(error) in known for known in codes):
            raise


def is_role_too_new(error: Any) -> bool:
    said = _format_line(error)
    return any(words in said for words in _ROLE_TOO_NEW)


def is_there_already(error: Any) -> bool:
    """Return whether the resource exists already, possibly created by this call before its response
    was lost."""
    return read_error_code(error) in CONFLICT and _ALREADY in _format_line(error)


def is_busy(error: Any) -> bool:
    """Return whether the same call can succeed after a pause."""
    code, said = read_error_code(error), _format_line(error)
    if code in BUSY or (code in CONFLICT and any(words in said for words in _UNDER_WAY)):
        return True
    return code not in REFUSED and any(words in said for words in _NOT_KNOWN_YET)


def _rejection_problem(whose: str, error: Any, quoted: Quoted) -> Problem:
    code = read_error_code(error)
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    words = f"`{error.operation_name}` was rejected, {code}: {quoted(_read_message(error))}"
    if is_role_too_new(error):
        hint = (
            "retry in 20 to 60 seconds if the role is new; otherwise its trust policy must "
            "allow lambda.amazonaws.com, or states.amazonaws.com for a workflow"
        )
        return Problem("provider/role", f"{whose}: {words}", hint)
    if code in REFUSED:
        hint = f"check the credentials and their permission for `{error.operation_name}`"
        return Problem("credentials/refused", f"{whose}: {words}", hint)
    if code in THROTTLED or status >= _SERVER_ERROR:
        return _unreachable_problem(whose, words)
    return Problem("provider/refused", f"{whose}: {words}", format_generic_hint("AWS"))


def _invalid_settings_problem(whose: str, error: Exception, quoted: Quoted) -> Problem:
    # Its first line says just that there is more.
    _, _, said = str(error).partition("\n")
    words = quoted(said.strip() or str(error))
    return Problem(
        "provider/refused", f"{whose}: invalid settings: {words}", format_generic_hint("AWS")
    )


def _unreachable_problem(whose: str, why: str) -> Problem:
    hint = "check the network and the endpoint, then run the command again"
    return Problem("provider/unreachable", f"{whose}: {why}", hint)


def _read_message(error: Any) -> str:
    """Return the raw message: the caller must redact and shorten it."""
    return str(error.response.get("Error", {}).get("Message", ""))


def _format_line(error: Any) -> str:
    return " ".join(_read_message(error).split())
