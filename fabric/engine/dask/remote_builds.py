"""A builder that builds on a cluster and verifies the results.

A result counts only if it matches the local files. Otherwise the function is built locally, with a
warning.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.dask.fetching import MissingError, Packs
from fabric.engine.dask.messages import (
    GaveUpError,
    GoneError,
    RemoteBuildAnswer,
    RemoteBuildRequest,
    SameSide,
    Workers,
    decode_answer,
    encode,
)
from fabric.engine.dask.sending import SharedStore, SnapshotSender, UploadedSnapshot
from fabric.engine.dask.worker_side import with_contents
from fabric.engine.memory.file_index import FileIndex
from fabric.engine.shared.background_uploads import describe_error
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.model.task_inputs import BuildInputs
from fabric.model.text.amounts import format_count
from fabric.runtimes.contract import Builder, Built, InputTrace, Toolchain
from fabric.runtimes.recorded_inputs import look_ups_hold
from fabric.system.clock import Clock

_NAMED = 3
# What is wrong with a worker, and not with the build.
_EXECUTORS = ("build/child-lost",)
# So many workers in turn may be unlike this machine before a function is built here.
_TRIES = 8


class BuiltHereError(Exception):
    """The function must be built on this machine; `str` has the reason."""


class Cluster(Struct, frozen=True):
    """The workers and the facts that both sides share."""

    workers: Workers
    side: SameSide
    packs: Packs


class RemoteBuilds:
    """A builder around another one, for one run. Thread-safe."""

    def __init__(self, builder: Builder, cluster: Cluster, sender: SnapshotSender) -> None:
        self._builder = builder
        self._cluster = cluster
        self._sender = sender
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._sent: UploadedSnapshot | None = None
        self._is_sent_anew = False
        self._gone = ""
        self._reasons: Counter[str] = Counter()

    @property
    def problem(self) -> Problem | None:
        """Return which builds ran locally, and why."""
        with self._lock:
            reasons = self._reasons.most_common()
        silent = [
            f"ignoring Dask worker {one}: no response" for one in self._cluster.workers.silent
        ]
        if not reasons:
            return _silent_workers_problem(silent)
        count = sum(times for _, times in reasons)
        told = "; ".join([*(reason for reason, _ in reasons[:_NAMED]), *silent[:_NAMED]])
        return Problem(
            "executor/built-here",
            f"{format_count(count, 'function')} of this run {'was' if count == 1 else 'were'} "
            f"built on this machine: {told}",
            hint="see docs/guide/dask.md for the requirements of workers",
        )

    def toolchain(self, workspace: Path, inputs: BuildInputs) -> Toolchain:
        return self._builder.toolchain(workspace, inputs)

    def entry(self, workspace: Path, inputs: BuildInputs) -> str:
        return self._builder.entry(workspace, inputs)

    def record_inputs(self, workspace: Path, inputs: BuildInputs) -> InputTrace:
        return self._builder.record_inputs(workspace, inputs)

    def build(self, workspace: Path, inputs: BuildInputs) -> Built:
        """Build one function, remotely or locally."""
        try:
            return self._build_remotely(workspace, inputs)
        except BuiltHereError as error:
            reason = str(error)
        built = self._builder.build(workspace, inputs)
        with self._lock:
            self._reasons[reason] += 1
        return built

    def _build_remotely(self, workspace: Path, inputs: BuildInputs) -> Built:
        if inputs.command and not inputs.is_portable:
            raise BuiltHereError("custom build commands run on workers only with `build.portable`")
        if inputs.is_after_steps:
            raise BuiltHereError("the files of `build.before` exist only here")
        sent = self._send_snapshot(workspace)
        if inputs.command and _list_unsent_paths(inputs, sent):
            looked_at = self._builder.record_inputs(workspace, inputs).all_files
            if not set(looked_at).isdisjoint(sent.left_out):
                raise BuiltHereError(_explain_difference(inputs, sent))
        return self._build_with_snapshot(workspace, inputs, sent)

    def close(self) -> None:
        self._cluster.workers.close()

    def _send_snapshot(self, workspace: Path) -> UploadedSnapshot:
        """Upload the workspace snapshot once per run, when the first build needs it."""
        with self._sending:
            if self._sent is None and not self._gone:
                try:
                    self._sent = self._sender.send(workspace)
                except FabricError as error:
                    self._gone = error.first.message
            if self._sent is None:
                raise BuiltHereError(self._gone)
            return self._sent

    def _send_again(self, workspace: Path, lacking: UploadedSnapshot) -> UploadedSnapshot:
        """Upload everything again, because the store can have deleted earlier uploads."""
        with self._sending:
            if self._sent is lacking and not self._is_sent_anew:
                self._is_sent_anew = True
                self._sent = self._sender.send(workspace, anew=True)
            if self._sent is None or self._sent is lacking:
                raise BuiltHereError("the shared cache does not store uploads")
            return self._sent

    def _build_with_snapshot(
        self, workspace: Path, inputs: BuildInputs, sent: UploadedSnapshot
    ) -> Built:
        answer = self._query_workers(workspace, inputs, sent)
        if answer.is_missing:
            return self._build_with_snapshot(workspace, inputs, self._send_again(workspace, sent))
        if answer.problems:
            raise _convert_failure(answer)
        if answer.built is None:
            raise BuiltHereError(f"{answer.worker} {answer.lacks}")
        built = _check_matches_local(
            workspace, inputs, self._fetch_outputs(answer, answer.built), sent
        )
        return replace(built, took_ms=answer.took_ms)

    def _query_workers(
        self, workspace: Path, inputs: BuildInputs, sent: UploadedSnapshot
    ) -> RemoteBuildAnswer:
        """Query workers until one can build for this machine."""
        unlike = ""
        for _ in range(_TRIES):
            answer = self._query_worker(workspace, inputs, sent)
            if answer.is_cut_off:
                self._gone = f"{answer.worker} cannot read from the shared cache: {answer.lacks}"
                raise BuiltHereError(self._gone)
            if not answer.is_unlike:
                return answer
            self._cluster.workers.leave_out(answer.worker)
            unlike = f"{answer.worker} {answer.lacks}"
        raise BuiltHereError(unlike)

    def _query_worker(
        self, workspace: Path, inputs: BuildInputs, sent: UploadedSnapshot
    ) -> RemoteBuildAnswer:
        if self._gone:
            raise BuiltHereError(self._gone)
        toolchain = self._builder.toolchain(workspace, inputs)
        told = toolchain.environment if inputs.command else ()
        workers, depth = self._cluster.workers, len(workspace.parents)
        question = RemoteBuildRequest(
            side=self._cluster.side,
            snapshot=sent.stored,
            inputs=inputs,
            depth=depth,
            toolchain=toolchain.identity,
            environment=told,
        )
        try:
            asked = encode(question)
        except ValueError as error:
            raise BuiltHereError("names that are not Unicode cannot be sent") from error
        try:
            return decode_answer(workers.ask(asked))
        except GaveUpError as error:
            raise FabricError(_gave_up_problem(inputs, workers.place, error)) from error
        except GoneError as error:
            self._gone = f"{workers.place} {error}"
            raise BuiltHereError(self._gone) from error

    def _fetch_outputs(self, answer: RemoteBuildAnswer, built: Built) -> Built:
        if answer.stored is None:
            return built
        lost = f"the output of {answer.worker} is not in the shared cache"
        try:
            content = self._cluster.packs.join(answer.stored)
        except Exception as error:  # whatever a carrier says
            if not isinstance(error, MissingError):
                self._gone = f"the shared cache is unreachable: {describe_error(error)}"
            raise BuiltHereError(lost) from error
        whole = with_contents(built, content, answer.sizes)
        if whole is None:
            raise BuiltHereError(lost)
        return whole


def _convert_failure(answer: RemoteBuildAnswer) -> Exception:
    """Convert a remote failure. It can be caused by files that were not uploaded, such as `.git`,
    so this machine decides."""
    if answer.problems[0].code in _EXECUTORS:
        return FabricError(*answer.problems)
    return BuiltHereError(f"the build failed on {answer.worker} and was retried here")


def _check_matches_local(
    workspace: Path, inputs: BuildInputs, built: Built, sent: UploadedSnapshot
) -> Built:
    """Check that the inputs of the remote build equal the local files."""
    before = _find_sent_hashes(workspace, built.seen.all_files, sent)
    fits = (
        before is not None
        and not dict(built.before).items() - dict(before).items()
        and look_ups_hold(str(workspace), built.seen)
    )
    if before is None or not fits:
        raise BuiltHereError(_explain_difference(inputs, sent))
    return replace(built, before=before)


def _find_sent_hashes(
    workspace: Path, paths: tuple[str, ...], sent: UploadedSnapshot
) -> Pairs | None:
    """Return the hashes of files as uploaded; None if a file was not uploaded."""
    found = []
    for path in paths:
        digest = sent.digests.get(path) or sent.digests.get(_resolve_path(workspace, path))
        if digest is None:
            return None
        found.append((path, digest))
    return tuple(found)


def _resolve_path(workspace: Path, path: str) -> str:
    real = (workspace / path).resolve()
    return real.relative_to(workspace).as_posix() if real.is_relative_to(workspace) else ""


def _silent_workers_problem(silent: Sequence[str]) -> Problem | None:
    if not silent:
        return None
    more = f", and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    return Problem(
        "executor/silent-worker",
        "; ".join(silent[:_NAMED]) + more,
        hint="stop or restart these worker processes",
    )


def _explain_difference(inputs: BuildInputs, sent: UploadedSnapshot) -> str:
    stayed = _list_unsent_paths(inputs, sent)
    if stayed:
        return (
            f"{stayed[0]} is not sent to workers, and the builds read it (change this "
            "in .fabricignore)"
        )
    return "the builds read files outside the workspace, or files that were moved"


def _list_unsent_paths(inputs: BuildInputs, sent: UploadedSnapshot) -> tuple[str, ...]:
    """List the service's files that were not uploaded."""
    prefix = "" if inputs.root in ("", ".") else f"{inputs.root}/"
    return tuple(path for path in sent.left_out if path.startswith(prefix))


def _gave_up_problem(inputs: BuildInputs, place: str, error: GaveUpError) -> Problem:
    return Problem(
        "executor/worker-lost",
        f"cannot build `{inputs.service}/{inputs.function}` on {place}: {error}",
        hint="check the logs of the workers; a common cause is too little memory",
    )


# A cluster that builds for a run, before the stores of the run are open.


class Executor(Struct, frozen=True):
    workers: Workers
    side: SameSide
    store: SharedStore

    def around(
        self, builder: Builder, files: FileIndex, cache_folder: Path, clock: Clock
    ) -> RemoteBuilds:
        """Open the remote builder for one run. Closing it cancels running builds."""
        cluster = Cluster(self.workers, self.side, Packs(self.store))
        sender = SnapshotSender(self.store, files, cache_folder, clock)
        return RemoteBuilds(builder, cluster, sender)
