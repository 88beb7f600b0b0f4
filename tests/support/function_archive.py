"""A function's archive, from a few texts."""

import io
import zipfile


def archive(**files: str) -> bytes:
    """`index_mjs="…"` is a file `index.mjs`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as writer:
        for name, text in files.items():
            path = ".".join(name.rsplit("_", 1))
            writer.writestr(zipfile.ZipInfo(path), text)
    return made.getvalue()
