"""Which keys `fabric.compose.yml` has."""

from fabric.config.schema.shapes import ASIDE, Field, Fields, Many, Named, Text, match_whole
from fabric.config.schema.triggers import FILLED

_NAME = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9_-]{0,62}"),
    "1 to 63 characters: letters, digits, `_` or `-`, starting with a letter or digit",
)
SERVICE = Fields(
    (
        Field(
            "name",
            _NAME,
            "Name of the service for `dependsOn` and `--service`.",
            "api",
            required=True,
        ),
        Field(
            "config",
            FILLED,
            "Config file, or directory that contains `fabric.yml`, relative to this file.",
            "./api/fabric.yml",
            required=True,
        ),
        Field(
            "dependsOn",
            Many(FILLED),
            "Names of services that are deployed before this one.",
            ["api"],
        ),
    )
)
COMPOSE = Fields(
    (
        Field(
            "services",
            Named(SERVICE, key=_NAME),
            "Services: a list, or a map by name.",
            [{"name": "api", "config": "./api/fabric.yml"}],
        ),
        Field(
            "include",
            Many(FILLED),
            "Globs of config files. Each match is a service named by its own config.",
            ["services/*/fabric.yml"],
        ),
    ),
    aside=ASIDE,
)
