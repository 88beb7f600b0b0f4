"""Upload results during the run: packs first, then a segment, then the heads.

Nothing refers to missing objects. A process killed at any time leaves only unreferenced objects and
old heads.
"""

import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.engine.shared.background_uploads import (
    BackgroundUploads,
    describe_error,
    start_background_thread,
)
from fabric.engine.shared.learning import Learned
from fabric.engine.shared.link import SharedLink
from fabric.graph.traces import Trace
from fabric.model.names import Digest
from fabric.model.task import Task
from fabric.model.task_id import remove_target_suffix
from fabric.remote.contract import CarrierError, CarrierRefusedError, ObjectKind, ObjectName
from fabric.remote.heads import (
    MOST_SEGMENTS,
    Head,
    NewSegment,
    decode_head,
    encode_head,
    is_due,
    with_segment,
)
from fabric.remote.packs import Extent, PackCutter
from fabric.remote.seal import build_head_name, open_object, seal_head, seal_object
from fabric.remote.segments import (
    Segment,
    convert_trace_for_upload,
    decode_segment,
    encode_segment,
    join_segments,
)
from fabric.system.clock import Clock

if TYPE_CHECKING:
    from concurrent.futures import Future

    from fabric.model.task_id import TaskId

# Of the time after the run so much is kept for the segment and the heads.
_LAST_PART = 0.3
_IN_FLIGHT = 4
_NONE: frozenset[Digest] = frozenset()


class UploadedPack(Struct, frozen=True):
    stream: str
    number: int
    call: "Future[None]"


class Offer(Struct, frozen=True):
    task: Task
    trace: Trace


class Publishing:
    """One thread that packs and uploads. `failure` explains an incomplete upload."""

    def __init__(
        self,
        link: SharedLink,
        uploads: BackgroundUploads,
        clock: Clock,
        content: Callable[[Digest], bytes | None],
    ) -> None:
        self._link = link
        self._errands = uploads
        self._clock = clock
        self._content = content
        self._queue: SimpleQueue[Offer | None] = SimpleQueue()
        self._over = threading.Event()
        self._beginning = threading.Lock()
        self._is_begun = False
        self._deadline: float | None = None
        self._learned: Learned | None = None
        self._cutters: dict[str, PackCutter] = {}
        self._streams: dict[str, list[Digest]] = {}
        self._sent: list[UploadedPack] = []
        self._extents: dict[Digest, Extent] = {}
        self._rows: dict[TaskId, tuple[Trace, ...]] = {}
        self.failure = ""

    def offer(self, offer: Offer) -> None:
        self._queue.put(offer)
        with self._beginning:
            is_first, self._is_begun = not self._is_begun, True
        if is_first and not start_background_thread(self._publish_all):
            self._over.set()

    def close(self, learned: Learned, seconds: float) -> None:
        """Wait until all is uploaded or the time limit is reached."""
        if not self._is_begun:
            return
        self._learned = learned
        self._deadline = self._clock.monotonic() + seconds
        self._queue.put(None)
        if not self._over.wait(seconds):
            self.failure = self.failure or describe_error(None)

    def _publish_all(self) -> None:
        try:
            while (offer := self._queue.get()) is not None:
                self._take(offer)
            self._finish()
        except Exception as error:  # noqa: BLE001: it is nobody's result that this was not sent
            self.failure = self.failure or describe_error(error)
        finally:
            self._over.set()

    def _take(self, offer: Offer) -> None:
        stream = offer.task.kind
        contents = {
            one.digest: self._get_new_content(one.digest) for one in offer.trace.output.files
        }
        if self.failure or None in contents.values():
            return
        cutter = self._cutters.setdefault(stream, PackCutter(stream))
        for digest, content in contents.items():
            if content is not None and digest not in self._extents:
                self._extents[digest] = cutter.add(content)
        name = remove_target_suffix(offer.task.id)
        told = convert_trace_for_upload(offer.trace, self._link.keys.first.compute_key)
        self._rows[name] = (*self._rows.get(name, ()), told)
        for pack in cutter.full():
            self._send(stream, pack)

    def _get_new_content(self, digest: Digest) -> bytes | None:
        """Return the content, unless it is already packed."""
        return b"" if digest in self._extents else self._content(digest)

    def _send(self, stream: str, pack: bytes) -> None:
        name, stored = seal_object(self._link.keys, ObjectKind.PACK, pack)
        names = self._streams.setdefault(stream, [])
        self._sent.append(UploadedPack(stream, len(names), self._errands.put(name, stored)))
        names.append(name.digest)
        under_way = [one for one in self._sent if not one.call.done()]
        if len(under_way) > _IN_FLIGHT:
            # So many lie in memory; the run itself waits for none of them.
            under_way[0].call.exception(self._compute_time_left())

    def _compute_time_left(self, part: float = 0.0) -> float | None:
        """Return the remaining wait time, minus a reserved part."""
        if self._deadline is None:
            return None
        return max(0.0, (self._deadline - self._clock.monotonic()) * (1 - part))

    def _finish(self) -> None:
        for stream, cutter in self._cutters.items():
            for pack in cutter.last():
                self._send(stream, pack)
        lost = {(one.stream, one.number) for one in self._sent if not self._has_come(one)}
        segment = self._build_segment(lost)
        if segment.traces:
            self._put_segment(segment)

    def _has_come(self, sent: UploadedPack) -> bool:
        try:
            sent.call.result(self._compute_time_left(_LAST_PART))
        except CarrierRefusedError as error:
            self.failure = self.failure or describe_error(error)
            return False
        except Exception as error:  # noqa: BLE001: the others may be there
            self.failure = self.failure or describe_error(error)
            return False
        return True

    def _build_segment(self, lost: set[tuple[str, int]]) -> Segment:
        """Build the segment of the results that are available by now."""
        there = {
            digest: extent
            for digest, extent in self._extents.items()
            if not any((extent.stream, number) in lost for number in extent.packs)
        }
        whole = {
            task_id: tuple(
                row for row in rows if all(one.digest in there for one in row.output.files)
            )
            for task_id, rows in self._rows.items()
        }
        rows = {task_id: rows for task_id, rows in whole.items() if rows}
        streams = {stream: tuple(names) for stream, names in self._streams.items()}
        return Segment(self._link.keys.first.id, rows, streams, there)

    def _put_segment(self, segment: Segment) -> None:
        segment, replaced = self._with_older(segment)
        name, stored = seal_object(self._link.keys, ObjectKind.SEGMENT, encode_segment(segment))
        if len(stored) > name.cap:
            # Nobody would read it, and all who try would take the cache for broken.
            told = f"{len(segment.traces):,} tasks exceed the size limit of the shared cache"
            raise CarrierError(f"{told}: split the run with --shard")
        self._errands.put(name, stored).result(self._compute_time_left())
        now = int(self._clock.now().timestamp())
        new = NewSegment(name.digest, now, self._link.tool, replaced)
        calls = [self._change(head, new) for head in self._list_head_names()]
        for call in calls:
            call.result(self._compute_time_left())

    def _with_older(self, segment: Segment) -> tuple[Segment, frozenset[Digest]]:
        """Merge several segments into one: those that are readable and sealed with the same key."""
        names = self._list_crowded_segments()
        older = {name: one for name in names if (one := self._find_segment(name)) is not None}
        mine = {name: one for name, one in older.items() if one.key_id == segment.key_id}
        return (
            (join_segments((segment, *mine.values())), frozenset(mine))
            if mine
            else (segment, _NONE)
        )

    def _list_crowded_segments(self) -> tuple[Digest, ...]:
        """List the segments of a full head."""
        for name in self._list_head_names():
            stored = self._errands.get(name).result(self._compute_time_left(_LAST_PART))
            opened = stored and open_object(self._link.keys, name, stored)
            head = decode_head(opened.body) if opened else None
            if head is not None and len(head.segments) >= MOST_SEGMENTS:
                return head.segments
        return ()

    def _find_segment(self, name: Digest) -> Segment | None:
        """Return a segment from the query or from the store."""
        learned = self._learned.segments.get(name) if self._learned else None
        if learned is not None:
            return learned
        named = ObjectName(ObjectKind.SEGMENT, name)
        stored = self._errands.get(named).result(self._compute_time_left(_LAST_PART))
        opened = open_object(self._link.keys, named, stored) if stored else None
        return decode_segment(opened.body, opened.key.id) if opened else None

    def _list_head_names(self) -> Iterator[ObjectName]:
        words = self._learned.words.write if self._learned else ()
        return (build_head_name(self._link.scope, word) for word in words)

    def _change(self, name: ObjectName, new: NewSegment) -> "Future[None]":
        keys = self._link.keys

        def update_head(stored: bytes | None) -> bytes:
            opened = stored and open_object(keys, name, stored)
            before = decode_head(opened.body) if opened else None
            head = with_segment(before or self._find_base_head(new.made), new)
            return seal_head(keys, name, encode_head(head))

        return self._errands.change(name, update_head)

    def _find_base_head(self, now: int) -> Head | None:
        """Return the head to start from: a new commit starts with its ancestors' entries."""
        base = self._learned.base if self._learned else None
        return None if is_due(base, now) else base
