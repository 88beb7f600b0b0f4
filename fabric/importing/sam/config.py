"""The settings of `sam deploy` in samconfig.toml."""

import re

from msgspec import Struct, field

from fabric.importing.web.toml_source import parse_toml

CONFIG_FILE = "samconfig.toml"
_OVERRIDE = re.compile(r"""([A-Za-z0-9]+)=(?:"([^"]*)"|'([^']*)'|(\S*))""")


class DeploySettings(Struct, frozen=True, kw_only=True):
    """The settings of the default environment, and the parameters of each environment."""

    stack_name: str = ""
    region: str = ""
    overrides: dict[str, dict[str, str]] = field(default_factory=dict)


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
    )


def _read_table(commands: dict[str, object], name: str) -> dict[str, object]:
    command = commands.get(name)
    found = command.get("parameters") if isinstance(command, dict) else None
    return found if isinstance(found, dict) else {}


def _read_overrides(value: object) -> dict[str, str]:
    """Read `A=b C="d e"`, as text or as a list."""
    text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return {name: one or two or three for name, one, two, three in _OVERRIDE.findall(text)}
