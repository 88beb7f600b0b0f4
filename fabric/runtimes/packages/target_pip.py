"""Run pip in a child as if on the target: only built-ins and pip, so that any Python can start it.

pip's flags choose wheels for another machine. But pip evaluates environment markers, also of
transitive requirements, for its own Python. Here they are evaluated for the target.
"""

import importlib
import json
import runpy
import sys

_MARKERS = "pip._vendor.packaging.markers"
_PROBE = "platform_machine == 'target' and python_version == '0.0'"


def override_markers(environment: dict[str, str]) -> None:
    """Evaluate markers for this environment from now on; exits if this pip does not support it."""
    markers = importlib.import_module(_MARKERS)
    told = {**environment, "platform_machine": "target", "python_version": "0.0"}
    markers.default_environment = lambda: dict(told)  # type: ignore[attr-defined]
    if not markers.Marker(_PROBE).evaluate():
        sys.exit("install another version of pip: this one does not accept a target environment")
    told.clear()
    told.update(environment)


def main(environment: str, command: str, *arguments: str) -> None:
    override_markers(json.loads(environment))
    sys.argv = ["pip", command, *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
