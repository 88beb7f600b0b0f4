"""Actions of a person on the daemon's own project: deploy and remove.

They start the same runs as `/deploy` and `/remove`; only the answer's form differs.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.endpoints import Endpoints
from fabric.daemon.http_types import (
    ApiAnswer,
    ApiCall,
    ApiRoute,
    GoodAnswer,
    Right,
    RouteDocs,
    make_refusal,
)
from fabric.daemon.parameters import CONFIRM, STAGE, WAIT
from fabric.daemon.statuses import FAILED, NOT_NOW, OK, UNPROCESSABLE, choose_http_status
from fabric.model.problems import FabricError, Problem

if TYPE_CHECKING:
    from fabric.model.outcomes.json_struct import JsonObject

# What the query says, or somebody else's run: nothing of the action itself has failed.
_OF_THE_ASKING = ("usage", "request", "lock")
_REFUSED = (409, UNPROCESSABLE, NOT_NOW)
_FAILURE = ("ok", "error", "code", "problems")


class Actions:
    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def deploy(self, call: ApiCall) -> ApiAnswer:
        return _answer_action(self._endpoints.deploy, call)

    def remove(self, call: ApiCall) -> ApiAnswer:
        return _answer_action(self._endpoints.remove, call)


def build_action_routes(actions: Actions) -> Sequence[ApiRoute]:
    return (
        _route(
            "deploy", actions.deploy, "Deploy the project of the daemon.", schemas.DEPLOY_ACTION
        ),
        _route(
            "remove",
            actions.remove,
            "Remove the deployments of the project.",
            schemas.REMOVE_ACTION,
        ),
    )


def _route(
    name: str, answer: Callable[[ApiCall], ApiAnswer], about: str, done: schemas.Schema
) -> ApiRoute:
    good = (GoodAnswer(done), GoodAnswer(schemas.ACCEPTED, 202))
    return ApiRoute(
        method="POST",
        path=f"/action/{name}",
        name=f"action-{name}",
        right=Right.CHANGE,
        answer=answer,
        docs=RouteDocs(
            about=about, parameters=(STAGE, CONFIRM, WAIT), good=good, statuses=_REFUSED
        ),
    )


def _answer_action(answer: Callable[[ApiCall], ApiAnswer], call: ApiCall) -> ApiAnswer:
    """Answer an action without a request body, which means the daemon's own config."""
    try:
        return _report_partial(answer(replace(call, body=b"")))
    except FabricError as error:
        return make_refusal(choose_action_status(error.first), error.problems)


def _report_partial(answer: ApiAnswer) -> ApiAnswer:
    """Report finished work even if other parts failed."""
    said = answer.document
    if "run" in said:
        return answer
    result: JsonObject = {name: one for name, one in said.items() if name not in _FAILURE}
    if answer.status == OK:
        return replace(answer, document={"ok": True, "result": result})
    failure: JsonObject = {name: said[name] for name in _FAILURE}
    document = {**failure, "result": result} if result else failure
    first = Problem(str(said["code"]), str(said["error"]))
    return replace(answer, status=choose_action_status(first), document=document)


def choose_action_status(problem: Problem) -> int:
    status, area = choose_http_status((problem,)), problem.code.partition("/")[0]
    is_own = status in (FAILED, NOT_NOW) or area in _OF_THE_ASKING
    return status if is_own or problem.code == "run/under-way" else UNPROCESSABLE
