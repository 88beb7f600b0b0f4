"""Read configs: a single one, or all of a compose file, upstreams first."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fabric.app.project.bound_files import BoundFiles, refuse_file_binding
from fabric.app.project.endpoints import (
    Sources,
    foreign_endpoint_problem,
    list_foreign_endpoints,
    list_plain_endpoints,
    plain_endpoint_problem,
    switch_problem,
)
from fabric.app.project.files import (
    EnvPlace,
    NotFoundError,
    build_binding_environment,
    build_client_environment,
    find_config_in,
    format_shown_path,
    list_env_sources,
    read_file,
    resolve_config_path,
)
from fabric.app.project.last_known import (
    LastKnown,
    ReadReference,
    ReferenceOwner,
    identify_caller,
)
from fabric.app.project.modes import choose_mode
from fabric.app.project.services import ComposedService
from fabric.app.project.upstreams import (
    build_upstream_placeholders,
    list_all_upstreams,
    map_needs,
    sort_upstreams_first,
)
from fabric.app.request import CONFIG_NAME
from fabric.app.settings import Settings
from fabric.config.compose import complete_compose
from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.config.resolve.binding_scope import ReadLookup
from fabric.config.values import Compose, ComposeService, Config
from fabric.model.backends import is_of_other_back_end
from fabric.model.bindable import EVERYTHING, SecretUse
from fabric.model.catalog import PROVIDERS
from fabric.model.lookups import NamedLookup, has_references
from fabric.model.problems import FabricError, Place, Problem, merge_missing_credentials
from fabric.model.secrets.secrecy import REDACTED
from fabric.model.secrets.secret import Secret
from fabric.model.switches import is_on

if TYPE_CHECKING:
    from fabric.system.aws_lookups import AwsLookups

GIVEN_NAME = "request body"
_SHOWN_REFERENCES = 5


class SuppliedConfig(Struct, frozen=True):
    """A config text that replaces the content of `file`."""

    file: Path
    text: bytes


class ConfigRequest(Struct, frozen=True):
    """How to resolve a config. `upstream_outputs` override `.env` and environment; `params`
    override config params.

    With `only_place` only values that locate records are resolved. Without `reads_secrets` no
    secret manager is called. A `given` config is not read from disk.
    """

    stage: str
    provider: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    only_place: bool = False
    keeps_router: bool = False
    reads_secrets: bool = True
    # Whether references that cannot be read have their last known values.
    takes_last_known: bool = False
    upstream_outputs: Mapping[str, str] = field(default_factory=dict)
    upstream_names: frozenset[str] = frozenset()
    given: SuppliedConfig | None = None

    def gives(self, file: Path) -> bool:
        return self.given is not None and self.given.file == file


def load_all(
    services: Sequence[ComposeService], compose: Path, asked: ConfigRequest, settings: Settings
) -> list[ComposedService]:
    """Load every config of a compose file, upstreams first. Reports the problems of all of them
    together."""
    found: dict[int, ComposedService] = {}
    by_name: dict[str, ComposedService] = {}
    problems: list[Problem] = []
    needs = map_needs(services)
    for one in sort_upstreams_first(services):
        upstream_services = [
            by_name[name].upstream_service
            for name in list_all_upstreams(one.name, needs)
            if name in by_name
        ]
        try:
            file = _find_entry_config(one, compose, asked, settings)
            config = load_one(
                EnvPlace(file.parent, compose.parent),
                file.name,
                replace(
                    asked,
                    upstream_outputs=build_upstream_placeholders(upstream_services),
                    upstream_names=frozenset(one.name for one in upstream_services),
                ),
                settings,
            )
        except FabricError as error:
            problems.extend(error.problems)
            continue
        found[id(one)] = ComposedService(
            replace(one, name=one.name or config.service), file, config
        )
        by_name[found[id(one)].entry.name] = found[id(one)]
    if problems:
        entries = [found[id(one)].entry if id(one) in found else one for one in services]
        told = dict.fromkeys(
            (*_name_problems(format_shown_path(compose, settings.cwd), entries), *problems)
        )
        raise FabricError(*merge_missing_credentials(told))
    return [found[id(one)] for one in services]


def _name_problems(file: str, entries: Sequence[ComposeService]) -> tuple[Problem, ...]:
    """Find wrong names in `dependsOn`, which explain unset upstream variables."""
    if not all(one.name for one in entries):
        return ()  # not read, so nobody knows what it is called
    try:
        complete_compose(Compose(file, tuple(entries)))
    except FabricError as error:
        return error.problems
    return ()


def _find_entry_config(
    entry: ComposeService, compose: Path, asked: ConfigRequest, settings: Settings
) -> Path:
    listed = find_config_in((compose.parent / entry.config).resolve())
    if asked.gives(listed):
        return listed
    try:
        return resolve_config_path(compose.parent / entry.config)
    except NotFoundError as error:
        missing = format_shown_path(find_config_in(compose.parent / entry.config), settings.cwd)
        message = f"config of service `{entry.name}` not found: {missing}"
        hint = "set `config` to a file, or to a directory that contains fabric.yml"
        where = Place(format_shown_path(compose, settings.cwd))
        raise FabricError(Problem("compose/missing-config", message, hint, where)) from error


def load_one(place: EnvPlace, name: str, asked: ConfigRequest, settings: Settings) -> Config:
    path = place.folder / name
    # A caller wrote one config; those of upstreams are the project's own.
    is_given = asked.given is None or asked.gives(path)
    bindable = settings.bindable if is_given else EVERYTHING
    env = build_binding_environment(place, settings.env)
    variables = bindable.of(env)
    file, text = _read_config_text(path, asked, settings)
    files = BoundFiles(place.folder)
    reads = asked.reads_secrets and bindable.secrets is SecretUse.READ
    managers = ManagedSecrets(env, settings.env, reads=reads)
    lookups = _open_lookups(place, text, settings.env) if reads else None
    stored = _open_last_known(place, name, asked, settings) if lookups else None
    config = load_config(
        ConfigText(
            file=file,
            text=text,
            env={**variables.env, **asked.upstream_outputs},
            stage=asked.stage,
            provider=asked.provider,
            only_place=asked.only_place,
            keeps_router=asked.keeps_router,
            strangers=bindable.is_restrained,
            own_backend=bindable.backend,
            bindings=BindingInputs(
                params=asked.params,
                read_text=refuse_file_binding if bindable.is_restrained else files.text,
                read_secret=managers.read,
                withheld=variables.withheld,
                secret_use=bindable.secrets,
                read_lookup=_choose_reader(lookups, stored, asked),
                services=asked.upstream_names,
            ),
        )
    )
    warnings = dict.fromkeys(_warn_of_endpoints(config, list_env_sources(place, settings.env)))
    bindings = replace(
        config.document.bindings,
        files=frozenset(map(str, files.looked_at)),
        asked_managers=managers.were_asked or bool(lookups and lookups.were_asked),
    )
    if lookups is not None and stored is not None:
        warnings |= dict.fromkeys(stored.list_warnings(file))
        stored.save(ReadReference(*one) for one in lookups.list_read())
    if reads and lookups is None:
        warnings |= dict.fromkeys(_warn_of_unread_references(file, bindings.references))
    return replace(config, document=replace(config.document, bindings=bindings)).with_warnings(
        warnings
    )


def _open_last_known(
    place: EnvPlace, name: str, asked: ConfigRequest, settings: Settings
) -> LastKnown:
    file = os.path.relpath(place.folder / name, place.workspace)
    caller = identify_caller(build_client_environment(place, settings.env))
    owner = ReferenceOwner(file, asked.stage, asked.provider, caller)
    return LastKnown(place.workspace, owner, settings)


def _choose_reader(
    lookups: "AwsLookups | None", stored: LastKnown | None, asked: ConfigRequest
) -> ReadLookup | None:
    if lookups is None or stored is None:
        return None
    is_stored_used = asked.takes_last_known and asked.given is None
    return partial(stored.read, lookups) if is_stored_used else lookups.read


def _open_lookups(place: EnvPlace, text: bytes, process: Mapping[str, str]) -> "AwsLookups | None":
    """Open the values that references read; None in simulated runs, which call nothing."""
    if not has_references(text) or not _reads_references(process):
        return None
    from fabric.system.aws_lookups import AwsLookups  # boto3, for few configs

    return AwsLookups(build_client_environment(place, process), place.folder)


def _reads_references(process: Mapping[str, str]) -> bool:
    """Return whether something can be deployed for real."""
    modes = (choose_mode(facts.id, process) for facts in PROVIDERS)
    return is_on("FABRIC_LOOKUPS", process) or any(mode != "simulated" for mode in modes)


def _warn_of_unread_references(file: str, names: Sequence[NamedLookup]) -> Iterator[Problem]:
    if names:
        shown = ", ".join(f"`{one.text}`" for one in names[:_SHOWN_REFERENCES])
        more = len(names) - _SHOWN_REFERENCES
        listed = f"{shown} and {more} more" if more > 0 else shown
        message = f"references are not read in simulated runs: {listed}"
        hint = "set FABRIC_LOOKUPS=1 to read them"
        yield Problem("config/unread-reference", message, hint, Place(file))


def _read_config_text(path: Path, asked: ConfigRequest, settings: Settings) -> tuple[str, bytes]:
    """Return the display name and text of the config."""
    if asked.given is not None and asked.gives(path):
        return GIVEN_NAME, asked.given.text
    return format_shown_path(path, settings.cwd), read_file(path, CONFIG_NAME)


def _warn_of_endpoints(config: Config, found: Iterable[Sources]) -> Iterator[Problem]:
    """Warn of ignored settings and of unencrypted endpoints."""
    for sources in found:
        for name in sources.switches:
            yield switch_problem(sources, name)
        for name in list_foreign_endpoints(sources):
            yield foreign_endpoint_problem(sources, name)
        for name in list_plain_endpoints(sources):
            if not is_of_other_back_end(config.backend.kind, name):
                yield plain_endpoint_problem(name)


class ManagedSecrets:
    """The secrets for one load of one config: each reference is fetched once and not stored.

    If secrets are not to be read, only the presence of a plugin is checked.
    """

    def __init__(
        self, bound: Mapping[str, str], process: Mapping[str, str], *, reads: bool
    ) -> None:
        """`bound` are the variables of bindings: the process environment over the `.env` files."""
        self._filed = Secret({one: bound[one] for one in bound if one not in process})
        self._process = Secret(process)
        self._reads = reads
        self._known: dict[tuple[str, str], Secret[str] | FabricError] = {}

    @property
    def were_asked(self) -> bool:
        return bool(self._known)

    def read(self, scheme: str, reference: str) -> str:
        key = (scheme, reference)
        if key not in self._known:
            self._known[key] = self._fetch_secret(scheme, reference)
        found = self._known[key]
        if isinstance(found, FabricError):
            raise found
        return found.reveal()

    def _fetch_secret(self, scheme: str, reference: str) -> Secret[str] | FabricError:
        from fabric.system import plugins  # few configs name one

        try:
            if not self._reads:
                plugins.find_plugin(scheme)
                return Secret(REDACTED)
            variables = plugins.PluginVariables(self._process.reveal(), self._filed.reveal())
            return Secret(plugins.read_secret(scheme, reference, variables))
        except FabricError as error:
            return _convert_plugin_error(error)


def _convert_plugin_error(error: FabricError) -> FabricError:
    """Convert a plugin error. A missing plugin is a config error; a failing plugin is not."""
    first = error.first
    if first.code not in ("plugin/unknown", "plugin/other-kind"):
        return error
    return FabricError(Problem("config/secret-plugin", first.message, first.hint))
