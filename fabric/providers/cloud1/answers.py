"""AWS error responses as problems with a cause and a hint."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from fabric.model.problems import FabricError, Problem
from fabric.providers.cloud1.clients import missing_credentials_problem
from fabric.providers.core.errors import format_generic_hint
from fabric.providers.core.http_calls import require_cloud_extra
from fabric.system.cloud1_account import REFUSED, THROTTLED, read_error_code
from fabric.system.optional_packages import require_packages

# What is shown of words that are not ours.
Quoted: TypeAlias = Callable[[str], str]
_SERVER_ERROR = 500
GONE = frozenset(("ResourceNotFoundException", "NotFoundException", "NoSuchEntity", "NoSuchBucket"))
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
_ROLE_TOO_NEW = "cannot be assumed"
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
    return _ROLE_TOO_NEW in _format_line(error)


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
            "allow lambda.amazonaws.com"
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
