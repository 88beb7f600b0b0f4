"""The settings of `sam deploy` in samconfig.toml."""

import re

from msgspec import Struct, field

from fabric.importing.web.toml_source import parse_toml

CONFIG_FILE = "samconfig.toml"
_VALUE = r"""(?:"([^"]*)"|'([^']*)'|(\S*))"""
_OVERRIDE = re.compile(
    rf"""(?:ParameterKey=["']?([A-Za-z0-9]+)["']?,ParameterValue=|([A-Za-z0-9]+)=){_VALUE}"""
)
# Settings of a deploy that name the stack or only change how `sam deploy` runs.
_OF_TOOL = frozenset(
    "parameter_overrides stack_name region capabilities confirm_changeset fail_on_empty_changeset"
    " resolve_s3 resolve_image_repos s3_bucket s3_prefix image_repository image_repositories"
    " template template_file profile force_upload no_progressbar disable_rollback on_failure"
    " use_json max_wait_duration debug beta_features save_params no_execute_changeset".split()
)


class DeploySettings(Struct, frozen=True, kw_only=True):
    """The settings of the default environment, and the parameters of each environment."""

    stack_name: str = ""
    region: str = ""
    overrides: dict[str, dict[str, str]] = field(default_factory=dict)
    # Regions of other environments.
    regions: dict[str, str] = field(default_factory=dict)
    # Settings without an equivalent, such as `prod.tags`.
    unknown: tuple[str, ...] = ()


def read_deploy_settings(text: str | None) -> DeploySettings:
    """Read the settings."""
    found = parse_toml(CONFIG_FILE, text or "")
    values = {
        stage: {**_read_table(commands, "global"), **_read_table(commands, "deploy")}
        for stage, commands in found.items()
        if isinstance(commands, dict)
    }
    default = values.get("default", {})
    return DeploySettings(
        stack_name=str(default.get("stack_name", "")),
        region=str(default.get("region", "")),
        overrides={
            stage: _read_overrides(one.get("parameter_overrides", ""))
            for stage, one in values.items()
        },
        regions={
            stage: str(one["region"])
            for stage, one in values.items()
            if stage != "default" and one.get("region")
        },
        unknown=tuple(
            f"{stage}.{key}" for stage, one in values.items() for key in one if key not in _OF_TOOL
        ),
    )


def _read_table(commands: dict[str, object], name: str) -> dict[str, object]:
    command = commands.get(name)
    found = command.get("parameters") if isinstance(command, dict) else None
    return found if isinstance(found, dict) else {}


def _read_overrides(value: object) -> dict[str, str]:
    """Read `A=b C="d e"`, as text or as a list."""
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {
        name or other: one or two or three
        for name, other, one, two, three in _OVERRIDE.findall(text)
    }
