"""The operations of the API, under the routes that its description gives them."""

import base64
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.servers.host3.apps import App, Lease, Machine, new_id
from tests.support.servers.host3.running import Child, Children
from tests.support.servers.planned_faults import RefusedError

_SHARED, _V6 = "66.241.125.", "2a09:8280:1::"
_MOST_FILE_BYTES = 2 << 20
_MEMORY = {"shared": (256, 2048), "performance": (2048, 8192)}


@dataclass(frozen=True)
class Call:
    """One call: the app, the parts of the path, the query, the body, and the nonce of a lease."""

    app: App
    children: Children
    names: Mapping[str, str]
    query: Mapping[str, str]
    body: Any
    nonce: str = ""

    @property
    def machine(self) -> Machine:
        found = self.app.machines.get(self.names["machine_id"])
        if found is None or found.state == "destroyed":
            raise RefusedError(404, "machine not found")
        return found

    def changing(self) -> Machine:
        """The machine, unless another client has its lease."""
        found = self.machine
        held = found.held()
        if held is not None and held.nonce != self.nonce:
            words = f"machine ID {found.id} lease currently held by {held.owner}"
            raise RefusedError(409, f"{words}: {held.description}")
        return found


Operation = Callable[[Call], Any]


def process_of(app: App, children: Children, machine: Machine) -> Child:
    (process,) = machine.config["processes"]
    secrets = {one["env_var"]: app.secrets[one["name"]] for one in process.get("secrets", ())}
    if not process.get("ignore_app_secrets"):
        secrets = {**app.secrets, **secrets}
    return children.find(machine.config, secrets)


def _settled(call: Call, machine: Machine) -> bool:
    """Whether its checks pass. Each look brings it nearer to what it ends as."""
    if machine.state == "created" and not machine.is_launched:
        return False
    if machine.state in ("created", "starting", "started") and machine.looks > 0:
        machine.looks -= 1
        machine.state = "starting"
        return False
    if machine.state not in ("created", "starting", "started"):
        return False
    machine.state = "started"
    if not machine.config.get("processes"):
        return False
    child = process_of(call.app, call.children, machine)
    is_running = child.exit_code is None
    if machine.is_serving:
        is_running = child.await_ready(machine.check_path)
    if call.app.failure or not is_running:
        machine.state, machine.is_requested = "stopped", False
        machine.exit_code = 1 if call.app.failure else child.exit_code
        return False
    return True


def _shown(call: Call, machine: Machine) -> dict[str, Any]:
    is_passing = _settled(call, machine)
    return machine.shown(is_passing=is_passing, knows_cordons=call.app.knows_cordons)


def _app(call: Call) -> Any:
    app = call.app
    return {"id": app.name, "name": app.name, "status": "deployed", "machine_count": len(app.there)}


def _create_app(call: Call) -> Any:
    app = call.app
    if app.exists or call.body["name"] != app.name:
        raise RefusedError(422, "Name has already been taken")
    if call.body["org_slug"] != app.org:
        raise RefusedError(403, "not authorized to access this organization")
    app.exists = True
    return {"token": ""}


def _delete_app(call: Call) -> Any:
    call.app.exists = False
    for held in (call.app.machines, call.app.secrets, call.app.addresses, call.app.certificates):
        held.clear()
    return None


def _list(call: Call) -> Any:
    rows = []
    for one in call.app.there:
        if one.unseen > 0:
            one.unseen -= 1
        elif _is_asked(one, call.query):
            rows.append(one.shown(is_passing=False, knows_cordons=call.app.knows_cordons))
    return rows


def _is_asked(machine: Machine, query: Mapping[str, str]) -> bool:
    wanted = {
        name.removeprefix("metadata."): text
        for name, text in query.items()
        if name.startswith("metadata.")
    }
    return all(machine.metadata.get(name) == text for name, text in wanted.items())


def _create(call: Call) -> Any:
    body, app = call.body, call.app
    _check_config(app, body["config"])
    machine = Machine(
        new_id(),
        body.get("name", ""),
        body.get("region", "ams"),
        body["config"],
        is_cordoned=bool(body.get("skip_service_registration")),
        unseen=app.lag,
        looks=app.looks + (1 if app.is_late else 0),
        is_launched=not body.get("skip_launch"),
    )
    app.machines[machine.id] = machine
    return machine.shown(is_passing=False, knows_cordons=app.knows_cordons)


def _size_of(file: Mapping[str, Any]) -> int:
    if not file["guest_path"].startswith("/"):
        raise RefusedError(400, f"guest_path {file['guest_path']} must be absolute")
    if sum(name in file for name in ("raw_value", "secret_name", "image_config")) != 1:
        raise RefusedError(400, f"{file['guest_path']} must have one source")
    return len(base64.b64decode(file.get("raw_value", ""), validate=True))


def _check_config(app: App, config: Mapping[str, Any]) -> None:
    if sum(_size_of(one) for one in config.get("files", ())) > _MOST_FILE_BYTES:
        raise RefusedError(413, "the machine config is too large")
    guest = config.get("guest", {})
    least, most = _MEMORY.get(guest.get("cpu_kind", "shared"), (0, 0))
    cpus, memory = guest.get("cpus", 1), guest.get("memory_mb", 256)
    if not least * cpus <= memory <= most * cpus or memory % 256:
        raise RefusedError(400, f"invalid config.guest.memory_mb {memory}")
    if any(name.startswith("FLY_") for name in config.get("env", {})):
        raise RefusedError(400, "variables that begin with FLY_ are reserved")
    named = [one for row in config.get("processes", ()) for one in row.get("secrets", ())]
    missing = [one["name"] for one in named if one["name"] not in app.secrets]
    if missing:
        raise RefusedError(400, f"secrets {missing} do not exist")


def _look(call: Call) -> Any:
    machine = call.machine
    if call.app.is_late and machine.looks:
        machine.looks -= 1
        raise RefusedError(404, "machine not found")
    return _shown(call, machine)


def _start(call: Call) -> Any:
    machine = call.changing()
    before, machine.state = machine.state, "starting"
    machine.is_launched = True
    machine.exit_code = None
    return {"previous_state": before}


def _stop(call: Call) -> Any:
    machine = call.changing()
    machine.state, machine.exit_code, machine.is_requested = "stopped", 0, True
    _end_clock(call, machine)
    return {"ok": True}


def _end_clock(call: Call, machine: Machine) -> None:
    """What nobody asks ends when its machine does; the others stay warm."""
    if machine.config.get("processes") and not machine.is_serving and machine.is_launched:
        process_of(call.app, call.children, machine).end()


def _destroy(call: Call) -> Any:
    machine = call.changing() if call.query.get("force") != "true" else call.machine
    if (
        machine.state not in ("stopped", "failed", "suspended")
        and call.query.get("force") != "true"
    ):
        raise RefusedError(412, "the machine is not stopped")
    if machine.state == "started":
        _end_clock(call, machine)
    machine.state = "destroyed"
    return {"ok": True}


def _cordon(call: Call) -> Any:
    _known_to_proxy(call).is_cordoned = True
    return {}


def _uncordon(call: Call) -> Any:
    _known_to_proxy(call).is_cordoned = False
    return {}


def _known_to_proxy(call: Call) -> Machine:
    machine = call.changing()
    if not machine.is_serving:
        raise RefusedError(400, "the machine has no services")
    return machine


def _lease(call: Call) -> Any:
    machine = call.changing()
    seconds = call.body.get("ttl", 60)
    nonce, ends = uuid.uuid4().hex[:12], time.monotonic() + seconds
    machine.lease = Lease(nonce, ends, call.body.get("description", ""))
    return {"status": "success", "data": machine.lease.shown()}


def _read_lease(call: Call) -> Any:
    held = call.machine.held()
    if held is None:
        raise RefusedError(404, "lease not found")
    return {"status": "success", "data": held.shown()}


def _free(call: Call) -> Any:
    call.changing().lease = None
    return {"status": "success"}


def _note(call: Call) -> Any:
    call.changing().metadata[call.names["key"]] = call.body["value"]
    return None


def _secrets(call: Call) -> Any:
    return {"secrets": [{"name": name, "digest": "d"} for name in sorted(call.app.secrets)]}


def _set_secrets(call: Call) -> Any:
    call.app.secrets.update(call.body["values"])
    return {"version": len(call.app.secrets), "secrets": []}


def _delete_secret(call: Call) -> Any:
    if call.names["secret_name"] not in call.app.secrets:
        raise RefusedError(404, "secret not found")
    del call.app.secrets[call.names["secret_name"]]
    return {"version": len(call.app.secrets)}


def _addresses(call: Call) -> Any:
    return {"ips": [{"ip": one, "shared": one.startswith(_SHARED)} for one in call.app.addresses]}


def _assign(call: Call) -> Any:
    begins = {"shared_v4": _SHARED, "v6": _V6, "v4": "149.248.1."}
    begin = begins.get(call.body["type"])
    if begin is None:
        raise RefusedError(400, f"unknown type {call.body['type']}")
    if any(one.startswith(begin) for one in call.app.addresses):
        raise RefusedError(422, "the app has this address already")
    made = f"{begin}{len(call.app.addresses) + 1}"
    call.app.addresses.append(made)
    return {"ip": made, "shared": made.startswith(_SHARED)}


def _free_address(call: Call) -> Any:
    if call.names["ip"] not in call.app.addresses:
        raise RefusedError(404, "address not found")
    call.app.addresses.remove(call.names["ip"])
    return None


def _certificate(call: Call) -> Any:
    if call.names["hostname"] not in call.app.certificates:
        raise RefusedError(404, "certificate not found")
    return _certified(call.names["hostname"])


def _request_certificate(call: Call) -> Any:
    if call.body["hostname"] in call.app.certificates:
        raise RefusedError(422, "Hostname already exists on app")
    call.app.certificates.add(call.body["hostname"])
    return _certified(call.body["hostname"])


def _certified(hostname: str) -> dict[str, Any]:
    needs = {"a": [f"{_SHARED}1"], "aaaa": [f"{_V6}2"], "cname": "abc.shop.fly.dev"}
    return {"hostname": hostname, "configured": False, "dns_requirements": needs}


def _delete_certificate(call: Call) -> Any:
    if call.names["hostname"] not in call.app.certificates:
        raise RefusedError(404, "certificate not found")
    call.app.certificates.remove(call.names["hostname"])
    return None


def _tokens(call: Call) -> Any:
    user = f"{call.app.name}@example.test"
    return {"tokens": [{"user": user, "org_slug": call.app.org, "apps": [call.app.name]}]}


_OF_APP, _OF_MACHINE = "/apps/{app_name}", "/apps/{app_name}/machines/{machine_id}"
OPERATIONS: dict[str, Operation] = {
    "POST /apps": _create_app,
    f"GET {_OF_APP}": _app,
    f"DELETE {_OF_APP}": _delete_app,
    f"GET {_OF_APP}/machines": _list,
    f"POST {_OF_APP}/machines": _create,
    f"GET {_OF_MACHINE}": _look,
    f"DELETE {_OF_MACHINE}": _destroy,
    f"POST {_OF_MACHINE}/start": _start,
    f"POST {_OF_MACHINE}/stop": _stop,
    f"POST {_OF_MACHINE}/cordon": _cordon,
    f"POST {_OF_MACHINE}/uncordon": _uncordon,
    f"GET {_OF_MACHINE}/lease": _read_lease,
    f"POST {_OF_MACHINE}/lease": _lease,
    f"DELETE {_OF_MACHINE}/lease": _free,
    f"POST {_OF_MACHINE}/metadata/{{key}}": _note,
    f"GET {_OF_APP}/secrets": _secrets,
    f"POST {_OF_APP}/secrets": _set_secrets,
    f"DELETE {_OF_APP}/secrets/{{secret_name}}": _delete_secret,
    f"GET {_OF_APP}/ip_assignments": _addresses,
    f"POST {_OF_APP}/ip_assignments": _assign,
    f"DELETE {_OF_APP}/ip_assignments/{{ip}}": _free_address,
    f"GET {_OF_APP}/certificates/{{hostname}}": _certificate,
    f"POST {_OF_APP}/certificates/acme": _request_certificate,
    f"DELETE {_OF_APP}/certificates/{{hostname}}": _delete_certificate,
    "GET /tokens/current": _tokens,
}
