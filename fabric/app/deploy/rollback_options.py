"""Check the requirements of a rollback before the first change."""

from collections.abc import Container, Iterable, Iterator

from msgspec.structs import replace

from fabric.app.records.known_records import parse_release_ref
from fabric.app.records.scope import DeployScope
from fabric.graph.judge import release_output
from fabric.model.problems import Problem
from fabric.model.records.record import Deployment, FunctionRecord, Record, RecordRef
from fabric.model.task_id import is_kind
from fabric.state.records.archives import ArchiveMissingError, build_archive_path


def find_lost_archives(
    scope: DeployScope, ref: RecordRef, functions: Iterable[FunctionRecord]
) -> Iterator[Problem]:
    """Find archives missing both locally and in the backend. Fetches remote-only archives."""
    for one in functions:
        try:
            scope.tools.archives.find_archive(ref, one.artifact_sha256)
        except ArchiveMissingError:
            yield _no_archive_left_problem(scope, ref, one)


def _no_archive_left_problem(scope: DeployScope, ref: RecordRef, one: FunctionRecord) -> Problem:
    record_store = scope.transaction.record_store(ref)
    places = [str(build_archive_path(record_store.home, one.artifact_sha256))]
    if not record_store.is_own_folder:
        places.append(record_store.stores.state.place)
    return Problem(
        "state/archive-missing",
        f"the archive of `{ref.service}/{one.name}` no longer exists: "
        f"{one.artifact_sha256[:12]} is not in {' or '.join(places)}",
        hint="restore the archive file, or deploy from the sources of that version",
    )


def find_moved_upstreams(
    scope: DeployScope, ref: RecordRef, functions: Iterable[FunctionRecord]
) -> Iterator[Problem]:
    """Find upstreams whose address changed. A rollback of one service uses their current
    addresses."""
    found = tuple(functions)
    upstream = dict.fromkeys(pair for one in found for pair in one.upstream)
    moved = {
        parse_release_ref(name, ref.stage).service: None
        for name, digest in upstream
        if is_kind(name, "release")
        and _has_moved(scope, parse_release_ref(name, ref.stage), digest)
    }
    had = dict.fromkeys(name for one in found for name, _ in one.environment)
    names = [name for name in had if name.startswith(_list_variable_prefixes(scope, ref, moved))]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        message = f"`{ref.service}` receives the current URLs of its dependencies: {listed}"
        services = ", ".join(f"`{one}`" for one in moved)
        hint = f"roll back {services} first to restore the previous URLs"
        yield Problem("rollback/upstream-moved", message, hint, service=ref.service)


def _has_moved(scope: DeployScope, upstream: RecordRef, digest: str) -> bool:
    """Compare output hashes. Without the old deployment in the history, a new hash means a new
    address."""
    if upstream not in (*scope.placements, *scope.dependencies):
        return True
    record = scope.record(upstream)
    if record is None or release_output(record).digest == digest:
        return False
    then = (one.endpoint for one in record.history if _find_archive_hash(record, one) == digest)
    return next(then, "") != record.endpoint


def _find_archive_hash(record: Record, one: Deployment) -> str:
    return release_output(replace(record, endpoint=one.endpoint, outputs=one.outputs)).digest


def _list_variable_prefixes(
    scope: DeployScope, ref: RecordRef, services: Container[str]
) -> tuple[str, ...]:
    """List the variable prefixes of these upstreams, regardless of their previous provider."""
    unit = scope.work.units.get(ref)
    names = [
        name.removeprefix("SERVICE_").removesuffix("_URL")
        for name, release in (unit.upstream_outputs if unit else ())
        if name.startswith("SERVICE_") and parse_release_ref(release, ref.stage).service in services
    ]
    return tuple(text for one in names for text in (f"SERVICE_{one}_URL", f"FABRIC_OUTPUT_{one}_"))
