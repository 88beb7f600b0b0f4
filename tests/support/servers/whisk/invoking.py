"""How an action is run, by whomever: each run leaves an activation."""

from typing import Any

from tests.support.servers.whisk.entities import parameters
from tests.support.servers.whisk.namespaces import Namespace, RefusedError, Row, new_id
from tests.support.servers.whisk.running import Children

_STAMP = "2026-01-01T00:00:00.000000000Z"


def activated(children: Children, space: Namespace, name: str, given: Row) -> Row:
    """A sequence gives each answer to the next one; its own logs are what it called."""
    row = space.actions.get(name)
    if row is None:
        raise RefusedError(404, "The requested resource does not exist.")
    if row["exec"]["kind"] != "sequence":
        return _run(children, space, name, given)
    called: list[Row] = []
    for component in row["exec"]["components"]:
        own = "/".join(component.removeprefix("/").split("/")[1:])
        called.append(activated(children, space, own, given))
        given = called[-1]["response"]["result"]
        if not called[-1]["response"]["success"]:
            break
    return _record(space, name, called[-1]["response"], [one["activationId"] for one in called])


def _run(children: Children, space: Namespace, name: str, given: Row) -> Row:
    row = space.actions[name]
    init = {key: str(value) for key, value in parameters(row, init=True).items()}
    env = {**init, "__OW_NAMESPACE": space.name, "__OW_ACTION_NAME": f"/{space.name}/{name}"}
    arguments = {**parameters(row, init=False), **given}
    said = {key: value for key, value in arguments.items() if key not in init}
    key = (space.name, name, row["version"], str(id(row)))
    answer, lines = children.call(key, row, env, said)
    function = name.rpartition("/")[2].partition("--")[0]
    space.lines.setdefault(function, []).extend(lines)
    result = answer.get("result", {"error": answer.get("error")})
    is_good = "error" not in result
    status = "success" if is_good else "action developer error"
    if not is_good and "result" in answer:
        status = "application error"
    response = {"success": is_good, "status": status, "result": result}
    return _record(space, name, response, [f"{_STAMP} stdout: {line}" for line in lines])


def _record(space: Namespace, name: str, response: Row, logs: list[str]) -> Row:
    ident = new_id()
    made: dict[str, Any] = {
        "activationId": ident,
        "namespace": space.name,
        "name": name.rpartition("/")[2],
        "duration": 1,
        "response": response,
        "logs": logs,
    }
    space.activations[ident] = made
    return made
