"""A function's archive, from a few texts."""

from fabric.testing.provider_site import pack_files


def archive(**files: str) -> bytes:
    """`index_mjs="…"` is a file `index.mjs`."""
    return pack_files({".".join(name.rsplit("_", 1)): text for name, text in files.items()})
