"""The provider-specific settings that affect a deploy."""

import json

from fabric.config.values import Config
from fabric.config.yaml.read import encode_canonical


def encode_deploy_extensions(config: Config) -> str:
    """Encode the extensions without the router, which does not affect a deploy."""
    if '"router"' not in config.extensions:
        return config.extensions
    sections = json.loads(config.extensions)
    sections.pop("router", None)
    return encode_canonical(sections)
