"""The functions of a service as one HTTP server: requests become calls, and results become
responses."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from fabric.local.access import (
    ERROR,
    OPEN,
    UNAUTHORIZED,
    AccessState,
    Denied,
    FunctionRule,
    TokenKeys,
    TokenRule,
    Verdict,
    check_api_key,
    check_token,
    has_token_form,
    read_identity,
    read_verdict,
)
from fabric.local.exchange import Exchange, ServedCall, build_failure_answer, build_problem_answer
from fabric.local.http_answer import BadAnswerError, convert_answer
from fabric.local.http_event import (
    Arrival,
    RefusedBodyError,
    build_authorizer_event,
    convert_event,
    convert_request_to_event,
)
from fabric.local.http_service import TunnelEnd, is_loopback
from fabric.local.routes import ANY, HttpRoute, Matched, RouteTable
from fabric.model.calls.cors import Cors, parse_cors_setting
from fabric.model.calls.mapped_events import INTEGRATION, find_error_status
from fabric.model.outcomes.json_struct import Json, JsonObject
from fabric.model.problems import Problem
from fabric.model.task import Pairs
from fabric.runtimes.calls.call_end import CallEnd, Failing, decode_response
from fabric.runtimes.calls.event_lines import encode_call_event, parse_event
from fabric.runtimes.calls.pool import HandlerPool
from fabric.system.http.answers import ServedAnswer, build_json_answer
from fabric.system.http.connection import SendReply
from fabric.system.http.requests import RequestHead, ServedRequest

_EVENTS = "/_fabric/events/"


class ServedFunctions(Struct, frozen=True):
    """The served functions: routes, names with memory in MB, and functions that currently fail to
    build, with their problems."""

    routes: RouteTable
    memory: Mapping[str, int]
    broken: Mapping[str, Problem] = {}


class Surroundings(Struct, frozen=True):
    """The environment of the server. `tell` receives each call; `template` is an event that request
    events extend.

    Behind a `tunnel` requests are public, so only routes are served there.
    """

    now: Callable[[], datetime]
    new_id: Callable[[], str]
    tell: Callable[[ServedCall], None]
    template: JsonObject = {}
    tunnel: TunnelEnd | None = None
    # The public keys of JWT authorizers; without keys, tokens are not checked.
    keys: TokenKeys | None = None


AnswerTo = Callable[[CallEnd], tuple[ServedAnswer, str]]


class LocalApi:
    def __init__(
        self, pool: HandlerPool, functions: ServedFunctions, surroundings: Surroundings
    ) -> None:
        self._pool = pool
        self._around = surroundings
        self.functions = functions
        self._access = AccessState(surroundings.now)
        self._said_once: set[str] = set()

    def answer(self, request: ServedRequest, reply: SendReply) -> None:
        """Answer a request; called by the HTTP server."""
        exchange = Exchange(request, reply, self._around.tell)
        head, tunnel = request.head, self._around.tunnel
        proof = tunnel.proof(head) if tunnel else None
        if proof is not None:
            reply(proof)
            return
        if head.header("upgrade").lower() == "websocket":
            exchange.refuse(HTTPStatus.NOT_IMPLEMENTED, "WebSockets are not supported here")
        elif head.path.startswith(_EVENTS) and tunnel is None:
            self._answer_event(exchange, head.path.removeprefix(_EVENTS))
        else:
            self._answer_route(exchange)

    def _answer_route(self, exchange: Exchange) -> None:
        head, table = exchange.head, self.functions.routes
        found = table.find(head.method, head.path)
        # All of the path are looked for where it is not clear at once.
        is_plain = isinstance(found, Matched) and head.method != "OPTIONS"
        routes = () if is_plain else table.on_path(head.path)
        cors = _choose_cors(routes, found)
        is_routed = isinstance(found, Matched) or found.allowed
        if is_routed and self._is_refused(head, cors):
            exchange.refuse(
                HTTPStatus.FORBIDDEN,
                f"CORS: {_describe_page(head)} is not allowed: {_explain_rejection(cors)}",
            )
        elif head.method == "OPTIONS" and routes and _is_local_options(head, cors, found):
            exchange.send(_build_options_answer(head, cors, routes))
        elif isinstance(found, Matched):
            self._call(exchange, found, cors)
        elif found.allowed:
            allow = (("allow", ", ".join(found.allowed)),)
            exchange.send(build_json_answer(405, {"message": "Method Not Allowed"}, allow))
        else:
            keys = [route.key for route in table.routes]
            exchange.refuse(HTTPStatus.NOT_FOUND, "Not Found", {"routes": keys})

    def _is_refused(self, head: RequestHead, cors: Cors | None) -> bool:
        """Return whether CORS rejects the request. A tunnel caller could omit the page, so the
        check is left to the proxy in front."""
        if self._around.tunnel is not None or not is_foreign(head):
            return False
        return not (cors and cors.admits(head.header("origin")))

    def _call(self, exchange: Exchange, found: Matched, cors: Cors | None) -> None:
        """Call the function of a route, if its limit and its authorizer allow the request."""
        access = found.route.access if self._around.tunnel is None else OPEN
        refused = check_api_key(exchange.head, access.api_keys)
        if refused:
            exchange.send(_build_refusal(refused), warning=refused.why)
            return
        if access.limit and self._access.is_over(found.route.key, access.limit):
            exchange.refuse(HTTPStatus.TOO_MANY_REQUESTS, "Too Many Requests")
            return
        arrival = Arrival(self._around.now(), self._around.new_id())
        event = convert_request_to_event(exchange.request, found, arrival)

        def go_on(verdict: Verdict) -> None:
            if isinstance(verdict, Denied):
                exchange.send(_build_refusal(verdict), warning=verdict.why)
            else:
                self._call_authorized(exchange, found, cors, _add_authorizer(event, verdict))

        self._authorize(exchange, found, event, go_on)

    def _authorize(
        self,
        exchange: Exchange,
        found: Matched,
        event: JsonObject,
        go_on: Callable[[Verdict], None],
    ) -> None:
        """Report the verdict on a request. The function of an authorizer answers later."""
        rule, keys = found.route.access.rule, self._around.keys
        if self._around.tunnel is not None:
            go_on({})  # the API in front has applied it
        elif isinstance(rule, TokenRule) and keys is not None:
            go_on(check_token(exchange.head, rule, keys, self._around.now()))
        elif isinstance(rule, FunctionRule) and rule.function in self.functions.memory:
            self._ask(exchange.head, rule, event, go_on)
        else:
            go_on({})

    def _note_open_route(self, found: Matched) -> str:
        """Return a note on an authorizer that is not applied, once for each."""
        access = found.route.access
        rule, name = access.rule, access.unchecked
        hint = ""
        if isinstance(rule, TokenRule) and self._around.keys is None:
            name, hint = rule.name, ": pass the keys of its issuer with --jwks FILE"
        elif isinstance(rule, FunctionRule) and rule.function not in self.functions.memory:
            name = rule.name
        text = f"the authorizer `{name}` is not applied{hint}"
        if not name or text in self._said_once or self._around.tunnel is not None:
            return ""
        self._said_once.add(text)
        return text

    def _ask(
        self,
        head: RequestHead,
        rule: FunctionRule,
        event: JsonObject,
        go_on: Callable[[Verdict], None],
    ) -> None:
        if rule.function in self.functions.broken:
            go_on(Denied(ERROR, f"the authorizer `{rule.function}` cannot be built"))
            return
        identity = read_identity(head, rule.sources)
        known = self._access.find(rule, identity)
        if not all(identity):
            go_on(Denied(UNAUTHORIZED, f"the request has not all of {', '.join(rule.sources)}"))
            return
        if not has_token_form(rule, identity[0] if identity else ""):
            go_on(Denied(UNAUTHORIZED, f"the token does not match `{rule.pattern}`"))
            return
        if known is not None:
            go_on(known)
            return

        def take(end: CallEnd) -> None:
            failure = build_failure_answer(head, rule.function, end)
            if failure is not None:
                go_on(Denied(ERROR, f"the authorizer `{rule.function}` failed"))
                return
            verdict = read_verdict(rule, decode_response(end))
            self._access.keep(rule, identity, verdict)
            go_on(verdict)

        asked = build_authorizer_event(rule, event, identity, _build_route_arn(event))
        self._pool.call(rule.function, encode_call_event(asked), take)

    def _call_authorized(
        self, exchange: Exchange, found: Matched, cors: Cors | None, event: JsonObject
    ) -> None:
        head, name = exchange.head, found.route.function
        shared = build_answer_headers(cors, head.header("origin")) if cors else ()
        note = self._note_open_route(found)
        try:
            event = convert_event(found.route.payload, event)
        except RefusedBodyError as error:
            exchange.refuse(error.status, str(error))
            return
        convert = _convert_mapped if found.route.payload == INTEGRATION else _convert_response

        def convert_end(end: CallEnd) -> tuple[ServedAnswer, str]:
            answer, warning = convert(head, name, end)
            own = {one for one, _ in answer.headers}
            more = tuple(one for one in shared if one[0] not in own)
            full = ServedAnswer(answer.status, (*answer.headers, *more), answer.body)
            return full, warning or note

        self._run(exchange, name, merge_event(self._around.template, event), convert_end)

    def _answer_event(self, exchange: Exchange, name: str) -> None:
        head, body = exchange.head, exchange.request.body
        if is_foreign(head):
            exchange.refuse(HTTPStatus.FORBIDDEN, f"CORS: {_describe_page(head)} is not allowed")
        elif head.method != "POST":
            exchange.refuse(HTTPStatus.METHOD_NOT_ALLOWED, "use POST to send an event")
        elif name not in self.functions.memory:
            names = sorted(self.functions.memory)
            exchange.refuse(404, f"unknown function `{name}`", {"functions": names})
        else:
            try:
                event = parse_event(body) if body else self._around.template
            except ValueError as error:
                exchange.refuse(HTTPStatus.BAD_REQUEST, f"invalid JSON event: {error}")
                return
            self._run(exchange, name, event, lambda end: (_convert_raw(head, name, end), ""))

    def _run(self, exchange: Exchange, name: str, event: Json, answer_to: AnswerTo) -> None:
        broken = self.functions.broken.get(name)
        if broken is not None:
            exchange.send(build_problem_answer(exchange.head, broken), name)
            return

        def send_answer(end: CallEnd) -> None:
            answer, warning = answer_to(end)
            exchange.send(answer, name, end, warning or self._choose_warning(name, end))

        self._pool.call(name, encode_call_event(event), send_answer)

    def _choose_warning(self, name: str, end: CallEnd) -> str:
        """Return the differences from the provider, each once per function."""
        fresh = [one.message for one in end.warnings if one.message not in self._said_once]
        self._said_once.update(fresh)
        texts = (message.removeprefix(f"function `{name}`: ") for message in fresh)
        return ", ".join(texts) or self._format_memory_warning(name, end)

    def _format_memory_warning(self, name: str, end: CallEnd) -> str:
        most = self.functions.memory.get(name, 0)
        used = end.memory // (1024 * 1024)
        return f"it uses {used} MB; its `memory` is {most} MB" if most and used > most else ""


def _build_refusal(refused: Denied) -> ServedAnswer:
    return build_json_answer(refused.status, {"message": refused.message})


def _add_authorizer(event: JsonObject, verdict: JsonObject) -> JsonObject:
    context = event["requestContext"]
    if not verdict or not isinstance(context, dict):
        return event
    return {**event, "requestContext": {**context, "authorizer": verdict}}


def _build_route_arn(event: JsonObject) -> str:
    context: Any = event["requestContext"]
    api = f"{context['apiId']}/{context['stage']}/{context['http']['method']}"
    return f"arn:aws:execute-api:local:{context['accountId']}:{api}{event['rawPath']}"


def merge_event(template: Json, event: Json) -> Json:
    """Add the fields that only the template has to the event."""
    if not isinstance(template, dict) or not isinstance(event, dict):
        return event
    both = {name: merge_event(template.get(name), value) for name, value in event.items()}
    return {**template, **both}


def _choose_cors(routes: tuple[HttpRoute, ...], found: object) -> Cors | None:
    """Return the CORS settings of the route; for a preflight, of any route of the path."""
    if isinstance(found, Matched):
        return parse_cors_setting(found.route.cors)
    said = (route.cors for route in routes if route.cors)
    return parse_cors_setting(next(said, ""))


def _is_local_options(head: RequestHead, cors: Cors | None, found: object) -> bool:
    """Return whether OPTIONS is answered here: always with `cors`, otherwise if no route handles
    it."""
    is_preflight = bool(head.header("access-control-request-method"))
    takes_it = isinstance(found, Matched) and found.route.method in ("OPTIONS", ANY)
    return (cors is not None and is_preflight) or not takes_it


def _build_options_answer(
    head: RequestHead, cors: Cors | None, routes: tuple[HttpRoute, ...]
) -> ServedAnswer:
    methods = ", ".join(sorted({"OPTIONS", *(route.method for route in routes)} - {ANY}))
    more = build_preflight_headers(cors, head) if cors else ()
    return ServedAnswer(204, (("allow", methods), *more))


def _explain_rejection(cors: Cors | None) -> str:
    return "its origin is not in `cors` of the route" if cors else "the route has no `cors`"


def _describe_page(head: RequestHead) -> str:
    return f"a page from {head.header('origin') or 'another site'}"


def _convert_response(head: RequestHead, name: str, end: CallEnd) -> tuple[ServedAnswer, str]:
    failed_answer = build_failure_answer(head, name, end)
    if failed_answer is not None:
        return failed_answer, ""
    try:
        return convert_answer(decode_response(end)), ""
    except (BadAnswerError, ValueError, RecursionError) as error:
        document = {"error": f"`{name}` returned an invalid response: {error}"}
        return build_json_answer(HTTPStatus.BAD_GATEWAY, document), str(error)


def _convert_mapped(head: RequestHead, name: str, end: CallEnd) -> tuple[ServedAnswer, str]:
    """Convert the result of a route without a proxy: it is the body, and its error the status."""
    failure = end.failure
    if failure is None or failure.why is not Failing.THREW:
        return _convert_raw(head, name, end), ""
    text = failure.message.removeprefix(f"failed: {failure.type}: ")
    document = {"errorMessage": text, "errorType": failure.type}
    return build_json_answer(find_error_status(text), document), ""


def _convert_raw(head: RequestHead, name: str, end: CallEnd) -> ServedAnswer:
    kind = (("content-type", "application/json"),)
    return build_failure_answer(head, name, end) or ServedAnswer(HTTPStatus.OK, kind, end.response)


def build_answer_headers(cors: Cors, origin: str) -> Pairs:
    """Return the headers of every response to a page of that origin."""
    if not origin or not cors.admits(origin):
        return ()
    is_open = "*" in cors.origins and not cors.credentials
    named: Pairs = () if is_open else (("vary", "origin"),)
    return (
        ("access-control-allow-origin", "*" if is_open else origin),
        *named,
        *_build_list_header("access-control-expose-headers", cors.exposed),
        *((("access-control-allow-credentials", "true"),) if cors.credentials else ()),
    )


def build_preflight_headers(cors: Cors, head: RequestHead) -> Pairs:
    """Return the headers of a preflight response."""
    wanted = head.header("access-control-request-headers")
    headers = cors.headers or tuple(filter(None, (wanted,)))
    return (
        *build_answer_headers(cors, head.header("origin")),
        *_build_list_header("access-control-allow-methods", cors.methods),
        *_build_list_header("access-control-allow-headers", headers),
        *((("access-control-max-age", cors.max_age),) if cors.max_age else ()),
    )


def is_foreign(head: RequestHead) -> bool:
    """Return whether a page from another site sent the request; pages of this machine belong to the
    developer."""
    origin = head.header("origin")
    if not origin:
        return head.header("sec-fetch-site") == "cross-site" and head.method not in ("GET", "HEAD")
    try:
        return not is_loopback(urlsplit(origin).netloc)
    except ValueError:
        return True


def _build_list_header(name: str, values: Sequence[str]) -> Pairs:
    return ((name, ", ".join(values)),) if values else ()
