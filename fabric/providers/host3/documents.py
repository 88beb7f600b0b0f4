"""The machines of a version as documents: image, files, environment and services. No effects."""

import base64
import zipfile
from collections.abc import Mapping, Sequence

from msgspec import Struct

from fabric.model.hashing import hash_fields
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import ConfigSpot, FabricError, Problem
from fabric.model.secrets.secret import Secret
from fabric.model.task import Pairs
from fabric.providers.core.contract import DeploymentAddress, FunctionOrder
from fabric.providers.core.errors import attach_error_spot
from fabric.providers.core.payloads import format_json
from fabric.providers.core.serving import (
    READY_PATH,
    SERVER_FOLDER,
    SERVER_PORT,
    ServerRuntime,
    find_server_runtime,
)
from fabric.providers.core.sources import (
    build_handler_settings,
    parse_http_routes,
    read_memory,
    read_timeout,
    require_module,
    split_variables,
)
from fabric.providers.core.triggers import shorten_name
from fabric.providers.core.whole_service import (
    SharedEnvironment,
    build_function_name,
    pack_marks,
    require_one_runtime,
)
from fabric.providers.host3.client import Host3Account, Host3Settings, build_service_owner
from fabric.providers.host3.clock import (
    build_clock_command,
    build_clock_settings,
    read_clock_file,
)

ENVIRONMENT = SharedEnvironment("Fly", "machine", 64 * 1024)
SHARED = "the image of a machine"
OWNER, SERVICE, STAGE = "fabric_owner", "fabric_service", "fabric_stage"
MARK, PARTS, NUMBER, COUNT = "fabric_mark", "fabric_parts", "fabric_number", "fabric_count"
LIVE = "fabric_live"
# Of the machine that calls functions at their schedules.
ROLE, CLOCK = "fabric_role", "clock"
_CODE, _WORK = "/fabric/code", "/tmp/fabric"  # noqa: S108 - the machine's own
# Fly stores the files in the config of the machine. Its limit is not documented.
_PART = 256 * 1024
MOST_BYTES = 1024 * 1024
_READ_ONLY = 0o444
# Of a machine whose functions set none, and for each CPU of the kind, in MB.
STEP = 256
MEMORY = {"shared": (256, 2048), "performance": (2048, 8192)}
_SOFT, _HARD = 50, 250
# Of a function without a timeout, and what a machine needs beside it to end.
_SECONDS, _END_SECONDS = 30, 10
_MARK_LENGTH, _NAME_LENGTH = 16, 63


class MachineFile(Struct, frozen=True):
    """A file of a machine."""

    # Absolute.
    path: str
    content: bytes
    executable: bool = False

    @property
    def document(self) -> JsonObject:
        encoded = base64.b64encode(self.content).decode()
        return {"guest_path": self.path, "raw_value": encoded, "mode": _READ_ONLY}


class MachineContent(Struct, frozen=True, kw_only=True):
    """What all machines of a version contain."""

    runtime: ServerRuntime
    image: str
    # Those of the server, and those of each function. Empty if the image contains them.
    files: tuple[tuple[MachineFile, ...], ...] = ()

    @property
    def fits(self) -> bool:
        """Return whether the files fit into the config of a machine."""
        return sum(len(one.content) for group in self.files for one in group) <= MOST_BYTES


class MachinePlan(Struct, frozen=True, kw_only=True):
    """The machines of one version. `ident` identifies their content."""

    ident: str
    count: int
    region: str
    # Contains values of variables and must not be shown.
    config: JsonObject
    name: str
    # Pairs the name of a secret at the provider with its value.
    secrets: Secret[Pairs]
    # The config of the last machine, which calls functions at their schedules. Empty without
    # schedules.
    clock: JsonObject = {}

    def build_document(self, number: int, secrets_version: int) -> JsonObject:
        """Build the body of the call that creates one of the machines, without traffic."""
        is_clock = bool(self.clock) and number == self.count - 1
        config = self.clock if is_clock else self.config
        metadata = {**_texts(config["metadata"]), NUMBER: str(number)}
        return {
            "name": shorten_name(f"{self.name}-{self.ident[:8]}-{number}", _NAME_LENGTH),
            "skip_service_registration": True,
            # The release starts it: a version without traffic calls no functions.
            **({"skip_launch": True} if is_clock else {}),
            "config": {**config, "metadata": metadata},
            **({"region": self.region} if self.region else {}),
            **({"min_secrets_version": secrets_version} if secrets_version else {}),
        }


def _texts(value: object) -> dict[str, str]:
    return {str(key): str(one) for key, one in value.items()} if isinstance(value, dict) else {}


def read_content(account: Host3Account, orders: Sequence[FunctionOrder]) -> MachineContent:
    """Read the files of machines. Raises for orders that no machine can contain."""
    runtime = _choose_runtime(orders)
    server = (MachineFile(f"{SERVER_FOLDER}/{path}", text.encode()) for path, text in runtime.files)
    archives = (_read_archive(*one, runtime) for one in enumerate(_sort_by_name(orders)))
    return MachineContent(
        runtime=runtime, image=account.image or runtime.image, files=(tuple(server), *archives)
    )


def plan_machines(
    own: Host3Settings,
    address: DeploymentAddress,
    orders: Sequence[FunctionOrder],
    content: MachineContent,
) -> MachinePlan:
    orders = _sort_by_name(orders)
    runtime = content.runtime
    owner = build_service_owner(address)
    parts = pack_marks((one.name, one.mark) for one in orders)
    secret, plain = split_variables(orders)
    said = [_build_function_settings(one, runtime) for one in orders]
    config: JsonObject = {
        "image": content.image,
        "guest": {
            "cpu_kind": own.cpu_kind,
            "cpus": own.cpus,
            "memory_mb": choose_memory(own, [read_memory(one) for one in orders]),
        },
        "restart": {"policy": "on-failure", "max_retries": 10},
        "stop_config": {"signal": "SIGTERM", "timeout": f"{_longest(orders) + _END_SECONDS}s"},
        "env": {
            **plain,
            "FABRIC_SAID": format_json({"functions": said, "drain": 0}),
            "FABRIC_CODE": _CODE,
            "FABRIC_WORK": _WORK,
            "PORT": str(SERVER_PORT),
        },
        "files": [one.document for group in content.files for one in group],
        "services": [_build_service(own)],
    }
    marked = [part for one in orders for part in (one.name, one.mark)]
    clock = _build_clock(config, orders, runtime)
    region, count = address.region, max(one.provisioned_concurrency or 1 for one in orders)
    count += 1 if clock else 0
    contents = [format_json(one) for one in (config, clock) if one]
    fields = (owner.digest, region, str(count), *contents, *sorted(secret), *marked)
    ident = hash_fields(fields)[:_MARK_LENGTH]
    names = {one: f"{owner.secret_prefix}{ident[:8].upper()}_{one}" for one in sorted(secret)}
    metadata = {OWNER: owner.digest, SERVICE: address.service, STAGE: address.stage}
    metadata = {**metadata, MARK: ident, PARTS: parts, COUNT: str(count)}
    return MachinePlan(
        ident=ident,
        count=count,
        region=region,
        config={
            **config,
            "processes": [_build_process(runtime.start, names)],
            "metadata": metadata,
        },
        clock=clock
        and {
            **clock,
            "processes": [_build_process(build_clock_command(runtime), names)],
            "metadata": {**metadata, ROLE: CLOCK},
        },
        name=build_function_name(address, "").strip("-").lower().replace("_", "-"),
        secrets=Secret(tuple((name, secret[one]) for one, name in names.items())),
    )


def _sort_by_name(orders: Sequence[FunctionOrder]) -> list[FunctionOrder]:
    return sorted(orders, key=lambda one: one.name)


def _build_clock(
    config: JsonObject, orders: Sequence[FunctionOrder], runtime: ServerRuntime
) -> JsonObject:
    """Build the config of the machine with the clock; empty without schedules. It has no services,
    so that the proxy does not stop it."""
    settings = build_clock_settings(orders, runtime, _SECONDS)
    if not settings:
        return {}
    env = {**_texts(config["env"]), "FABRIC_CLOCK": settings}
    del env["FABRIC_SAID"]
    path, text = read_clock_file(runtime.language)
    files = config["files"]
    more = [*(files if isinstance(files, list) else []), MachineFile(path, text.encode()).document]
    rest = {name: value for name, value in config.items() if name != "services"}
    return {**rest, "restart": {"policy": "always"}, "env": env, "files": more}


def _build_process(command: Sequence[str], names: Mapping[str, str]) -> JsonObject:
    """Build the process. It gets only the secrets of its version, under the names of variables."""
    secrets = [{"env_var": variable, "name": name} for variable, name in names.items()]
    return {"exec": list(command), "ignore_app_secrets": True, "secrets": secrets}


def _choose_runtime(orders: Sequence[FunctionOrder]) -> ServerRuntime:
    runtime = require_one_runtime(orders, SHARED)
    found = find_server_runtime(runtime)
    if found is None:
        raise FabricError(missing_image_problem(orders[0].name, runtime))
    return found


def missing_image_problem(function: str, runtime: str) -> Problem:
    message = f"function `{function}` has the runtime `{runtime}`, which has no public image"
    hint = "use nodejs18.x to nodejs24.x, python3.11 to python3.14, or provided.al2023"
    return Problem("config/unfit", message, hint, about=ConfigSpot(function))


def choose_memory(own: Host3Settings, asked: Sequence[int]) -> int:
    """Choose the memory of a machine in MB: that of the largest function."""
    least = MEMORY.get(own.cpu_kind, (STEP, 0))[0] * own.cpus
    return max(least, -(-max(asked, default=0) // STEP) * STEP)


def _longest(orders: Sequence[FunctionOrder]) -> int:
    return max(read_timeout(one) or _SECONDS for one in orders)


def _read_archive(
    number: int, order: FunctionOrder, runtime: ServerRuntime
) -> tuple[MachineFile, ...]:
    """Read the archive of a function, in parts that the config of a machine accepts."""
    content = order.artifact.path.read_bytes()
    with attach_error_spot(order.name), zipfile.ZipFile(order.artifact.path) as archive:
        require_module(order, runtime.language, archive.namelist())
    return tuple(
        MachineFile(f"{_CODE}/{number}/archive.{part:03d}", content[at : at + _PART])
        for part, at in enumerate(range(0, len(content), _PART))
    )


def _build_function_settings(order: FunctionOrder, runtime: ServerRuntime) -> JsonObject:
    settings = build_handler_settings(order, "host3-machines", runtime.language)
    return {**settings, "routes": parse_http_routes(order.triggers)}


def _build_service(own: Host3Settings) -> JsonObject:
    return {
        "protocol": "tcp",
        "internal_port": SERVER_PORT,
        "autostop": own.autostop,
        "autostart": True,
        "min_machines_running": own.min_machines,
        "concurrency": {"type": "requests", "soft_limit": _SOFT, "hard_limit": _HARD},
        "ports": [
            {"port": 443, "handlers": ["tls", "http"]},
            {"port": 80, "handlers": ["http"], "force_https": True},
        ],
        "checks": [
            {
                "type": "http",
                "method": "GET",
                "path": READY_PATH,
                "interval": "5s",
                "timeout": "4s",
                "grace_period": "5s",
            }
        ],
    }
