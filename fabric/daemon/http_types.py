"""HTTP requests and answers as values. Routes are functions of them."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from msgspec import Struct

from fabric.daemon.parameters import Parameter, Parameters
from fabric.daemon.statuses import AGAIN, NOT_NOW
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.model.report import encode_problem


class Right(Enum):
    """The permission that a route requires. `OPEN` routes need no key."""

    OPEN = "open"
    LOOK = "look"
    CHANGE = "change"


class RequestOrigin(Struct, frozen=True):
    """The request id, and the trace span of its caller."""

    id: str
    traceparent: str = ""


class ApiCall(Struct, frozen=True):
    """An admitted request. `values` are variable path parts, `id` is in the log, `right` is the
    caller's permission."""

    id: str
    query: Parameters = Parameters({})
    values: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    client: str = ""
    right: Right = Right.CHANGE

    @property
    def origin(self) -> RequestOrigin:
        return RequestOrigin(self.id, self.headers.get("traceparent", ""))


class ApiAnswer(Struct, frozen=True):
    """A document that becomes JSON, unless `text` or `chunks` say it in another type."""

    status: int
    document: JsonObject = {}
    headers: Mapping[str, str] = {}
    text: str = ""
    content_type: str = "application/json"
    chunks: Iterable[bytes] | None = None


class GoodAnswer(Struct, frozen=True):
    """A successful answer of a route, and the schema of its body."""

    schema: JsonObject
    status: int = 200
    content: str = "application/json"


class RouteDocs(Struct, frozen=True):
    """`about` is one sentence. `good` are successful answers, `statuses` further specific ones."""

    about: str
    parameters: tuple[Parameter, ...] = ()
    good: tuple[GoodAnswer, ...] = ()
    statuses: tuple[int, ...] = ()


class ApiRoute(Struct, frozen=True):
    """A route. `path` has variable parts as `<name>`; `name` is used in metrics and keys.

    With `only_computes` the answer
    waits for no run, backend or provider. `is_free` routes have no rate limit.
    """

    method: str
    path: str
    name: str
    right: Right
    answer: Callable[[ApiCall], ApiAnswer]
    docs: RouteDocs
    takes_config: bool = False
    only_computes: bool = False
    is_free: bool = False


def make_refusal(
    status: int, problems: tuple[Problem, ...], headers: Mapping[str, str] | None = None
) -> ApiAnswer:
    """Build a failure answer in the common form. A temporary refusal includes when to retry."""
    first = problems[0]
    return ApiAnswer(
        status,
        {
            "ok": False,
            "error": first.message,
            "code": first.code,
            "problems": [encode_problem(one) for one in problems],
        },
        headers or ({"Retry-After": AGAIN} if status == NOT_NOW else {}),
    )
