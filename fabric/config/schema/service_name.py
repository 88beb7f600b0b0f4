"""Valid service names."""

from fabric.config.schema.shapes import Text, match_whole

SERVICE_NAME = Text(
    match_whole("[A-Za-z0-9][A-Za-z0-9_-]{0,62}"),
    "1 to 63 characters: letters, digits, `_` or `-`, starting with a letter or digit",
)
