"""Keys below a prefix of their own, in a store with other contents."""


def format_folder_prefix(prefix: str) -> str:
    """Format the key prefix: empty, or a path with a final slash."""
    inside = prefix.strip("/")
    return f"{inside}/" if inside else ""
