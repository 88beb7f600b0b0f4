"""Deploy functions to AWS Lambda: each deploy publishes a version without traffic."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fabric.model.catalog import FUNCTION_NAME, find_provider_facts
from fabric.model.problems import FabricError, Problem, UntouchedError
from fabric.providers.cloud1.core.client import (
    CONFLICT,
    GONE,
    MAX_PARALLEL,
    ignore_codes,
    is_busy,
    is_role_too_new,
)
from fabric.providers.cloud1.core.function_settings import build_given_settings
from fabric.providers.cloud1.core.ownership import (
    check_ownership,
    is_foreign,
    refuse_elsewhere,
    refuse_other_account,
    refuse_other_region,
)
from fabric.providers.cloud1.core.versions import (
    IMAGE,
    Cloud1Work,
    build_configuration,
    build_default_name,
    build_function_name,
    build_version_arn,
    choose_architecture,
    compare_configuration,
    describe_function,
    encode_code_hash,
    find_by_mark,
    find_rename_problem,
    list_versions,
    mark_in,
    read_description,
    read_image,
    read_version,
    retry_on_conflict,
    wait_until_ready,
)
from fabric.providers.cloud1.functions.aliases import (
    CutOver,
    StoredReleaseState,
    read_kept_version,
    read_live_version,
)
from fabric.providers.cloud1.functions.function_attributes import (
    has_known_traffic,
    read_attributes,
    set_share,
    update_attributes,
)
from fabric.providers.cloud1.functions.images import locate_image, push_function_image
from fabric.providers.cloud1.functions.roles import has_own_role, prepare_role
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder, LiveFunction
from fabric.providers.core.errors import refuse_without_version
from fabric.providers.core.limits import function_problem
from fabric.providers.core.provider import missing_role_problem
from fabric.providers.core.retry import poll_until, run_parallel
from fabric.system.cloud1_account import read_error_code

LARGEST_ZIP = 50 * 1024 * 1024


class _FunctionMaking(Struct, frozen=True):
    """The deploy of one function."""

    work: Cloud1Work
    address: DeploymentAddress
    order: FunctionOrder
    role: str

    @property
    def name(self) -> str:
        """The name that the order sets: that of a rollback is not that of the config."""
        default = build_default_name(self.address, self.order.name)
        return dict(self.order.settings).get(FUNCTION_NAME) or default

    def find_changes(self, found: Mapping[str, Any]) -> dict[str, object]:
        return compare_configuration(self.order, self.role, found)


def deploy_function(
    work: Cloud1Work, address: DeploymentAddress, order: FunctionOrder
) -> LiveFunction:
    refuse_other_region(work, address)
    renamed = find_rename_problem(address, order.name, dict(order.settings))
    if renamed is not None:
        raise UntouchedError(renamed)
    making = _FunctionMaking(work, address, order, prepare_role(work, address, order))
    then = _find_earlier_version(making)
    if then is not None:
        _refuse_others(making, then)
        _update_attributes(making, then)
        return _report_live_function(making, build_version_arn(then["Configuration"]))
    refuse_without_version(order)
    _refuse_missing_role(making)
    found = describe_function(work, making.name)
    if found is None:
        refuse_other_account(work, address)
        _refuse_leftover(making)
        arn = _create_function(making)
        if arn:
            return _report_live_function(making, arn)
        found = describe_function(work, making.name)
    if found is None:
        why = "another process deleted the function during the deploy"
        message, hint = f"function `{order.name}`: {why}", "run the command again"
        raise FabricError(Problem("provider/failed", message, hint))
    _refuse_others(making, found)
    _update_attributes(making, found)
    return _report_live_function(making, _update_function(making, found))


def _refuse_missing_role(making: _FunctionMaking) -> None:
    """Raise if a new version has no role. A rollback needs one only if a version was deleted."""
    facts = find_provider_facts(making.address.provider_id)
    if facts and not making.role:
        raise FabricError(missing_role_problem(facts))


def find_function(
    work: Cloud1Work, address: DeploymentAddress, function: str, mark: str
) -> LiveFunction | None:
    """Find the version with a mark, which an interrupted run possibly did not wait for."""
    name = build_function_name(address, function)
    there = find_by_mark(work, name, function, mark)
    if there is not None:
        wait_until_ready(work, name)
    return there


def _refuse_others(making: _FunctionMaking, found: Mapping[str, Any]) -> None:
    refuse_elsewhere(making.address, str(found["Configuration"]["FunctionArn"]))
    check_ownership(making.address, making.order.name, found)


def _refuse_leftover(making: _FunctionMaking) -> None:
    """Raise if an interrupted deploy has created the function under another name."""
    address, function = making.address, making.order.name
    was = address.previous.function(function) if address.previous else None
    if was is None or was.was_made:
        return
    begun = was.resource_name or build_default_name(address, function)
    found = None if begun == making.name else describe_function(making.work, begun)
    if found is not None and not is_foreign(address, function, found):
        why = f"was created as `{begun}` by an interrupted deploy"
        hint = f"set `{FUNCTION_NAME}: {begun}`, or change the `name` of the function as well"
        raise FabricError(function_problem(function, why, hint))


def _find_earlier_version(making: _FunctionMaking) -> dict[str, Any] | None:
    """Find the version that matched this order before, if it still exists."""
    version = read_version(making.order.version)
    if not version:
        return None
    found = describe_function(making.work, making.name, version)
    if found is None or not _is_as_ordered(making, found):
        return None
    return found


def _is_as_ordered(making: _FunctionMaking, found: Mapping[str, Any]) -> bool:
    """Return whether the version matches the order. Marks also cover tags, so a different mark does
    not prove a difference."""
    one = found["Configuration"]
    if not _has_same_code(making, found):
        return False
    if mark_in(one.get("Description")) == making.order.mark:
        return True
    text = dict(making.order.settings).get("description", "")
    is_same_text = read_description(one.get("Description")) == text
    return is_same_text and not making.find_changes(one).keys() - {"Description"}


def _has_same_code(making: _FunctionMaking, found: Mapping[str, Any]) -> bool:
    """Return whether the code is that of the order. The digest identifies an image."""
    artifact = making.order.artifact
    if artifact.image is None:
        return bool(found["Configuration"]["CodeSha256"] == encode_code_hash(artifact.sha256))
    digest = artifact.image.digest or artifact.image.pushed.partition("@")[2]
    return read_image(found).endswith(f"@{digest}")


def _create_function(making: _FunctionMaking) -> str:
    """Create the function and return the id of its first version.

    Empty if the function exists, possibly created by this call before its response was lost.
    """
    from botocore.exceptions import ClientError

    def create() -> str | None:
        try:
            answer = making.work.functions.create_function(
                FunctionName=making.name,
                Code=code,
                Architectures=[choose_architecture(making.order)],
                Tags=read_attributes(making.order).all_tags(making.address),
                Publish=True,
                **build_configuration(making.order, making.role),
                **build_given_settings(dict(making.order.settings)),
                **({"PackageType": IMAGE} if making.order.artifact.image else {}),
            )
        except ClientError as error:
            if is_role_too_new(error) and not has_waited(error):
                making.work.scope.watch.hear(
                    f"{making.order.name}: waiting until the role can be assumed"
                )
                return None
            if read_error_code(error) in CONFLICT:
                return ""
            raise
        return build_version_arn(answer)

    def has_waited(error: ClientError) -> bool:
        refused.append(error)
        work = making.work
        return work.clients.has_waited(making.role, work.scope.waiting.most)

    refused: list[ClientError] = []
    code = _build_code_argument(making)
    arn = poll_until(create, making.work.scope.waiting, making.work.scope.watch)
    if arn is None:
        raise refused[-1]
    if arn:
        wait_until_ready(making.work, making.name)
        set_share(making.work, making.name, None, making.order.reserved_concurrency)
    return arn


def _update_function(making: _FunctionMaking, described: Mapping[str, Any]) -> str:
    """Return the id of a version that matches the order: the newest or a new one. Settings come
    first, because the code update publishes both."""
    functions, order = making.work.functions, making.order
    settings = dict(order.settings)
    found = described["Configuration"]
    changed = making.find_changes(found)
    is_same_code = _has_same_code(making, described) and found.get("Architectures", ["x86_64"]) == [
        choose_architecture(order)
    ]
    if not changed and is_same_code:
        there = find_by_mark(making.work, making.name, order.name, order.mark)
        if there and (order.artifact.image or there.artifact_sha256 == order.artifact.sha256):
            return there.resource_id
    if changed:
        retry_on_conflict(
            making.work,
            lambda: functions.update_function_configuration(FunctionName=making.name, **changed),
            lambda error: is_busy(error) or (has_own_role(settings) and is_role_too_new(error)),
        )
        wait_until_ready(making.work, making.name)
    if is_same_code:
        answer = retry_on_conflict(
            making.work,
            lambda: functions.publish_version(
                FunctionName=making.name, CodeSha256=found["CodeSha256"]
            ),
        )
    else:
        code = _build_code_argument(making)
        answer = retry_on_conflict(
            making.work,
            lambda: functions.update_function_code(
                FunctionName=making.name,
                Architectures=[choose_architecture(order)],
                Publish=True,
                **code,
            ),
        )
        wait_until_ready(making.work, making.name)
    return build_version_arn(answer)


def _update_attributes(making: _FunctionMaking, found: Mapping[str, Any]) -> None:
    """Set the attributes, unless the function receives traffic: then a release sets them."""
    if not has_known_traffic(making.address, making.order.name):
        update_attributes(making.work, making.address, read_attributes(making.order), found)


def _build_code_argument(making: _FunctionMaking) -> dict[str, object]:
    if making.order.artifact.image:
        return {"ImageUri": push_function_image(making.work, making.address, making.order)}
    content = making.order.artifact.path.read_bytes()
    if len(content) <= LARGEST_ZIP:
        return {"ZipFile": content}
    return upload_archive(
        making.work, f"`{making.order.name}`", making.order.artifact.sha256, content
    )


def upload_archive(work: Cloud1Work, title: str, sha256: str, content: bytes) -> dict[str, object]:
    """Upload an archive that is too large for a call, and return its place."""
    bucket = work.own.artifact_bucket
    if not bucket:
        message = (
            f"the archive of {title} has {len(content):,} bytes; archives above "
            f"{LARGEST_ZIP:,} bytes require a bucket"
        )
        hint = "set `artifactBucket` below `extensions.cloud1-lambda`, or include fewer files"
        raise FabricError(Problem("deploy/archive-too-large", message, hint))
    key = f"fabric/{sha256}.zip"
    work.clients.of("s3").put_object(Bucket=bucket, Key=key, Body=content)
    return {"S3Bucket": bucket, "S3Key": key}


def _report_live_function(making: _FunctionMaking, arn: str) -> LiveFunction:
    order = making.order
    image = order.artifact.image
    making.work.scope.watch.hear(f"{order.name}: version {read_version(arn)} is ready")
    return LiveFunction(
        order.name,
        making.name,
        arn,
        artifact_sha256=order.artifact.sha256,
        mark=order.mark,
        triggers=order.triggers,
        image=locate_image(making.work, making.address, order) if image else "",
    )


KEPT_VERSIONS = "versions:"
# More than that between two releases, and the provider is asked.
_MANY = 50


class _Pruning(Struct, frozen=True):
    work: Cloud1Work
    named: frozenset[tuple[str, str]]
    kept: StoredReleaseState
    fresh: frozenset[str]


def prune_versions(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
    cut: CutOver,
    kept: StoredReleaseState,
) -> dict[str, str]:
    """Delete stale versions and return the remaining version numbers to store."""
    named = frozenset(_list_needed_versions(address, functions, kept))
    pruning = _Pruning(work, named, kept, cut.fresh)
    moved = [one for one in functions if one.name in cut.moved]
    left = run_parallel(lambda one: _prune_function(pruning, one), moved, MAX_PARALLEL)
    new = {
        KEPT_VERSIONS + one.name: " ".join(map(str, numbers))
        for one, numbers in zip(moved, left, strict=True)
    }
    old = {
        KEPT_VERSIONS + one.name: kept.texts.get(KEPT_VERSIONS + one.name, "") for one in functions
    }
    return {name: text for name, text in {**old, **new}.items() if text}


def _list_needed_versions(
    address: DeploymentAddress, functions: Sequence[LiveFunction], kept: StoredReleaseState
) -> Iterator[tuple[str, str]]:
    """Yield versions with traffic, and rollback targets of records."""
    yield from ((one.name, read_live_version(one)) for one in functions)
    yield from (
        (name, read_kept_version(kept.texts, name)) for name in (one.name for one in functions)
    )
    record = address.previous
    if record is not None:
        rows = (*record.functions, *(one for past in record.history for one in past.functions))
        yield from ((one.name, read_version(one.resource_id)) for one in rows)


def _prune_function(pruning: _Pruning, one: LiveFunction) -> list[int]:
    there = _list_known_versions(pruning, one)
    stale = [number for number in there if (one.name, str(number)) not in pruning.named]
    gone = {number for number in stale if _try_delete(pruning, one, number)}
    return sorted(there - gone)


def _list_known_versions(pruning: _Pruning, one: LiveFunction) -> set[int]:
    """List existing versions, including those of runs without a release."""
    newest = int(read_live_version(one))
    known = {int(text) for text in pruning.kept.texts.get(KEPT_VERSIONS + one.name, "").split()}
    if newest == 1 or newest in known:
        return known | {newest}
    if known and max(known) < newest <= max(known) + _MANY:
        return known | set(range(max(known) + 1, newest + 1))
    return {int(row["Version"]) for row in list_versions(pruning.work, one.resource_name)}


def _try_delete(pruning: _Pruning, one: LiveFunction, number: int) -> bool:
    """Delete a version. A failure does not fail the release: it is reported and retried later."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        with ignore_codes(GONE):
            pruning.work.functions.delete_function(
                FunctionName=one.resource_name, Qualifier=str(number)
            )
    except (ClientError, BotoCoreError) as error:
        pruning.work.scope.watch.hear(f"{one.name}: version {number} could not be deleted: {error}")
        return False
    pruning.work.scope.watch.hear(f"{one.name}: deleted unused version {number}")
    return True
