"""What a function is made of, its archive and its settings, and what is refused in them."""

import base64
import hashlib
import io
import json
import re
import zipfile
from typing import Any

from moto.iam.models import iam_backends
from moto.s3.models import s3_backends

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.refusals import RefusalError, wrong_value

LARGEST_ARCHIVE = 50 * 1024 * 1024
LARGEST_CONTENT = 250 * 1024 * 1024
LARGEST_ENVIRONMENT = 4096
MOST_LAYERS = 5
_RUNS_HERE = re.compile(r"nodejs(18|20|22|24)\.x|python3\.(9|1[0-4])|provided\.al2023")
_RESERVED = re.compile(
    r"_HANDLER|_X_AMZN_TRACE_ID|AWS_(DEFAULT_)?REGION|AWS_EXECUTION_ENV"
    r"|AWS_LAMBDA_FUNCTION_(NAME|MEMORY_SIZE|VERSION)|AWS_LAMBDA_INITIALIZATION_TYPE"
    r"|AWS_LAMBDA_LOG_(GROUP|STREAM)_NAME|AWS_LAMBDA_RUNTIME_API"
    r"|AWS_ACCESS_KEY(_ID)?|AWS_SECRET_ACCESS_KEY|AWS_SESSION_TOKEN"
    r"|LAMBDA_TASK_ROOT|LAMBDA_RUNTIME_DIR"
)


def content_of(region: Region, code: Fields) -> bytes:
    content = _given(region, code)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except zipfile.BadZipFile:
        message = "Could not unzip uploaded file. Please check your file, then try to upload again."
        raise wrong_value(message) from None
    if size >= LARGEST_CONTENT:
        raise wrong_value(f"Unzipped size must be smaller than {LARGEST_CONTENT} bytes")
    return content


def _given(region: Region, code: Fields) -> bytes:
    if "ZipFile" in code:
        content: bytes = code["ZipFile"]
        if len(content) > LARGEST_ARCHIVE:
            message = "Request must be smaller than 70167211 bytes for the operation"
            raise RefusalError(413, "RequestEntityTooLargeException", message)
        return content
    if "S3Bucket" not in code or "S3Key" not in code:
        raise wrong_value("Please provide a source for function code.")
    return _from_bucket(region, code)


def _from_bucket(region: Region, code: Fields) -> bytes:
    account = s3_backends[region.account.number]["aws"]
    bucket = account.buckets.get(code["S3Bucket"])
    found = bucket and account.get_object(
        bucket.name, code["S3Key"], version_id=code.get("S3ObjectVersion")
    )
    if not found:
        reason = "NoSuchKey" if bucket else "NoSuchBucket"
        raise wrong_value(f"Error occurred while GetObject. S3 Error Code: {reason}.")
    return bytes(found.value)


def sha256_of(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def check_settings(region: Region, settings: Fields) -> None:
    must_be_assumable(
        region, settings["Role"], "lambda.amazonaws.com", wrong_value(_CANNOT_BE_ASSUMED)
    )
    is_image = settings.get("PackageType") == "Image"
    unused = sorted({"Runtime", "Handler", "Layers"} & set(settings)) if is_image else []
    if unused:
        raise wrong_value(
            f"{', '.join(unused)} cannot be set for functions with package type Image"
        )
    if not is_image and not _RUNS_HERE.fullmatch(settings["Runtime"]):
        raise wrong_value(
            f"The runtime parameter of {settings['Runtime']} is no longer supported for creating"
            " or updating AWS Lambda functions, or not run by this server."
        )
    _check_environment(settings.get("Environment", {}).get("Variables", {}))


_CANNOT_BE_ASSUMED = "The role defined for the function cannot be assumed by Lambda."


def must_be_assumable(region: Region, arn: str, service: str, otherwise: RefusalError) -> None:
    """The role is there, and its trust names the service."""
    roles = iam_backends[region.account.number]["aws"].roles.values()
    role = next((one for one in roles if one.arn == arn), None)
    if role is None or service not in _trusted(role.assume_role_policy_document):
        raise otherwise


def _trusted(document: str) -> frozenset[str]:
    statements: Any = json.loads(document or "{}").get("Statement", [])
    rows = statements if isinstance(statements, list) else [statements]
    found: set[str] = set()
    for row in rows:
        services = row.get("Principal", {}).get("Service", [])
        found.update([services] if isinstance(services, str) else services)
    return frozenset(found)


def _check_environment(variables: dict[str, str]) -> None:
    start = (
        "Lambda was unable to configure your environment variables because the environment"
        " variables you have provided "
    )
    reserved = sorted(name for name in variables if _RESERVED.fullmatch(name))
    if reserved:
        raise wrong_value(
            f"{start}contains reserved keys that are currently not supported for modification."
            f" Reserved keys used in this request: {', '.join(reserved)}"
        )
    text = json.dumps(variables, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > LARGEST_ENVIRONMENT:
        raise wrong_value(f"{start}exceeded the 4KB limit.")


def check_layers(region: Region, settings: Fields, content: bytes) -> None:
    layers: list[str] = settings.get("Layers", [])
    if len(layers) > MOST_LAYERS:
        raise wrong_value("Function cannot have more than 5 layers.")
    for arn in layers:
        if not region.has_layer(arn):
            raise wrong_value(f"Layer version {arn} does not exist.")
        _check_target(arn, region.layers[arn].shown, settings)
    size = sum(map(_unpacked, (content, *(region.layers[arn].content for arn in layers))))
    if size > LARGEST_CONTENT:
        raise wrong_value(
            "Function code combined with layers exceeds the maximum allowed size of"
            f" {LARGEST_CONTENT} bytes. The actual size is {size} bytes."
        )


def _check_target(arn: str, shown: Fields, settings: Fields) -> None:
    runtimes = shown.get("CompatibleRuntimes") or [settings["Runtime"]]
    architectures = shown.get("CompatibleArchitectures") or settings["Architectures"]
    is_meant = settings["Runtime"] in runtimes and settings["Architectures"][0] in architectures
    if not is_meant:
        raise wrong_value(f"Layer version {arn} is not for this runtime and architecture.")


def _unpacked(content: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(one.file_size for one in archive.infolist())
