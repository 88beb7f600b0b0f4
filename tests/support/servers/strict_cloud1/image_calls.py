"""ECR's calls, and what Lambda reads of an image: its registry is a real one on this machine."""

import base64
import io
import zipfile
from dataclasses import dataclass
from typing import Any

from tests.support.servers.pulled_images import NotThereError, PulledImage, pull
from tests.support.servers.strict_cloud1.accounts import Region, Repository
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import RefusalError, wrong_value

_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
_TASK = "var/task"
_EXECUTION = "AWS_EXECUTION_ENV=AWS_Lambda_"


@dataclass(frozen=True)
class FunctionImage:
    """An image as Lambda takes it: the files of the task, and how they are started."""

    uri: str
    digest: str
    content: bytes
    runtime: str
    handler: str
    architecture: str


def image_of(region: Region, uri: str, architecture: str) -> FunctionImage:
    registry = region.account.registry
    name, _, digest = uri.partition("@")
    repository = name.removeprefix(f"{registry}/")
    if repository not in region.repositories or not digest:
        raise wrong_value(f"Source image {uri} does not exist. Provide a valid source image.")
    image = _pulled(uri)
    if image.kind in _INDEXES:
        raise wrong_value(f"The image manifest, config or layer media type for {uri} is invalid.")
    config = image.config
    found = _ARCHITECTURES.get(config["architecture"], "")
    if found != architecture:
        raise wrong_value(f"Architecture mismatch: the image is {found}, not {architecture}")
    settings = config["config"]
    if not settings.get("Entrypoint"):
        raise wrong_value("the image starts nothing that speaks the runtime interface")
    runtime = next(one for one in settings["Env"] if one.startswith(_EXECUTION))
    return FunctionImage(
        uri=uri,
        digest=digest,
        content=_task_of(image),
        runtime=runtime.removeprefix(_EXECUTION),
        handler=settings["Cmd"][0],
        architecture=found,
    )


def _pulled(uri: str) -> PulledImage:
    try:
        return pull(uri)
    except NotThereError:
        message = f"Source image {uri} does not exist. Provide a valid source image."
        raise wrong_value(message) from None


def _task_of(image: PulledImage) -> bytes:
    """The files of the task, as an archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for one in image.files(_TASK):
            entry = zipfile.ZipInfo(one.path)
            entry.external_attr = (0o100000 | one.mode) << 16
            archive.writestr(entry, one.content)
    return made.getvalue()


def _create(region: Region, asked: Fields) -> Fields:
    name = asked["repositoryName"]
    if name in region.repositories:
        raise RefusalError(
            400,
            "RepositoryAlreadyExistsException",
            f"The repository with name '{name}' already exists in the registry",
        )
    tags = {one["Key"]: one["Value"] for one in asked.get("tags", [])}
    region.repositories[name] = Repository(_arn(region, name), tags)
    return {"repository": _shown(region, name)}


def _describe(region: Region, asked: Fields) -> Fields:
    return {"repositories": [_shown(region, one) for one in asked["repositoryNames"]]}


def _shown(region: Region, name: str) -> Fields:
    found = _repository(region, name)
    return {
        "repositoryName": name,
        "repositoryArn": found.arn,
        "registryId": region.account.number,
        "repositoryUri": f"{region.account.registry}/{name}",
    }


def _arn(region: Region, name: str) -> str:
    return f"arn:aws:ecr:{region.name}:{region.account.number}:repository/{name}"


def _repository(region: Region, name: str) -> Repository:
    found = region.repositories.get(name)
    if found is None:
        raise RefusalError(
            400,
            "RepositoryNotFoundException",
            f"The repository with name '{name}' does not exist in the registry",
        )
    return found


def _token(region: Region, _asked: Fields) -> Fields:
    token = base64.b64encode(f"AWS:{region.account.key}".encode()).decode()
    endpoint = f"http://{region.account.registry}"
    return {"authorizationData": [{"authorizationToken": token, "proxyEndpoint": endpoint}]}


def _tags(region: Region, asked: Fields) -> Fields:
    found: Any = next(
        (one for one in region.repositories.values() if one.arn == asked["resourceArn"]), None
    )
    if found is None:
        _repository(region, asked["resourceArn"])
    return {"tags": [{"Key": name, "Value": text} for name, text in found.tags.items()]}


def _delete(region: Region, asked: Fields) -> Fields:
    name = asked["repositoryName"]
    shown = _shown(region, name)
    if not asked.get("force"):
        raise RefusalError(400, "RepositoryNotEmptyException", f"'{name}' still contains images")
    del region.repositories[name]
    return {"repository": shown}


IMAGE_CALLS = {
    "CreateRepository": heeding("repositoryName tags", _create),
    "DescribeRepositories": heeding("repositoryNames", _describe),
    "GetAuthorizationToken": heeding("", _token),
    "ListTagsForResource": heeding("resourceArn", _tags),
    "DeleteRepository": heeding("repositoryName force", _delete),
}
