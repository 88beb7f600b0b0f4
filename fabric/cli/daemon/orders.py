"""Convert options, files and variables to an order. Problems are reported before anything
starts."""

import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.settings import Settings
from fabric.cli.daemon.flags import CacheFlags, ConfigApiFlags, DaemonFlags, DoorFlags, ProjectFlags
from fabric.daemon.options import AnswerCache, BodyTrust, ServedProject, ServerKind
from fabric.daemon.process.order import CACHE_VARIABLE, KEY_VARIABLE, ServeDoor, ServeOrder
from fabric.daemon.server.clients import parse_network
from fabric.daemon.server.hosts import normalize_host
from fabric.daemon.server.keys import KeyDigest, hash_server_key, parse_server_keys
from fabric.model.distribution import MODULES, Extra
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.time.time_spans import parse_seconds
from fabric.system.files.disk import read_bytes
from fabric.system.optional_packages import find_missing_modules, install_command

PREFIX_VARIABLE = "FABRIC_DAEMON_CACHE_PREFIX"
_SCHEMES = ("redis", "rediss")
_NEEDED = MODULES[Extra.DAEMON]
_CONFIG = "fabric.yml"


class PlacedOrder(Struct, frozen=True):
    """The server order, with notices for the user."""

    order: ServeOrder
    warnings: tuple[str, ...] = ()


def refuse_uninstalled(needed: Sequence[str] = _NEEDED) -> None:
    missing = find_missing_modules(needed)
    if missing:
        message = f"required packages are not installed: {', '.join(missing)}"
        hint = install_command(Extra.DAEMON)
        raise FabricError(Problem("daemon/not-installed", message, hint))


def build_daemon_order(flags: DaemonFlags, settings: Settings) -> PlacedOrder:
    project = _build_project(flags.project, settings.stage(flags.stage), settings.cwd)
    cache = _cache(flags.cache, settings)
    return _place_order(
        ServeOrder(
            ServerKind.DAEMON,
            project.workspace,
            project=project,
            cache=cache,
            door=ServeDoor(address=flags.door.address, port=flags.port),
        ),
        flags.door,
        settings,
    )


def build_config_api_order(flags: ConfigApiFlags, settings: Settings) -> PlacedOrder:
    folder = str(settings.cwd)
    project = ServedProject(folder, "", settings.stage(flags.stage))
    order = ServeOrder(
        ServerKind.CONFIG_API,
        folder,
        project=project,
        door=ServeDoor(address=flags.door.address, port=flags.port),
    )
    return _place_order(order, flags.door, settings)


def resolve_workspace(project: ProjectFlags, cwd: Path) -> Path:
    """Resolve the workspace path, because its `.fabric` identifies the daemon."""
    folder = (cwd / project.workspace).resolve()
    if not folder.is_dir():
        hint = "set --workspace to a project directory"
        problem = Problem(
            "usage/no-folder", f"workspace directory not found: `{project.workspace}`", hint
        )
        raise FabricError(problem)
    return folder


def _place_order(order: ServeOrder, door: DoorFlags, settings: Settings) -> PlacedOrder:
    for proxy in door.proxies:
        parse_network(proxy)
    digests, warnings = _read_keys(door, settings)
    placed = replace(
        order,
        door=replace(
            order.door,
            per_minute=door.rate_limit,
            proxies=door.proxies,
            hosts=tuple(map(_check_host, door.hosts)),
        ),
        trust=BodyTrust(door.trust_bodies, door.prefixes, _list_key_files(door, settings)),
        digests=digests,
    )
    return PlacedOrder(placed, (*warnings, *(_NO_KEY if placed.is_insecure else ())))


def _list_key_files(door: DoorFlags, settings: Settings) -> tuple[str, ...]:
    """List the key files. A key file in the workspace could be packaged by a received config."""
    return (str((settings.cwd / door.api_key_file).resolve()),) if door.api_key_file else ()


_NO_KEY = (
    "warning: no API key is set, and other machines can reach this server",
    "  their users can read the project, deploy and delete with its credentials",
    "  set --api-key-file FILE, or listen on this machine only: --address 127.0.0.1",
)


def _check_host(name: str) -> str:
    if not normalize_host(name) or "/" in name:
        hint = "use a hostname without scheme and path, such as fabric.example.com"
        raise FabricError(
            Problem(
                "usage/bad-host",
                f"invalid value for --allowed-host: `{name}` is not a hostname",
                hint,
            )
        )
    return name


def _read_keys(
    door: DoorFlags, settings: Settings
) -> tuple[tuple[KeyDigest, ...], tuple[str, ...]]:
    """Read the keys. The option overrides the variable; keys of the file are added."""
    found: list[KeyDigest] = []
    if door.api_key:
        found.append(hash_server_key(door.api_key, "--api-key"))
    elif KEY_VARIABLE in settings.env:
        found.append(hash_server_key(settings.env[KEY_VARIABLE], KEY_VARIABLE))
    if not door.api_key_file:
        return tuple(found), ()
    path = settings.cwd / door.api_key_file
    try:
        text = read_bytes(path).decode()
        is_open = bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except (OSError, UnicodeError) as error:
        why = (
            error.strerror if isinstance(error, OSError) and error.strerror else ("not a text file")
        )
        message = f"cannot read `{door.api_key_file}`: {why.lower()}"
        where = Place(door.api_key_file)
        raise FabricError(Problem("input/unreadable", message, where=where)) from error
    warning = f"warning: other users can read `{door.api_key_file}`: run chmod 600 on it"
    return (*found, *parse_server_keys(text, door.api_key_file)), (warning,) if is_open else ()


def _build_project(flags: ProjectFlags, stage: str, cwd: Path) -> ServedProject:
    folder = resolve_workspace(flags, cwd)
    config = folder / flags.config
    if config.is_dir():
        config /= _CONFIG
    if flags.dashboard and not config.is_file():
        hint = "set --config and --workspace: --dashboard shows that project"
        message = f"config not found: `{flags.config}`"
        raise FabricError(Problem("config/not-found", message, hint, Place(str(config))))
    return ServedProject(str(folder), flags.config, stage, flags.dashboard)


def _cache(flags: CacheFlags, settings: Settings) -> AnswerCache:
    seconds = parse_seconds("--cache-ttl", flags.ttl)
    named = "--cache-url" if flags.url else CACHE_VARIABLE
    url = flags.url or settings.env.get(CACHE_VARIABLE, "")
    if url and not _is_cache(url):
        hint = "use redis://host:port/0, or rediss:// for TLS"
        raise FabricError(
            Problem("usage/bad-cache-url", f"invalid value for {named}: not a Redis URL", hint)
        )
    prefix = settings.env.get(PREFIX_VARIABLE, "")
    return AnswerCache(url, seconds, prefix) if prefix else AnswerCache(url, seconds)


def _is_cache(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
