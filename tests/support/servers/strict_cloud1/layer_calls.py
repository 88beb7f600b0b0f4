"""Lambda's calls about layers: versions never change, and work on once they are deleted."""

from datetime import UTC, datetime

from tests.support.servers.strict_cloud1.accounts import LayerVersion, Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.operations import heeding, paged
from tests.support.servers.strict_cloud1.packages import content_of, sha256_of
from tests.support.servers.strict_cloud1.refusals import not_found

_SETTINGS = "Description LicenseInfo CompatibleRuntimes CompatibleArchitectures"


def _base(region: Region, name: str) -> str:
    """The ARN of a layer, which a request names by it or by its end."""
    if name.startswith("arn:"):
        return name
    return f"arn:aws:lambda:{region.name}:{region.account.number}:layer:{name}"


def _publish(region: Region, asked: Fields) -> Fields:
    """A new version, also of equal content."""
    content = content_of(region, asked["Content"])
    base = _base(region, asked["LayerName"])
    number = 1 + sum(arn.rpartition(":")[0] == base for arn in region.layers)
    arn = f"{base}:{number}"
    shown = {
        "LayerArn": base,
        "LayerVersionArn": arn,
        "Version": number,
        "CreatedDate": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000+0000",  # noqa: TID251 - shown only
        **{name: asked[name] for name in _SETTINGS.split() if name in asked},
    }
    region.layers[arn] = LayerVersion(shown, content)
    return _described(region.layers[arn])


def _described(one: LayerVersion) -> Fields:
    place = {"CodeSha256": sha256_of(one.content), "CodeSize": len(one.content)}
    return {**one.shown, "Content": place}


def _get(region: Region, asked: Fields) -> Fields:
    arn = f"{_base(region, asked['LayerName'])}:{asked['VersionNumber']}"
    if not region.has_layer(arn):
        raise not_found("The resource you requested does not exist.")
    return _described(region.layers[arn])


def _list(region: Region, asked: Fields) -> Fields:
    """The newest first."""
    base = _base(region, asked["LayerName"])
    rows = [
        one.shown
        for arn, one in reversed(region.layers.items())
        if arn.rpartition(":")[0] == base and region.has_layer(arn)
    ]
    return paged(rows, "LayerVersions", asked)


def _delete(region: Region, asked: Fields) -> Fields:
    """One that is not there is no error. Functions that have it go on."""
    found = region.layers.get(f"{_base(region, asked['LayerName'])}:{asked['VersionNumber']}")
    if found:
        found.is_deleted = True
    return {}


LAYER_CALLS = {
    "PublishLayerVersion": heeding(f"LayerName Content {_SETTINGS}", _publish),
    "GetLayerVersion": heeding("LayerName VersionNumber", _get),
    "ListLayerVersions": heeding("LayerName Marker MaxItems", _list),
    "DeleteLayerVersion": heeding("LayerName VersionNumber", _delete),
}
