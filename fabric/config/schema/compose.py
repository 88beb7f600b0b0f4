"""Which keys `fabric.compose.yml` has."""

from fabric.config.schema.shapes import ASIDE, Field, Fields, Many, Named, Text, whole
from fabric.config.schema.triggers import FILLED

_NAME = Text(
    whole("[A-Za-z0-9][A-Za-z0-9_-]{0,62}"),
    "1 to 63 letters, digits, `_` or `-`, a letter or digit first",
)
_SERVICE = Fields(
    (
        Field("name", _NAME, "What other services and `--service` call it.", "api", required=True),
        Field(
            "config",
            FILLED,
            "Its config file, or the folder that holds `fabric.yml`; seen from this file.",
            "./api/fabric.yml",
            required=True,
        ),
        Field("dependsOn", Many(FILLED), "Services that are deployed before it.", ["api"]),
    )
)
COMPOSE = Fields(
    (
        Field(
            "services",
            Named(_SERVICE, key=_NAME),
            "The services: a list, or a map by name.",
            [{"name": "api", "config": "./api/fabric.yml"}],
        ),
        Field(
            "include",
            Many(FILLED),
            "Globs of config files; each match is a service with the name it gives itself.",
            ["services/*/fabric.yml"],
        ),
    ),
    aside=ASIDE,
)
