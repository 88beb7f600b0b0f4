"""Images of functions in ECR: one repository for each function, with the tags of its owner."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fabric.model.hashing import hash_bytes
from fabric.model.problems import FabricError
from fabric.providers.cloud1.core.client import MAX_PARALLEL, ignore_codes
from fabric.providers.cloud1.core.versions import Cloud1Work, build_ownership_tags
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.images import push_order
from fabric.providers.core.ownership import foreign_resource_problem
from fabric.providers.core.retry import run_parallel
from fabric.system.cloud1_account import read_error_code

_SIGNS = re.compile(r"[^a-z0-9]+")
_LENGTH, _DIGEST = 256, 8
_FUNCTION = "fabric:function"
_MISSING = frozenset(("RepositoryNotFoundException",))
_EXISTS = "RepositoryAlreadyExistsException"


def push_function_image(work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder) -> str:
    """Push the image of a function and return its address with the digest. A restored image is in
    the repository already."""
    image = order.artifact.image
    if image is None or work.open_registries is None:
        return ""
    if image.pushed:
        return image.pushed
    _ensure_repository(work, address, order.name)
    ecr = work.open_registries()
    repository = build_repository_name(address, order.name)
    return push_order(ecr.registries, ecr.own().name, repository, order, work.scope.watch)


def locate_image(work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder) -> str:
    """Return the address of a deployed image, with the digest."""
    image = order.artifact.image
    if image is None or work.open_registries is None:
        return ""
    if image.pushed:
        return image.pushed
    registry = work.open_registries().own().name
    return f"{registry}/{build_repository_name(address, order.name)}@{image.digest}"


def build_repository_name(address: DeploymentAddress, function: str) -> str:
    """Build a name of lowercase characters, digits and hyphens. A hash keeps similar names
    distinct."""
    whole = f"{address.service}-{address.stage}-{function}"
    plain = _SIGNS.sub("-", whole.lower()).strip("-")
    if plain != whole:
        plain = f"{plain}-{hash_bytes(whole.encode())[:_DIGEST]}"
    return f"fabric/{plain}"[:_LENGTH]


def _ensure_repository(work: Cloud1Work, address: DeploymentAddress, function: str) -> None:
    name = build_repository_name(address, function)
    found = _describe_repository(work, name)
    if found is None:
        _create_repository(work, address, function)
    elif _is_foreign(work, address, function, found):
        raise FabricError(foreign_resource_problem("ECR repository", name, address.service))


def _create_repository(work: Cloud1Work, address: DeploymentAddress, function: str) -> None:
    """Create the repository, possibly again after a lost response."""
    from botocore.exceptions import ClientError

    name = build_repository_name(address, function)
    tags = [{"Key": key, "Value": text} for key, text in _build_tags(address, function).items()]
    try:
        work.clients.of("ecr").create_repository(repositoryName=name, tags=tags)
    except ClientError as error:
        if read_error_code(error) != _EXISTS:
            raise
    else:
        work.scope.watch.hear(f"{function}: created the ECR repository {name}")


def _describe_repository(work: Cloud1Work, name: str) -> dict[str, Any] | None:
    from botocore.exceptions import ClientError

    try:
        found = work.clients.of("ecr").describe_repositories(repositoryNames=[name])
    except ClientError as error:
        if read_error_code(error) not in _MISSING:
            raise
        return None
    return dict(found["repositories"][0])


def _is_foreign(
    work: Cloud1Work, address: DeploymentAddress, function: str, found: Mapping[str, Any]
) -> bool:
    rows = work.clients.of("ecr").list_tags_for_resource(resourceArn=found["repositoryArn"])
    tags = {row["Key"]: row.get("Value", "") for row in rows.get("tags", ())}
    wanted = _build_tags(address, function)
    return any(tags.get(name) != text for name, text in wanted.items())


def _build_tags(address: DeploymentAddress, function: str) -> dict[str, str]:
    return {**build_ownership_tags(address), _FUNCTION: function}


def delete_repositories(
    work: Cloud1Work, address: DeploymentAddress, functions: Sequence[LiveFunction]
) -> None:
    """Delete the repositories of functions with images. Those of others are left alone."""

    def delete(one: LiveFunction) -> None:
        name = build_repository_name(address, one.name)
        found = _describe_repository(work, name)
        if found is None or _is_foreign(work, address, one.name, found):
            return
        with ignore_codes(_MISSING):
            work.clients.of("ecr").delete_repository(repositoryName=name, force=True)
        work.scope.watch.hear(f"{one.name}: deleted the ECR repository {name}")

    run_parallel(delete, [one for one in functions if one.image], MAX_PARALLEL)
