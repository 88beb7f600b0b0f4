"""Find settings that a deployer does not support, with their place, before any change."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric.app.records.placed_deployers import find_health_misfits
from fabric.app.records.scope import DeployScope
from fabric.config.rules.path_places import FunctionPath, with_places
from fabric.config.schema.extensions import list_extension_keys
from fabric.config.values import Config
from fabric.model.catalog import find_installed_facts
from fabric.model.problems import FabricError, Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.model.spelling import suggest_spelling
from fabric.providers.core.contract import Unsupported
from fabric.system.disk import read_bytes

_NOBODY = "deploy/no-deployer"


def find_unsupported_functions(scope: DeployScope) -> Iterator[Problem]:
    """Find unsupported settings. A simulated deploy skips this, and a command checks itself."""
    for ref, placement in sorted(scope.placements.items()):
        if placement.mode == Mode.REAL:
            yield from _find_record_problems(scope, ref)


def _find_record_problems(scope: DeployScope, ref: RecordRef) -> Sequence[Problem]:
    deployers = scope.tools.deployers
    config = scope.work.config(ref)
    if config is None:
        return ()
    try:
        deployer = deployers.deployer(ref, Mode.REAL)
        found = [
            *deployer.unfit(deployers.address(ref), scope.values.drafts(ref)),
            *find_health_misfits(config, deployer),
            *_find_unknown_keys(config),
        ]
    except FabricError as error:
        # What is missing around a run may be there when it is deployed; a deployer never is.
        found = [
            Unsupported("", one, keys=("provider",))
            for one in error.problems
            if one.code == _NOBODY
        ]
    if not found:
        return ()
    with contextlib.suppress(OSError, FabricError):  # it was there a moment ago
        text = read_bytes(Path(scope.placements[ref].folder, Path(config.document.file).name))
        return with_places(
            config, text, [(_build_function_path(one), one.problem) for one in found]
        )
    return [one.problem for one in found]


def _find_unknown_keys(config: Config) -> Iterator[Unsupported]:
    """Find unknown extension keys without effect. A custom command receives all keys."""
    provider_id = config.provider.id
    if find_installed_facts(provider_id):
        return  # only its package knows its keys
    given = json.loads(config.provider.extensions).get(provider_id)
    known = list_extension_keys(provider_id)
    for key in sorted(given.keys() - known) if isinstance(given, dict) else ():
        message = f"`extensions.{provider_id}.{key}` has no effect on built-in deploys"
        hint = (
            suggest_spelling(key, known) or "remove the key: only custom deploy commands receive it"
        )
        keys = ("extensions", provider_id, key)
        yield Unsupported("", Problem("config/unfit", message, hint), keys=keys)


def _build_function_path(one: Unsupported) -> FunctionPath:
    keys = one.keys if one.trigger is None else ("triggers",)
    return FunctionPath(one.function, "", keys, one.trigger or 0)
