"""What tests ask the server itself: calls that were counted, faults to come, what is left."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from werkzeug.wrappers import Request

from tests.support.servers.strict_cloud1.accounts import Account
from tests.support.servers.strict_cloud1.cloud import Cloud
from tests.support.servers.strict_cloud1.deliveries import fire_rule, fire_schedule
from tests.support.servers.strict_cloud1.faults import Fault, Faults, Throttle
from tests.support.servers.strict_cloud1.gateway_access import Answer
from tests.support.servers.strict_cloud1.leftovers import left
from tests.support.servers.strict_cloud1.stack_calls import add_deployed_stack

_Answerer = Callable[[Account, bytes], Any]


def _reset(account: Account, _: bytes) -> None:
    """The counts, the faults and the rate; what was made stays."""
    account.calls.clear()
    account.faults = Faults()


def _fault(account: Account, body: bytes) -> None:
    account.faults.planned.append(msgspec.json.decode(body, type=Fault))


def _throttle(account: Account, body: bytes) -> None:
    account.faults.limit(msgspec.json.decode(body, type=Throttle))


def _looks(account: Account, body: bytes) -> None:
    account.looks = msgspec.json.decode(body, type=int)


def _registry(account: Account, body: bytes) -> None:
    account.registry = msgspec.json.decode(body, type=str)


class SideChannel:
    """`/_server/<what>?key=<access key id>`."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._known: dict[str, _Answerer] = {
            "calls": lambda account, _: Counter(name for name, _ in account.calls),
            "answers": lambda account, _: account.calls,
            "left": lambda account, _: left(account),
            "account": lambda account, _: account.number,
            "reset": _reset,
            "fault": _fault,
            "throttle": _throttle,
            "looks": _looks,
            "registry": _registry,
            "fire": self._fire,
            "forget": self._forget,
            "issuer": self._trust_issuer,
            "stack": self._add_stack,
        }

    def _fire(self, account: Account, body: bytes) -> bool:
        """A rule or a schedule of a region, at once."""
        asked = msgspec.json.decode(body, type=dict[str, str])
        region = account.region(asked["region"], self._cloud.server)
        if "rule" in asked:
            return fire_rule(self._cloud, region, asked["rule"])
        return fire_schedule(self._cloud, region, asked["schedule"])

    def _add_stack(self, account: Account, body: bytes) -> None:
        asked = msgspec.json.decode(body)
        region = account.region(asked["region"], self._cloud.server)
        add_deployed_stack(region, asked["name"], asked["resources"])

    def _show_code(self, asked: Mapping[str, str]) -> Answer:
        """The archive of a version, at the address that its description has."""
        with self._cloud.turn:
            account = self._cloud.accounts.of(asked["key"])
            region = account.region(asked["region"], self._cloud.server)
            content = region.functions[asked["function"]].version(asked["version"]).content
        return Answer(200, (("Content-Type", "application/zip"),), content)

    def _forget(self, account: Account, _: bytes) -> None:
        """The account is closed; what moto has of it stays, and nobody asks for it again."""
        self._cloud.children.forget_account(account.number)
        self._cloud.accounts.by_key.pop(account.key)

    def _trust_issuer(self, _: Account, body: bytes) -> None:
        """The keys of an issuer, which an account would fetch from its address."""
        self._cloud.accounts.issuers |= msgspec.json.decode(body, type=dict[str, dict[str, str]])

    def answered(self, request: Request) -> Answer:
        if request.path == "/_server/code":
            return self._show_code(request.args)
        known = self._known.get(request.path.removeprefix("/_server/"))
        if known is None or "key" not in request.args:
            return _json(404, sorted(self._known))
        with self._cloud.turn:
            account = self._cloud.accounts.of(request.args["key"])
            try:
                return _json(200, known(account, request.get_data()))
            except msgspec.DecodeError as error:
                return _json(400, str(error))


def _json(status: int, found: object) -> Answer:
    body = json.dumps(found).encode()
    return Answer(status, (("Content-Type", "application/json"),), body)
