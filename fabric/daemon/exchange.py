"""A request of the HTTP interface and its answer, as values: what routes are functions of."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum

from msgspec import Struct

from fabric.daemon.parameters import Parameter, Parameters
from fabric.daemon.statuses import AGAIN, NOT_NOW
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import Problem
from fabric.model.report import problem_json


class Right(Enum):
    """What a caller must be allowed to do. Nobody is asked for a key for what is `OPEN`."""

    OPEN = "open"
    LOOK = "look"
    CHANGE = "change"


class RequestOrigin(Struct, frozen=True):
    """Which request something comes from, and what that said of its own caller's span."""

    id: str
    traceparent: str = ""


class ApiCall(Struct, frozen=True):
    """A request that passed the door. `values` are the variable parts of its path, `id` stands in
    the log beside whatever is said of it, `right` is what its caller may do."""

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
    """One that a route is there for, and what its body looks like."""

    schema: JsonObject
    status: int = 200
    content: str = "application/json"


class ApiRoute(Struct, frozen=True):
    """`path` has its variable parts as `<name>`; `name` is what metrics and keys call it. `about`
    is one sentence, `good` the answers that were asked for, `statuses` are those of others that
    this route may have beside what every one has. Where an answer
    `only_computes`, it waits for nobody: no run, no back end, no provider. What `is_free` may be
    asked as often as one likes."""

    method: str
    path: str
    name: str
    right: Right
    answer: Callable[[ApiCall], ApiAnswer]
    about: str
    parameters: tuple[Parameter, ...] = ()
    good: tuple[GoodAnswer, ...] = ()
    statuses: tuple[int, ...] = ()
    takes_config: bool = False
    only_computes: bool = False
    is_free: bool = False


def refusal(
    status: int, problems: tuple[Problem, ...], headers: Mapping[str, str] | None = None
) -> ApiAnswer:
    """The one form that every failure has; who is told "not now" is told when to ask again."""
    first = problems[0]
    return ApiAnswer(
        status,
        {
            "ok": False,
            "error": first.message,
            "code": first.code,
            "problems": [problem_json(one) for one in problems],
        },
        headers or ({"Retry-After": AGAIN} if status == NOT_NOW else {}),
    )
