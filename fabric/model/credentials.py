"""Find missing provider credentials by variable names only."""

from collections.abc import Collection

from fabric.model.catalog import ProviderFacts

# The variables and files of the cloud's own tools do as well.
AWS_FILES = "~/.aws/credentials"
AWS_REGION_FILE = "~/.aws/config"
# A virtual machine or container of the cloud: a role may be attached to it.
MACHINE_ROLE = "role of the machine"
_AWS_CHAIN = (
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SHARED_CREDENTIALS_FILE",
    AWS_FILES,
    MACHINE_ROLE,
)
_STAND_INS = {
    "CLOUD1_ACCESS_KEY_ID": ("AWS_ACCESS_KEY_ID", *_AWS_CHAIN),
    "CLOUD1_SECRET_ACCESS_KEY": ("AWS_SECRET_ACCESS_KEY", *_AWS_CHAIN),
    "CLOUD1_REGION": ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", AWS_REGION_FILE),
}


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


def list_credential_variables(facts: ProviderFacts) -> tuple[str, ...]:
    """List all variables that determine whether credentials are missing."""
    groups = (name for group in facts.credentials.required for name in _select_usable(group))
    return tuple(dict.fromkeys((*groups, *facts.credentials.optional)))
