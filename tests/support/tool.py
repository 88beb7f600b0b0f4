"""A deploy command of our own: notes what it was given, and answers what it was told to."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SCRIPT = """\
import json, os, sys, time
from pathlib import Path
notes, answer, marker = (Path(word) for word in sys.argv[1:4])
names = [name for name in os.environ if name.startswith(("FABRIC_", "CLOUD1_"))]
given = {name: os.environ[name] for name in names}
with notes.open("a") as file:
    file.write(json.dumps({**given, "argv": sys.argv[4:]}) + "\\n")
text = answer.read_text()
slow = json.loads(Path(f"{answer}.slow").read_text()) if Path(f"{answer}.slow").exists() else {}
time.sleep(slow.get(given.get("FABRIC_SERVICE"), 0))
if Path(f"{answer}.refused-{given.get('FABRIC_SERVICE')}").exists():
    sys.exit("refused")
if text == "hang":
    marker.write_text(str(os.getpid()))
    time.sleep(60)
if text == "wait":
    marker.write_text(str(os.getpid()))
while text == "wait":
    time.sleep(0.02)
    text = answer.read_text()
if text == "once":
    answer.write_text('0\\n{"endpoint": "https://live.example"}')
    sys.exit(3)
code, _, rest = text.partition("\\n")
sys.stderr.write("the tool was here\\n")
sys.stdout.write(rest)
sys.exit(int(code))
"""


class Tool:
    """What stands in `FABRIC_<P>_DEPLOY_CMD`; `calls` are the variables of each call."""

    def __init__(self, folder: Path, url: str = "https://live.example") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._notes = folder / "notes"
        self._answer = folder / "answer"
        self._marker = folder / "marker"
        self._script = folder / "tool.py"
        self._script.write_text(_SCRIPT)
        self.answers({"endpoint": url})

    @property
    def line(self) -> str:
        words = (sys.executable, self._script, self._notes, self._answer, self._marker)
        return " ".join(map(str, words))

    def answers(self, document: Mapping[str, Any] | str, code: int = 0) -> None:
        text = document if isinstance(document, str) else json.dumps(document)
        # In one step: one who waits for it never sees a part.
        fresh = self._answer.with_suffix(".fresh")
        fresh.write_text(f"{code}\n{text}")
        fresh.replace(self._answer)

    def takes(self, seconds: int, service: str) -> None:
        """How long a call for this service lasts."""
        Path(f"{self._answer}.slow").write_text(json.dumps({service: seconds}))

    def refuses(self, service: str) -> None:
        """Calls for this service fail from now on."""
        Path(f"{self._answer}.refused-{service}").touch()

    def hangs(self) -> None:
        """Until it is killed, or for a minute."""
        self._answer.write_text("hang")

    def waits(self) -> None:
        """Until there is an answer to give."""
        self._answer.write_text("wait")

    def fails_once(self) -> None:
        self._answer.write_text("once")

    @property
    def is_running(self) -> bool:
        """Whether the one that hung does so still."""
        try:
            pid = self._marker.read_text()
            found = Path(f"/proc/{pid}/stat").read_text() if pid else ") Z"
        except FileNotFoundError:
            return False
        return found.rpartition(")")[2].split()[0] != "Z"

    @property
    def calls(self) -> list[dict[str, Any]]:
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        return [json.loads(line) for line in lines]

    def env(self, prefix: str = "CLOUD1") -> dict[str, str]:
        return {
            f"FABRIC_{prefix}_REAL_DEPLOY": "1",
            f"FABRIC_{prefix}_DEPLOY_CMD": self.line,
            f"FABRIC_{prefix}_DESTROY_CMD": f"{self.line} destroy",
        }
