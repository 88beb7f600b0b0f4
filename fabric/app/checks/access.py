"""Requirements of a real deploy before its first call: credentials and packages."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from fabric.app.project.files import build_client_environment
from fabric.app.project.placement import Placement
from fabric.app.records.scope import DeployScope
from fabric.model.catalog import ProviderFacts, find_provider_facts
from fabric.model.problems import Problem
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.core.http_calls import require_cloud_extra
from fabric.providers.registry import has_deployer
from fabric.system.files.disk import read_bytes
from fabric.system.optional_packages import find_missing_modules, missing_packages_problem

# The variables and files of the cloud's own tools do as well.
AWS_FILES = "~/.aws/credentials"
_AWS_REGION_FILE = "~/.aws/config"
# A virtual machine or container of the cloud: a role may be attached to it.
_MACHINE_ROLE = "role of the machine"
_AWS_CHAIN = (
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SHARED_CREDENTIALS_FILE",
    AWS_FILES,
    _MACHINE_ROLE,
)
_STAND_INS = {
    "CLOUD1_ACCESS_KEY_ID": ("AWS_ACCESS_KEY_ID", *_AWS_CHAIN),
    "CLOUD1_SECRET_ACCESS_KEY": ("AWS_SECRET_ACCESS_KEY", *_AWS_CHAIN),
    "CLOUD1_REGION": ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", _AWS_REGION_FILE),
}
# What the firmware of a virtual machine of AWS contains: a role may be attached to it.
_BOARD = Path("/sys/devices/virtual/dmi/id/board_asset_tag")
_MACHINE = "i-"
_OWN_CONFIG_KEYS = ("aws_access_key_id", "credential_process", "role_arn", "sso_")


def find_missing_groups(
    facts: ProviderFacts, given: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Find the groups without a set variable. One variable per group is sufficient."""
    return tuple(
        group
        for group in facts.credentials.required
        if not any(name in given for name in _select_usable(group))
    )


def _select_usable(group: tuple[str, ...]) -> tuple[str, ...]:
    return (*group, *(other for name in group for other in _STAND_INS.get(name, ())))


def _list_credential_variables(facts: ProviderFacts) -> tuple[str, ...]:
    """List all variables that determine whether credentials are missing."""
    groups = (name for group in facts.credentials.required for name in _select_usable(group))
    return tuple(dict.fromkeys((*groups, *facts.credentials.optional)))


def find_access_problems(scope: DeployScope, refs: Iterable[RecordRef]) -> Iterator[Problem]:
    """Find missing credentials and packages for records that fabric deploys itself."""
    for ref in sorted(refs):
        placement = scope.placements.get(ref)
        if placement is not None and _is_built_in(placement):
            env = build_client_environment(placement.env_place, scope.settings.env)
            found = (*find_missing_packages(placement), *find_missing_credentials(placement, env))
            yield from (one.of(ref.service) for one in found)


def _is_built_in(placement: Placement) -> bool:
    return placement.mode == Mode.REAL and has_deployer(placement.provider_id)


def find_missing_credentials(placement: Placement, env: Mapping[str, str]) -> Iterator[Problem]:
    """Find missing credentials by variable name. Only the provider can verify their values."""
    facts = find_provider_facts(placement.provider_id)
    missing = find_missing_groups(facts, _list_set_variables(placement, env)) if facts else ()
    if facts is None or not missing:
        return
    names = ", ".join(" or ".join(group) for group in missing)
    are = "is" if len(missing) == 1 else "are"
    message = f"missing credentials for {facts.title} (`{facts.id}`): {names} {are} not set"
    hint = f"set {names} in the environment or in `.env` beside the config"
    yield Problem("credentials/missing", message, hint)


def find_missing_packages(placement: Placement) -> Iterator[Problem]:
    facts = find_provider_facts(placement.provider_id)
    missing = find_missing_modules(facts.access.packages) if facts else ()
    if missing:
        yield missing_packages_problem(require_cloud_extra(placement.provider_id), *missing)


def list_credential_names(placements: Iterable[Placement]) -> frozenset[str]:
    """List the variables that determine whether credentials are missing."""
    real = (find_provider_facts(one.provider_id) for one in placements if one.mode == Mode.REAL)
    return frozenset(name for facts in real if facts for name in _list_credential_variables(facts))


def _list_set_variables(placement: Placement, env: Mapping[str, str]) -> set[str]:
    facts = find_provider_facts(placement.provider_id)
    given = {name for name, value in env.items() if value}
    if facts is not None and placement.region:
        given.add(f"{facts.prefix}_REGION")
    return given.union(_find_aws_tool_credentials(env))


def _find_aws_tool_credentials(env: Mapping[str, str]) -> Iterator[str]:
    """Find credentials in AWS config files and on AWS machines. Makes no API call."""
    home = env.get("HOME", "")
    text = _read_text_or_empty(Path(home) / ".aws" / "config") if home else ""
    has_keys = home and (Path(home) / ".aws" / "credentials").is_file()
    if has_keys or any(key in text for key in _OWN_CONFIG_KEYS):
        yield AWS_FILES
    if "region" in text:
        yield _AWS_REGION_FILE
    if _read_text_or_empty(_BOARD).startswith(_MACHINE):
        yield _MACHINE_ROLE


def _read_text_or_empty(path: Path) -> str:
    try:
        return read_bytes(path).decode(errors="replace")
    except OSError:
        return ""
