"""Write `docs/guide/events/` again: `python -m tests.support.write_sample_events`.

The triggers are those that the page shows; their events are those of `fabric dev`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from fabric.model.calls.sample_events import sample_event

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "events.md"
FOLDER = PAGE.with_suffix("")
_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown_triggers() -> list[Mapping[str, object]]:
    return [yaml.safe_load(text) for text in _BLOCK.findall(PAGE.read_text(encoding="utf-8"))]


def event_files() -> dict[str, str]:
    """By the name of the kind."""
    return {
        f"{fields['type']}.json": _text(sample_event(str(fields["type"]), fields))
        for fields in shown_triggers()
    }


def _text(event: object) -> str:
    return json.dumps(event, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    for name, text in event_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
