"""The shared cache of one command: query, fetch and upload.

Failures never fail a run, and no wait costs more than it can save.
"""

import threading
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from fabric.engine.memory.traces import TraceStore
from fabric.engine.shared.background_uploads import (
    BackgroundUploads,
    Outage,
    describe_error,
    is_hopeless,
    start_background_thread,
)
from fabric.engine.shared.learning import Learned, Learning
from fabric.engine.shared.link import AskWords, HeadTexts, SharedLink
from fabric.engine.shared.publishing import Offer, Publishing
from fabric.engine.shared.remote_contents import RemoteContents
from fabric.engine.shared.stored_segments import LastQuery, StoredSegments
from fabric.graph.plan import Memory
from fabric.graph.taskgraph import TaskGraph
from fabric.graph.traces import Look, Trace, compute_static_hash, trace_here
from fabric.model.names import Digest
from fabric.model.outcomes.built import RemoteUse
from fabric.model.problems import Problem
from fabric.model.task import InputEntry, Task
from fabric.model.task_id import TaskId, remove_target_suffix
from fabric.remote.heads import is_due
from fabric.remote.seal import SealKey
from fabric.system.clock import Clock

_NOTHING = Learned(HeadTexts("", (), ()), {}, {}, was_asked=False)
_HINT = "check FABRIC_REMOTE_CACHE_URL, its token and the network: fabric cache status"


class SharedCache:
    """`has_answered` tells whether the query succeeded. Its own threads wait for the network, and
    callers wait only as long as it can pay off."""

    def __init__(
        self, link: SharedLink, uploads: BackgroundUploads, ask_words: AskWords, clock: Clock
    ) -> None:
        self.link = link
        self._errands = uploads
        self._ask_words = ask_words
        self._clock = clock
        self._begin = clock.monotonic()
        self._outage = Outage(link.wait_s)
        self._far = RemoteContents(uploads, link.keys, self._outage, clock)
        # What the thread brings, and what of it came in time.
        self._answer: Learned | None = None
        self._found: Learned | None = None
        self._is_over = threading.Event()
        self._error: BaseException | None = None
        self._is_known = False
        self._publishing: Publishing | None = None
        self._there: set[tuple[str, Digest]] = set()
        self._waited_s = 0.0
        self._hits = 0

    def begin(self, kept: StoredSegments) -> None:
        """Start the query in the background."""
        if not start_background_thread(partial(self._learn, kept)):
            self._is_over.set()

    def _learn(self, kept: StoredSegments) -> None:
        try:
            if self.link.reads:
                now = self._get_now
                learning = Learning(self.link, self._errands, kept, self._ask_words, now)
                self._answer = learning.learn()
            else:
                self._answer = Learned(self._ask_words(), {}, {}, was_asked=False)
        except BaseException as error:  # noqa: BLE001: told once, by who waits for it
            self._error = error
        finally:
            self._is_over.set()

    def _get_now(self) -> int:
        return int(self._clock.now().timestamp())

    def collect_answer(self) -> Learned:
        """Return the query result; empty if it did not arrive in time."""
        if not self._is_known:
            began = self._clock.monotonic()
            in_time = self._is_over.wait(max(0.0, self.link.wait_s - (began - self._begin)))
            self._waited_s += self._clock.monotonic() - began
            self._is_known = True
            if in_time and self._answer is not None:
                self._found = self._answer
                self._far.know(self._found.segments.values())
            else:
                self._outage.shut(describe_error(self._error if in_time else None))
        return self._found or _NOTHING

    def keep(self, kept: StoredSegments) -> None:
        """Store the query result, or its failure, for the next command."""
        found = self._found if self._is_known else None
        if self.link.is_part or (found is not None and not found.was_asked):
            return
        if found is None:
            self._keep_failure(kept)
            return
        for name in found.segments:
            kept.keep(name, found.stored[name])
        names = tuple(found.segments)
        kept.remember(
            LastQuery(self.link.cache, found.words.commit, self._get_now(), ok=True, segments=names)
        )

    def _keep_failure(self, kept: StoredSegments) -> None:
        """Store a failure. A wrong key or token is retried immediately, a silent server only after
        a while."""
        commit = self._ask_words().commit
        before = kept.read_last_query()
        is_told = before is not None and before.holds(self.link.cache, commit, self._get_now())
        if self._outage.why and not is_told and not is_hopeless(self._error):
            kept.remember(LastQuery(self.link.cache, commit, self._get_now(), ok=False))

    def tell(self, graph: TaskGraph, memory: Memory, store: TraceStore) -> None:
        """Add shared traces of these tasks, after the local ones."""
        if not (self.link.reads and self.collect_answer().segments):
            return
        for task in graph.tasks:
            traces = tuple(self.traces_of(task, memory))
            if traces:
                store.learn(task.id, traces)

    def traces_of(self, task: Task, memory: Memory) -> Iterator[Trace]:
        """Return shared traces of a task with local hashes. Traces that cannot apply here are
        omitted."""
        if task.kind not in self.link.kinds:
            return
        name = remove_target_suffix(task.id)
        entries = (*memory.code(task), *task.inputs.entries())
        static = compute_static_hash(task.kind, entries)
        for segment in self.collect_answer().segments.values():
            key = self.link.keys.by_id(segment.key_id)
            for told in segment.traces.get(name, ()) if key else ():
                if key and key.compute_key(static) == told.static and segment.has(told):
                    trace = _convert_trace(told, key, (task.kind, entries), memory.look)
                    self._there.add((name, trace.key))
                    yield trace

    def last_ms(self, task_id: TaskId) -> int | None:
        """Return the last shared duration of a task. It is equal for all machines with the same
        query result."""
        segments = self.collect_answer().segments.values() if self.link.reads else ()
        rows = (one.traces.get(remove_target_suffix(task_id), ()) for one in segments)
        return next((row.ms for found in rows for row in found), None)

    def has(self, digest: Digest, size: int) -> bool:
        return self._far.has(digest, size)

    def content(self, digest: Digest) -> bytes | None:
        return self._far.get(digest)

    def used(self, task: Task, trace: Trace) -> None:
        """Record the use of a shared result. It is uploaded again if everything is due for
        renewal."""
        with self._errands.counting:
            self._hits += 1
        if self._is_due:
            self.offer(task, trace)

    def offer(self, task: Task, trace: Trace) -> None:
        """Offer a result for upload. Only new results are uploaded."""
        if self._publishing is None or self._outage.why or task.kind not in self.link.kinds:
            return
        if self._is_due or (remove_target_suffix(task.id), trace.key) not in self._there:
            self._publishing.offer(Offer(task, trace))

    @property
    def _is_due(self) -> bool:
        base = self._found.base if self._found else None
        return base is not None and is_due(base, self._get_now())

    def gives(self, publishing: Publishing) -> None:
        """Start uploading offered results."""
        self._publishing = publishing

    @property
    def uploads(self) -> BackgroundUploads:
        return self._errands

    def finish(self) -> None:
        """Wait for uploads after the run, up to the time limit."""
        if self._publishing is None or self._outage.why:
            return
        began = self._clock.monotonic()
        self._publishing.close(self.collect_answer(), self.link.upload_s)
        self._waited_s += self._clock.monotonic() - began

    def give_up(self) -> None:
        """Stop waiting for uploads."""
        if self._publishing is not None:
            self._publishing.failure = "the upload was interrupted"

    def close(self) -> None:
        self._errands.close()

    @property
    def use(self) -> RemoteUse:
        ms = round((self._waited_s + self._far.waited_s) * 1000)
        uploads = self._errands
        return RemoteUse(self._hits, uploads.fetched_bytes, uploads.sent_bytes, ms)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return at most one warning each: why the cache is disabled, and unknown keys."""
        found = []
        if self._outage.why:
            message = f"ignoring the shared cache: {self._outage.why}"
            found.append(Problem("cache/remote-off", message, hint=_HINT))
        elif self._publishing is not None and self._publishing.failure:
            why = self._publishing.failure
            message = f"some results of this run were not uploaded to the shared cache: {why}"
            found.append(Problem("cache/remote-off", message, hint=_HINT))
        if self._found is not None and self._found.has_foreign_key:
            found.append(_FOREIGN)
        return tuple(found)


def _convert_trace(
    told: Trace, key: SealKey, asked: tuple[str, tuple[InputEntry, ...]], look: Look
) -> Trace:
    """Digests of lists of names are keyed as well."""
    lists = tuple(
        replace(one, digest=here)
        if key.compute_key(here := look.listing(one.folder, one.pattern, one.ignore)) == one.digest
        else one
        for one in told.listings
    )
    return trace_here(replace(told, listings=lists), key.compute_key, asked, look)


_FOREIGN = Problem(
    "cache/remote-key",
    "ignoring shared cache entries that were encrypted with another key",
    hint="after a key rotation set both keys, the new one first: FABRIC_REMOTE_CACHE_KEY=new,old",
)
