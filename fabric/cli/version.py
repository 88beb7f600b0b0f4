"""`fabric --version`: answered before other imports."""

import sys

from fabric.manifest import VERSION

_FORMS = (["--version"], ["--version", "--json"], ["--json", "--version"])


def is_version_request(argv: list[str]) -> bool:
    return argv in _FORMS


def format_version(*, as_json: bool) -> str:
    if not as_json:
        return f"fabric {VERSION}"
    import json

    python = ".".join(str(part) for part in sys.version_info[:3])
    result = {"version": VERSION, "python": python}
    document = {"ok": True, "command": "version", "formatVersion": 1, "result": result}
    return json.dumps(document)
