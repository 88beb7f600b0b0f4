"""Admission of requests: checked after the headers and before the body is read."""

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from msgspec import Struct

from fabric.daemon.http_types import ApiAnswer, Right, make_refusal
from fabric.daemon.options import NetworkOptions
from fabric.daemon.server.clients import find_client_address, group_client
from fabric.daemon.server.hosts import HostNames, is_cross_site, is_unexplained
from fabric.daemon.server.keys import Keys, is_sufficient_right
from fabric.daemon.server.route_table import ApiRouteTable
from fabric.daemon.server.sessions import BrowserSessions
from fabric.model.problems import Problem

# The key of the admission in the WSGI environment.
ADMISSION = "fabric.admission"
_CHALLENGE = {"WWW-Authenticate": 'ApiKey realm="fabric"'}


class CallHead(Struct, frozen=True):
    """A request without its body. Header names are lowercase.

    `length` is the announced body size, `local` the server's address of the connection.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    peer: str
    local: str = ""
    length: int = 0


class Admission(Struct, frozen=True):
    """The admission result. With `only_computes` the answer needs no wait."""

    id: str
    client: str = ""
    route: str = ""
    right: Right | None = None
    # Added to any answer.
    headers: Mapping[str, str] = {}
    refused: ApiAnswer | None = None
    only_computes: bool = False


class GateRules(Struct, frozen=True):
    """`sessions` are those of the dashboard, if there is one."""

    door: NetworkOptions
    keys: Keys
    hosts: HostNames
    routes: ApiRouteTable
    body_bytes: int
    sessions: BrowserSessions | None = None


class CallerRight(Struct, frozen=True):
    """The permission of a caller. Browsers send cookies on foreign requests too, so a cookie needs
    a known origin."""

    right: Right | None
    is_by_cookie: bool = False


class RequestGate:
    """Checks in this order: hostname, key, origin, rate, size."""

    def __init__(self, rules: GateRules, monotonic: Callable[[], float]) -> None:
        self._rules, self._monotonic = rules, monotonic
        limit = rules.door.per_minute
        self._minute = SlidingMinute(limit) if limit else None
        self._lock = threading.Lock()

    def admit(self, head: CallHead, request_id: str) -> Admission:
        rules = self._rules
        forwarded = head.headers.get("x-forwarded-for", "")
        client = find_client_address(head.peer, forwarded, rules.door.proxies)
        route = rules.routes.match(head.method, head.path)
        caller = self._identify_caller(head, route.right)
        headers: Mapping[str, str] = {}
        refused = self._refuse_stranger(head, route.right, caller)
        if refused is None and not route.is_free:
            refused, headers = self._count_request(client)
        if refused is None and head.length > rules.body_bytes:
            refused = too_large_answer(rules.body_bytes)
        only_computes = refused is not None or route.only_computes
        rights = (route.name, caller.right, headers)
        return Admission(request_id, client, *rights, refused, only_computes)

    def _count_request(self, client: str) -> tuple[ApiAnswer | None, Mapping[str, str]]:
        """Count the request. Health probes are exempt, because the limit would make them fail."""
        if self._minute is None:
            return None, {}
        with self._lock:
            allowance = self._minute.ask(group_client(client), self._monotonic())
        return None if allowance.is_granted else _rate_limit_answer(
            allowance.limit
        ), allowance.headers

    def _identify_caller(self, head: CallHead, needed: Right) -> CallerRight:
        if not self._rules.keys:
            return CallerRight(Right.CHANGE)
        given = head.headers.get("x-api-key")
        if given is not None:
            found = CallerRight(self._rules.keys.right_of(given))
        else:
            found = self._find_session_right(head.headers.get("cookie", ""))
        is_free = found.right is None and needed is Right.OPEN
        return CallerRight(Right.OPEN) if is_free else found

    def _find_session_right(self, cookies: str) -> CallerRight:
        sessions = self._rules.sessions
        token = sessions.token_in(cookies) if sessions else ""
        right = sessions.right_of(token) if sessions and token else None
        return CallerRight(right, is_by_cookie=right is not None)

    def _refuse_stranger(
        self, head: CallHead, needed: Right, caller: CallerRight
    ) -> ApiAnswer | None:
        host = head.headers.get("host", "localhost")
        if not self._rules.hosts.knows(host, head.local):
            return _unknown_host_answer()
        if caller.right is None:
            return _no_key_answer()
        if not is_sufficient_right(caller.right, needed):
            return _not_allowed_answer()
        is_foreign = is_cross_site(head.method, head.headers)
        is_doubtful = caller.is_by_cookie and is_unexplained(head.method, head.headers)
        return _cross_site_answer() if is_foreign or is_doubtful else None


def too_large_answer(most: int) -> ApiAnswer:
    message = f"the request body is larger than {most:,} bytes"
    hint = "send only the config: included files are read from the workspace"
    return make_refusal(413, (Problem("request/too-large", message, hint),))


def _unknown_host_answer() -> ApiAnswer:
    message = "unknown `Host` header"
    hint = "use the address of the server, or start it with --allowed-host NAME"
    return make_refusal(421, (Problem("request/unknown-host", message, hint),))


def _no_key_answer() -> ApiAnswer:
    message = "a valid API key is required"
    problem = Problem("request/no-key", message, "send the key in the header `X-API-Key`")
    return make_refusal(401, (problem,), _CHALLENGE)


def _not_allowed_answer() -> ApiAnswer:
    message = "this API key is read-only"
    return make_refusal(403, (Problem("request/read-only-key", message, "use another key"),))


def _cross_site_answer() -> ApiAnswer:
    message = "cross-site requests are not allowed"
    hint = "open the dashboard of this server"
    return make_refusal(403, (Problem("request/cross-site", message, hint),))


def _rate_limit_answer(limit: int) -> ApiAnswer:
    message = f"rate limit exceeded: {limit} requests per minute"
    hint = "wait for the seconds in `Retry-After`"
    return make_refusal(429, (Problem("request/too-often", message, hint),))


# Rate limit: N requests per client in any 60 seconds. The caller passes the time.


MINUTE = 60.0
MOST_CLIENTS = 10_000
# Of all clients together: a moment takes some thirty bytes.
_MOST_MOMENTS = 500_000


class Allowance(Struct, frozen=True):
    """`seconds` is how long until one more is let in than now."""

    is_granted: bool
    limit: int
    remaining: int
    seconds: int

    @property
    def headers(self) -> dict[str, str]:
        told = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.seconds),
        }
        return told if self.is_granted else {**told, "Retry-After": str(self.seconds)}


class SlidingMinute:
    """Stores the times of accepted requests. Rejected ones do not extend the wait.

    With too many clients, the least recent are dropped.
    """

    def __init__(self, limit: int, most_clients: int = MOST_CLIENTS) -> None:
        self._limit, self._most = limit, most_clients
        self._let_in: OrderedDict[str, deque[float]] = OrderedDict()
        self._moments = 0

    def __len__(self) -> int:
        return len(self._let_in)

    def ask(self, client: str, now: float) -> Allowance:
        moments = self._let_in.setdefault(client, deque())
        self._let_in.move_to_end(client)
        self._drop_old(moments, now)
        is_granted = len(moments) < self._limit
        if is_granted:
            moments.append(now)
            self._moments += 1
        self._make_room()
        seconds = max(1, math.ceil(moments[0] + MINUTE - now))
        return Allowance(is_granted, self._limit, self._limit - len(moments), seconds)

    def _drop_old(self, moments: deque[float], now: float) -> None:
        while moments and moments[0] <= now - MINUTE:
            moments.popleft()
            self._moments -= 1

    def _make_room(self) -> None:
        """Drop clients, but not the current one."""
        while len(self._let_in) > self._most or (
            self._moments > _MOST_MOMENTS and len(self._let_in) > 1
        ):
            _, forgotten = self._let_in.popitem(last=False)
            self._moments -= len(forgotten)
