"""What of the provider-specific settings decides a deploy."""

import json

from fabric.config.values import Config
from fabric.config.yaml.read import canonical


def deployed_extensions(config: Config) -> str:
    """A router leads to what is deployed, and decides nothing of it."""
    if '"router"' not in config.extensions:
        return config.extensions
    sections = json.loads(config.extensions)
    sections.pop("router", None)
    return canonical(sections)
