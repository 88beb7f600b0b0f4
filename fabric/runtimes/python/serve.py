"""The start of a container: import fabric's files from beside this one, and hide them from the
handler's imports."""

import importlib
import sys
from pathlib import Path

_SERVER = "fabric.runtimes.python.service"


def main() -> None:
    root = str(Path(__file__).resolve().parents[3])
    sys.path.insert(0, root)
    server = importlib.import_module(_SERVER)
    sys.path.remove(root)
    for name in [one for one in sys.modules if one.partition(".")[0] == "fabric"]:
        del sys.modules[name]
    server.main()


if __name__ == "__main__":
    main()
