"""Heads: small documents that locate the segments of a commit or a branch. No effects."""

from msgspec import DecodeError, Struct, ValidationError, field
from msgspec.json import Decoder, Encoder

from fabric.model.hashing import is_digest
from fabric.model.names import Digest

VERSION = 1
# With more, they are joined into one.
MOST_SEGMENTS = 16
# After so long all is sent again: a server may throw away what is older, by its age alone.
WHOLE_SECONDS = 7 * 86_400


class Head(Struct, frozen=True):
    """A head. `segments` start with the newest; the oldest was written at `whole_since`, in
    seconds."""

    version: int
    made: int
    whole_since: int
    segments: tuple[Digest, ...]
    tool: str = ""


def encode_head(head: Head) -> bytes:
    return Encoder().encode(head)


def decode_head(body: bytes) -> Head | None:
    try:
        head = Decoder(Head).decode(body)
    except (DecodeError, ValidationError, ValueError, RecursionError):
        return None
    fits = head.version == VERSION and 0 < len(head.segments) <= MOST_SEGMENTS
    return head if fits and all(map(is_digest, head.segments)) else None


class NewSegment(Struct, frozen=True):
    """A new segment, and the segments that were joined into it."""

    name: Digest
    made: int
    tool: str
    replaces: frozenset[Digest] = field(default_factory=frozenset)


def is_due(head: Head | None, now: int) -> bool:
    """Return whether everything must be uploaded again."""
    return head is None or not 0 <= now - head.whole_since < WHOLE_SECONDS


def with_segment(head: Head | None, new: NewSegment) -> Head:
    """Return the head with one more segment at the front; segments beyond the age or number limit
    are dropped."""
    older: tuple[Digest, ...] = ()
    if head is not None and not is_due(head, new.made):
        gone = new.replaces | {new.name}
        older = tuple(one for one in head.segments if one not in gone)
    since = head.whole_since if head is not None and older else new.made
    names = (new.name, *older)[:MOST_SEGMENTS]
    return Head(VERSION, new.made, since, names, new.tool)
