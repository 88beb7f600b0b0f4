"""Where keys lie in a store that other things share: below a folder of its own."""


def folder(prefix: str) -> str:
    """What every name begins with: empty, or a path that ends in a slash."""
    inside = prefix.strip("/")
    return f"{inside}/" if inside else ""
