"""Lambda's calls about functions: made, changed, published, shown, removed."""

from datetime import UTC, datetime
from urllib.parse import urlencode

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import (
    LATEST,
    Function,
    Progress,
    Reference,
    Version,
    just_changed,
    new_revision,
    shown,
)
from tests.support.servers.strict_cloud1.image_calls import FunctionImage, image_of
from tests.support.servers.strict_cloud1.operations import heeding, paged
from tests.support.servers.strict_cloud1.packages import (
    check_layers,
    check_settings,
    content_of,
    sha256_of,
)
from tests.support.servers.strict_cloud1.refusals import (
    RefusalError,
    conflict,
    not_found,
    wrong_value,
)

_SETTINGS = (
    "Runtime Role Handler Description Timeout MemorySize Environment Layers EphemeralStorage"
    " TracingConfig VpcConfig LoggingConfig DeadLetterConfig KMSKeyArn FileSystemConfigs SnapStart"
    " DurableConfig"
)
_DEFAULTS: Fields = {
    "Description": "",
    "Timeout": 3,
    "MemorySize": 128,
    "PackageType": "Zip",
    "EphemeralStorage": {"Size": 512},
    "TracingConfig": {"Mode": "PassThrough"},
}
_LONGEST_NAME = 64
IMAGE = "Image"


def _create(region: Region, asked: Fields) -> Fields:
    name = Reference.of(asked["FunctionName"]).name
    if name in region.functions:
        raise conflict(f"Function already exist: {name}")
    if len(name) > _LONGEST_NAME:
        rule = "Member must have length less than or equal to 64"
        raise RefusalError(400, "ValidationException", f"Value at 'functionName': {rule}")
    is_image = asked.get("PackageType") == IMAGE
    for needed in () if is_image else ("Runtime", "Handler"):
        if needed not in asked:
            message = "are mandatory parameters for functions created with deployment packages."
            raise wrong_value(f"Runtime and Handler {message}")
    settings = {**_DEFAULTS, "Architectures": asked.get("Architectures", ["x86_64"])}
    settings |= _settings_in(asked) | ({"PackageType": IMAGE} if is_image else {})
    check_settings(region, settings)
    code = _code_of(region, asked["Code"], settings)
    if isinstance(code, bytes):
        check_layers(region, settings, code)
    latest = _made(region.function_arn(name), settings, code)
    function = Function(name, latest, dict(asked.get("Tags", {})))
    region.functions[name] = function
    version = _publish(function, "") if asked.get("Publish") else latest
    numbers = frozenset({LATEST, version.number})
    function.progress = Progress(region.account.looks, is_creation=True, numbers=numbers)
    return just_changed(function, version)


def _settings_in(asked: Fields) -> Fields:
    return {name: asked[name] for name in _SETTINGS.split() if name in asked}


def _code_of(region: Region, code: Fields, settings: Fields) -> bytes | FunctionImage:
    is_image = settings["PackageType"] == IMAGE
    if is_image != ("ImageUri" in code):
        wanted = "ImageUri" if is_image else "a zip archive"
        raise wrong_value(f"Please provide {wanted} for a function of this package type.")
    if is_image:
        return image_of(region, code["ImageUri"], settings["Architectures"][0])
    return content_of(region, code)


def _made(arn: str, settings: Fields, code: bytes | FunctionImage) -> Version:
    image = code if isinstance(code, FunctionImage) else None
    content = code.content if isinstance(code, FunctionImage) else code
    version = Version(LATEST, arn, settings, content)
    sha256 = image.digest.partition(":")[2] if image else sha256_of(content)
    own = {
        "FunctionName": version.name,
        "FunctionArn": arn,
        "Version": LATEST,
        "CodeSha256": sha256,
        "CodeSize": 0 if image else len(content),
    }
    return Version(LATEST, arn, {**settings, **own, **_now()}, content, image)


def _now() -> Fields:
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000+0000")  # noqa: TID251 - shown only
    return {"LastModified": when, "RevisionId": new_revision()}


def _publish(function: Function, description: str) -> Version:
    """A new one only if something changed since the newest."""
    newest = max(function.versions, key=int, default="")
    if newest and not function.is_changed:
        return function.versions[newest]
    number = str(function.next_number)
    own: Fields = {"Version": number, "FunctionArn": function.arn(number)}
    if description:
        own["Description"] = description
    settings = {**function.latest.settings, **own, "RevisionId": new_revision()}
    latest = function.latest
    version = Version(number, function.arn(number), settings, latest.content, latest.image)
    function.versions[number] = version
    function.next_number += 1
    function.is_changed = False
    return version


def _changeable(region: Region, asked: Fields) -> Function:
    reference = Reference.of(asked["FunctionName"])
    function = region.function(reference)
    if reference.qualifier not in {"", LATEST}:
        raise wrong_value("This operation is permitted on $LATEST only.")
    function.must_be_settled()
    if asked.get("RevisionId") not in {None, function.latest.settings["RevisionId"]}:
        raise RefusalError(
            412,
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the"
            " GetFunction/GetAlias API to retrieve the latest Revision Id",
        )
    return function


def _change(region: Region, function: Function, latest: Version) -> None:
    """Also what comes out equal is under way for a while."""
    function.latest = latest
    numbers = frozenset({LATEST})
    function.progress = Progress(region.account.looks, numbers=numbers)


def _update_code(region: Region, asked: Fields) -> Fields:
    function = _changeable(region, asked)
    old = function.latest
    architectures = asked.get("Architectures", old.settings["Architectures"])
    settings = {**old.settings, "Architectures": architectures}
    made = _made(old.arn, settings, _code_of(region, asked, settings))
    if made.image is None:
        # An attached layer that was deleted since stays attached.
        attached = {**made.settings, "Layers": _there(region, old.settings)}
        check_layers(region, attached, made.content)
    if asked.get("DryRun"):
        return just_changed(function, made)
    is_equal = (made.content, made.image) == (old.content, old.image)
    is_equal &= architectures == old.settings["Architectures"]
    function.is_changed |= not is_equal
    _change(region, function, made)
    if not asked.get("Publish"):
        return just_changed(function, made)
    version = _publish(function, "")
    function.progress.numbers |= {version.number}
    return just_changed(function, version)


def _there(region: Region, settings: Fields) -> list[str]:
    return [arn for arn in settings.get("Layers", []) if region.has_layer(arn)]


def _update_configuration(region: Region, asked: Fields) -> Fields:
    function = _changeable(region, asked)
    old = function.latest
    if ("DurableConfig" in asked) > ("DurableConfig" in old.settings) or asked.get(
        "DurableConfig", old
    ) == {}:
        raise wrong_value("DurableConfig can only be set when the function is created.")
    settings = {**old.settings, **_settings_in(asked)}
    check_settings(region, settings)
    check_layers(region, settings, old.content)
    function.is_changed |= settings != old.settings
    made = Version(LATEST, old.arn, {**settings, **_now()}, old.content, old.image)
    _change(region, function, made)
    return just_changed(function, made)


def _publish_version(region: Region, asked: Fields) -> Fields:
    function = _changeable(region, asked)
    current = function.latest.settings["CodeSha256"]
    if asked.get("CodeSha256") not in {None, current}:
        raise wrong_value(
            f"CodeSHA256 ({asked['CodeSha256']}) is different from current CodeSHA256 in $LATEST"
            f" ({current}). Please try again with the CodeSHA256 in $LATEST."
        )
    return just_changed(function, _publish(function, asked.get("Description", "")))


def _location(region: Region, version: Version) -> str:
    asked = {"key": region.account.key, "region": region.name}
    asked |= {"function": version.name, "version": version.number}
    return f"{region.server}/_server/code?{urlencode(asked)}"


def _get(region: Region, asked: Fields) -> Fields:
    reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
    function = region.function(reference)
    version = function.version(reference.qualifier)
    found: Fields = {
        "Configuration": shown(function, version),
        "Code": {"RepositoryType": "S3", "Location": _location(region, version)},
    }
    if version.image:
        uri = version.image.uri
        found["Code"] = {"RepositoryType": "ECR", "ImageUri": uri, "ResolvedImageUri": uri}
    if region.account.faults.hides("lambda.ListTags"):
        found["TagsError"] = {"ErrorCode": "AccessDeniedException", "Message": "no tags for you"}
    elif function.tags:
        found["Tags"] = function.tags
    if function.reserved is not None:
        found["Concurrency"] = {"ReservedConcurrentExecutions": function.reserved}
    return found


def _get_configuration(region: Region, asked: Fields) -> Fields:
    configuration: Fields = _get(region, asked)["Configuration"]
    return configuration


def _list(region: Region, asked: Fields) -> Fields:
    rows = [just_changed(one, one.latest) for _, one in sorted(region.functions.items())]
    return paged(rows, "Functions", asked)


def _list_versions(region: Region, asked: Fields) -> Fields:
    function = region.function(Reference.of(asked["FunctionName"]))
    published = sorted(function.versions.values(), key=lambda one: int(one.number))
    rows = [just_changed(function, one) for one in (function.latest, *published)]
    rows[0]["FunctionArn"] = function.arn(LATEST)
    return paged(rows, "Versions", asked)


def _delete(region: Region, asked: Fields) -> Fields:
    """All of it, with its versions and aliases; event source mappings stay behind."""
    reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
    function = region.function(reference)
    if reference.qualifier:
        _delete_version(function, reference.qualifier)
    else:
        del region.functions[function.name]
    return {"StatusCode": 204}


def _delete_version(function: Function, number: str) -> None:
    if number == LATEST or not number.isdecimal():
        message = "$LATEST version cannot be deleted without deleting the function."
        raise wrong_value(message)
    users = function.users_of(number)
    if users:
        names = ", ".join(function.arn(one) for one in users)
        raise conflict(
            f"Unable to delete version because the following aliases reference it: [{names}]"
        )
    if function.versions.pop(number, None) is None:
        raise not_found(f"Function not found: {function.arn(number)}")


FUNCTION_CALLS = {
    "CreateFunction": heeding(
        f"FunctionName Code Publish Tags Architectures PackageType {_SETTINGS}", _create
    ),
    "UpdateFunctionCode": heeding(
        "FunctionName ImageUri ZipFile S3Bucket S3Key S3ObjectVersion Architectures Publish DryRun"
        " RevisionId",
        _update_code,
    ),
    "UpdateFunctionConfiguration": heeding(
        f"FunctionName RevisionId {_SETTINGS}", _update_configuration
    ),
    "PublishVersion": heeding("FunctionName CodeSha256 Description RevisionId", _publish_version),
    "GetFunction": heeding("FunctionName Qualifier", _get),
    "GetFunctionConfiguration": heeding("FunctionName Qualifier", _get_configuration),
    "ListFunctions": heeding("Marker MaxItems", _list),
    "ListVersionsByFunction": heeding("FunctionName Marker MaxItems", _list_versions),
    "DeleteFunction": heeding("FunctionName Qualifier", _delete),
}
