"""Configs of other tools, which `fabric import` converts."""

from collections.abc import Mapping

# Names of files by tool.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "serverless": ("serverless.yml", "serverless.yaml", "serverless.json"),
    "sam": ("template.yaml", "template.yml", "template.json"),
    "wrangler": ("wrangler.toml", "wrangler.json", "wrangler.jsonc"),
    "vercel": ("vercel.json",),
    "netlify": ("netlify.toml",),
}
_TITLES = {
    "serverless": "the Serverless Framework",
    "sam": "AWS SAM",
    "wrangler": "Wrangler",
    "vercel": "Vercel",
    "netlify": "Netlify",
}


def find_kind(name: str) -> str:
    """Find the tool that has files of this name."""
    return next((kind for kind, names in SOURCES.items() if name in names), "")


def find_tool(name: str) -> str:
    """Find the title of the tool that has files of this name."""
    return _TITLES.get(find_kind(name), "")


# In the values that an import writes for parameters without one.
STAND_IN = "set-me"
