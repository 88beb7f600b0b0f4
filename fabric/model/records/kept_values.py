"""Values of a deploy that a record keeps sealed: whose they are, and what came of opening them."""

from msgspec import Struct

from fabric.model.records.record import RecordRef
from fabric.model.secret import NO_PAIRS, Secret
from fabric.model.task import Pairs


class ValueOwner(Struct, frozen=True):
    """What a seal is bound to: it opens for this function of this record, and for the environment
    whose digests stand beside it."""

    ref: RecordRef
    function: str
    salt: str
    environment_sha256: str


class OpenedValues(Struct, frozen=True):
    """Without values `why_not` says what kept them closed; nothing where none were kept."""

    values: Secret[Pairs] = NO_PAIRS
    why_not: str = ""
