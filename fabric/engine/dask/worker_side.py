"""Answer build questions on a worker, independent of the transport."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.engine.dask.build_places import BuildPlaces, CancelledBuildError
from fabric.engine.dask.checkout import DamagedSnapshotError
from fabric.engine.dask.fetching import MissingError, Packs
from fabric.engine.dask.messages import (
    INLINE_BYTES,
    RemoteBuildAnswer,
    RemoteBuildRequest,
    SameSide,
)
from fabric.engine.dask.sending import SharedStore
from fabric.engine.shared.background_uploads import describe_error
from fabric.model.problems import Problem
from fabric.model.text.amounts import format_count
from fabric.remote.contract import CarrierError
from fabric.remote.snapshots import store_bytes
from fabric.runtimes.contract import Built, BuiltFile
from fabric.runtimes.subprocess_builder.child import BuildAnswer, BuildQuestion, LostChildError
from fabric.system.clock import Clock

_PUT_SECONDS = 20.0


class WorkerSide(Struct, frozen=True):
    """`place` is the worker's name, for people."""

    place: str
    side: SameSide
    store: SharedStore
    packs: Packs
    places: BuildPlaces
    clock: Clock

    def answer(
        self, question: RemoteBuildRequest, is_wanted: Callable[[], bool]
    ) -> RemoteBuildAnswer:
        """Answer a question. Never raises: errors are written to the worker's log with the
        question."""
        if why := describe_difference(self.side, question.side):
            return RemoteBuildAnswer(self.place, lacks=why, is_unlike=True)
        begin = self.clock.monotonic()
        answer = self._handle_question(question, is_wanted)
        return replace(answer, took_ms=round((self.clock.monotonic() - begin) * 1000))

    def _handle_question(
        self, question: RemoteBuildRequest, is_wanted: Callable[[], bool]
    ) -> RemoteBuildAnswer:
        try:
            return self._convert_answer(question, self._build_in_place(question, is_wanted))
        except (MissingError, DamagedSnapshotError):
            return RemoteBuildAnswer(self.place, is_missing=True)
        except (CarrierError, TimeoutError) as error:
            return RemoteBuildAnswer(self.place, lacks=describe_error(error), is_cut_off=True)
        except CancelledBuildError:
            return RemoteBuildAnswer(self.place)
        except LostChildError:
            return RemoteBuildAnswer(
                self.place, problems=(_child_death_problem(question, self.place),)
            )
        except Exception as error:  # noqa: BLE001 - the boundary of a worker
            return RemoteBuildAnswer(self.place, lacks=f"cannot build: {describe_error(error)}")

    def _build_in_place(
        self, question: RemoteBuildRequest, is_wanted: Callable[[], bool]
    ) -> BuildAnswer:
        asked = BuildQuestion("", question.inputs, question.toolchain, question.environment)
        snapshot = self.packs.snapshot(question.snapshot)
        with self.places.one(question.depth) as place:
            return place.answer(snapshot, asked, is_wanted)

    def _convert_answer(
        self, question: RemoteBuildRequest, answer: BuildAnswer
    ) -> RemoteBuildAnswer:
        if answer.built is not None:
            return self._store_result(answer.built)
        if answer.problems:
            return RemoteBuildAnswer(self.place, problems=answer.problems)
        if answer.other_toolchain:
            there = f"has {answer.other_toolchain} instead of {question.toolchain}"
            return RemoteBuildAnswer(self.place, lacks=there)
        return RemoteBuildAnswer(
            self.place, lacks="reads something that exists only on this machine"
        )

    def _store_result(self, built: Built) -> RemoteBuildAnswer:
        """Contents by digest, where they are more than a message should carry."""
        contents = [one.content for one in built.files]
        if sum(map(len, contents)) <= INLINE_BYTES:
            return RemoteBuildAnswer(self.place, built)
        stored, objects = store_bytes(self.store.keys, contents)
        for call in [self.store.uploads.put(name, content) for name, content in objects]:
            call.result(_PUT_SECONDS)
        bare = tuple(replace(one, content=b"") for one in built.files)
        sizes = tuple(map(len, contents))
        return RemoteBuildAnswer(self.place, replace(built, files=bare), stored=stored, sizes=sizes)


def describe_difference(there: SameSide, here: SameSide) -> str:
    """Describe how a worker differs from the client; empty if it matches."""
    if there.fabric != here.fabric:
        return f"has fabric {there.fabric} instead of {here.fabric}"
    if there.python != here.python:
        return f"has Python {there.python} instead of {here.python}"
    if not there.cache:
        return "has no shared cache: set FABRIC_REMOTE_CACHE_URL and FABRIC_REMOTE_CACHE_KEY there"
    known = there.keys[:1] and there.keys[0] in here.keys and here.keys[0] in there.keys
    if there.cache != here.cache or not known:
        return "has a shared cache with another URL, team or key"
    return ""


def with_contents(built: Built, content: bytes, sizes: Sequence[int]) -> Built | None:
    """Insert the contents that were transferred separately."""
    if len(sizes) != len(built.files) or sum(sizes) != len(content):
        return None
    files, at = list[BuiltFile](), 0
    for one, size in zip(built.files, sizes, strict=True):
        files.append(replace(one, content=content[at : at + size]))
        at += size
    return replace(built, files=tuple(files))


def _child_death_problem(question: RemoteBuildRequest, place: str) -> Problem:
    function = f"`{question.inputs.service}/{question.inputs.function}`"
    return Problem(
        "build/child-lost",
        f"the build process of {function} on {place} exited {format_count(2, 'time')}",
        hint="check the memory of the worker; a common cause is too little memory",
    )
