"""Query the shared cache for heads and their segments, in the background of the command."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from fabric.engine.shared.background_uploads import BackgroundUploads
from fabric.engine.shared.link import AskWords, HeadTexts, SharedLink
from fabric.engine.shared.stored_segments import LastQuery, StoredSegments
from fabric.model.names import Digest
from fabric.remote.contract import CarrierError, ObjectKind, ObjectName
from fabric.remote.heads import MOST_SEGMENTS, Head, decode_head
from fabric.remote.seal import build_head_name, has_foreign_key, open_object
from fabric.remote.segments import Segment, decode_segment

if TYPE_CHECKING:
    from concurrent.futures import Future

_MOST_HEADS = 8


class Learned(Struct, frozen=True):
    """`segments` by their names, nearest and newest first, and the objects that they were read
    from."""

    words: HeadTexts
    segments: dict[Digest, Segment]
    stored: dict[Digest, bytes]
    # The head that the next one is made of.
    base: Head | None = None
    has_foreign_key: bool = False
    was_asked: bool = True


class Learning:
    def __init__(
        self,
        link: SharedLink,
        uploads: BackgroundUploads,
        kept: StoredSegments,
        ask_words: AskWords,
        now: Callable[[], int],
    ) -> None:
        self._link = link
        self._errands = uploads
        self._kept = kept
        self._ask_words = ask_words
        self._now = now
        self._foreign = False

    def learn(self) -> Learned:
        """Query the cache. Raises a CarrierError if it is unreachable."""
        words = self._ask_words()
        asked = None if self._link.is_part else self._kept.read_last_query()
        if asked is not None and asked.holds(self._link.cache, words.commit, self._now()):
            if not asked.ok:
                raise CarrierError("it did not respond a few minutes ago and is skipped for now")
            found = self._load_stored(words, asked)
            if found is not None:
                return found
        return self._query_cache(words)

    def _load_stored(self, words: HeadTexts, asked: LastQuery) -> Learned | None:
        """Return the stored result for this commit; None if a part is missing."""
        stored = {name: self._kept.segment(name) for name in asked.segments}
        whole = {name: content for name, content in stored.items() if content is not None}
        segments = dict(self._open_segments(whole))
        if len(segments) != len(asked.segments):
            return None
        return Learned(words, segments, whole, was_asked=False)

    def _query_cache(self, words: HeadTexts) -> Learned:
        heads = list(self._fetch_heads(words))
        names = dict.fromkeys(name for head in heads for name in head.segments)
        nearest = tuple(names)[:MOST_SEGMENTS]
        stored = self._fetch_segments(nearest)
        segments = dict(self._open_segments(stored))
        base = heads[0] if heads else None
        return Learned(words, segments, stored, base, self._foreign)

    def _fetch_heads(self, words: HeadTexts) -> Iterator[Head]:
        """Fetch all heads in parallel, nearest first. One failure fails all, because a partial
        result would look complete."""
        names = [
            build_head_name(scope, word)
            for scope in self._link.scopes
            for word in words.read[:_MOST_HEADS]
        ]
        calls = [(name, self._errands.get(name)) for name in names]
        for name, call in calls:
            body = self._open(name, call.result())
            head = None if body is None else decode_head(body[0])
            if head is not None:
                yield head

    def _fetch_segments(self, names: Sequence[Digest]) -> dict[Digest, bytes]:
        calls: list[tuple[Digest, Future[bytes | None]]] = []
        stored: dict[Digest, bytes] = {}
        for name in names:
            here = self._kept.segment(name)
            if here is not None:
                stored[name] = here
            else:
                calls.append((name, self._errands.get(ObjectName(ObjectKind.SEGMENT, name))))
        for name, call in calls:
            content = call.result()
            if content is not None:
                stored[name] = content
        return {name: stored[name] for name in names if name in stored}

    def _open_segments(self, stored: dict[Digest, bytes]) -> Iterator[tuple[Digest, Segment]]:
        for name, content in stored.items():
            opened = self._open(ObjectName(ObjectKind.SEGMENT, name), content)
            segment = None if opened is None else decode_segment(*opened)
            if segment is not None:
                yield name, segment

    def _open(self, name: ObjectName, stored: bytes | None) -> tuple[bytes, str] | None:
        """The body, and the id of the key that sealed it."""
        if stored is None:
            return None
        opened = open_object(self._link.keys, name, stored)
        self._foreign = self._foreign or has_foreign_key(self._link.keys, stored)
        return (opened.body, opened.key.id) if opened else None
