"""Faults that a test plans for the calls of its account."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

_CODES_OF_LOGIN = {
    "lambda": {
        "expired": (403, "ExpiredTokenException"),
        "unknown": (403, "UnrecognizedClientException"),
        "denied": (403, "AccessDeniedException"),
    },
    "s3": {
        "expired": (400, "ExpiredToken"),
        "unknown": (403, "InvalidAccessKeyId"),
        "denied": (403, "AccessDenied"),
    },
    "query": {
        "expired": (403, "ExpiredToken"),
        "unknown": (403, "InvalidClientTokenId"),
        "denied": (403, "AccessDenied"),
    },
}
# How the names of operations begin that change nothing.
_READS = ("Get", "List", "Describe", "Head", "Filter")
# Of the calls to functions themselves only these are not counted against the common rate.
_OUTSIDE_THE_RATE = frozenset({"lambda.Invoke", "lambda.GetFunction", "lambda.GetPolicy"})


class Fault(Struct, forbid_unknown_fields=True):
    """`operation` is as it is counted (`lambda.CreateFunction`), without a service, or `*`.

    Without a status the connection is closed. `after` carries the call out all the same; `half`
    does too, and sends half of the answer. With `changing` looks do not fit. `login` is `expired`,
    `unknown` or `denied`.
    """

    operation: str
    skip: int = 0
    times: int = 1
    after: bool = False
    half: bool = False
    changing: bool = False
    status: int = 0
    code: str = "ServiceException"
    message: str = "planned by a test"
    login: str = ""

    def fits(self, operation: str) -> bool:
        is_kind = not self.changing or is_change(operation)
        return is_kind and self.operation in {"*", operation, operation.partition(".")[2]}

    def status_and_code(self, service: str, protocol: str) -> tuple[int, str]:
        if not self.login:
            return self.status, self.code
        group = "s3" if service == "s3" else "query" if protocol == "query" else "lambda"
        return _CODES_OF_LOGIN[group][self.login]

    @property
    def carries_out(self) -> bool:
        return self.after or self.half


def is_change(operation: str) -> bool:
    return not operation.partition(".")[2].startswith(_READS)


def is_in_the_rate(operation: str) -> bool:
    return operation.startswith("lambda.") and operation not in _OUTSIDE_THE_RATE


class Throttle(Struct):
    """`every` refuses each so-manieth call; `per_second` is a bucket that fills with time."""

    every: int = 0
    per_second: float = 0


@dataclass
class Faults:
    planned: list[Fault] = field(default_factory=list)
    throttle: Throttle = field(default_factory=Throttle)
    now: Callable[[], float] = time.monotonic
    _calls: int = 0
    _left: float = 0
    _filled_at: float = 0

    def take(self, operation: str) -> Fault | None:
        """The first that fits and is due; those that fit and are not due count this call."""
        for fault in self.planned:
            if not fault.fits(operation) or fault.times < 1:
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.times -= 1
            return fault
        return None

    def hides(self, operation: str) -> bool:
        """Whether a call that others contain is refused. Their answers then lack its part."""
        return any(one.operation == operation and one.login for one in self.planned)

    def limit(self, throttle: Throttle) -> None:
        self.throttle = throttle
        self._calls = 0
        self._left = throttle.per_second
        self._filled_at = self.now()

    def is_too_much(self, operation: str) -> bool:
        if not is_in_the_rate(operation):
            return False
        if self.throttle.every:
            self._calls += 1
            return self._calls % self.throttle.every == 0
        return bool(self.throttle.per_second) and self._is_empty()

    def _is_empty(self) -> bool:
        now, rate = self.now(), self.throttle.per_second
        self._left = min(rate, self._left + (now - self._filled_at) * rate)
        self._filled_at = now
        if self._left < 1:
            return True
        self._left -= 1
        return False
