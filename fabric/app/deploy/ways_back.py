"""All that a way back needs, looked at before the first change."""

from collections.abc import Iterable, Iterator

from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import Problem
from fabric.model.records.record import FunctionRecord, RecordRef
from fabric.state.records.archives import ArchiveMissingError, archive_path


def lost_archives(
    scope: DeployScope, ref: RecordRef, functions: Iterable[FunctionRecord]
) -> Iterator[Problem]:
    """Looks on this machine and in the back end; what is only there is brought here."""
    for one in functions:
        try:
            scope.tools.archives.kept(ref, one.artifact_sha256)
        except ArchiveMissingError:
            yield _no_archive(scope, ref, one)


def _no_archive(scope: DeployScope, ref: RecordRef, one: FunctionRecord) -> Problem:
    record_store = scope.transaction.record_store(ref)
    places = [str(archive_path(record_store.home, one.artifact_sha256))]
    if not record_store.is_own_folder:
        places.append(record_store.stores.state.place)
    return Problem(
        "state/archive-missing",
        f"the archive of `{ref.service}/{one.name}` is not kept any more: "
        f"{one.artifact_sha256[:12]} is not in {' nor in '.join(places)}",
        hint="bring the file back, or deploy from the source of then instead",
    )
