"""A provider that gives another address at each deploy, and remembers what each service got."""

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

# A verb and a folder are its words.
_SCRIPT = """\
set -eu
verb=$1 folder=$2 name=$FABRIC_SERVICE
if [ "$verb" = destroy ]; then
  rm -f "$folder/live-$name"
  echo "gone $name" >>"$folder/log"
  exit 0
fi
if [ -e "$folder/refuses-$name" ]; then exit 1; fi
count=$(cat "$folder/count-$name" 2>/dev/null || echo 0)
count=$((count + 1))
echo $count >"$folder/count-$name"
printf '%s\\n%s\\n' "https://$name-$count.example" "$FABRIC_FUNCTION_ENV_JSON" >"$folder/live-$name"
echo "live $name" >>"$folder/log"
printf '{"endpoint": "https://%s-%s.example"}' "$name" $count
"""


def moving_provider(folder: Path) -> "MovingProvider":
    folder.mkdir(parents=True)
    (folder / "moving.sh").write_text(_SCRIPT)
    return MovingProvider(folder)


class MovingProvider(Struct, frozen=True):
    folder: Path

    def env(self) -> dict[str, str]:
        script = self.folder / "moving.sh"
        return {
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_DEPLOY_CMD": f"sh {script} deploy {self.folder}",
            "FABRIC_CLOUD1_DESTROY_CMD": f"sh {script} destroy {self.folder}",
        }

    def refuses(self, service: str) -> None:
        (self.folder / f"refuses-{service}").touch()

    def takes_all(self) -> None:
        for path in self.folder.glob("refuses-*"):
            path.unlink()

    @property
    def log(self) -> list[str]:
        return (self.folder / "log").read_text().splitlines()

    @property
    def addresses(self) -> dict[str, str]:
        return {name: lines[0] for name, lines in self._live().items()}

    @property
    def environments(self) -> dict[str, dict[str, Any]]:
        """What the function of each live service was given."""
        return {name: json.loads(lines[1])["main"] for name, lines in self._live().items()}

    def _live(self) -> dict[str, list[str]]:
        return {
            path.name.removeprefix("live-"): path.read_text().splitlines()
            for path in self.folder.glob("live-*")
        }
