"""Call functions at the minutes of their schedules, in UTC, each in its own process. fabric has
written each field as a list of numbers.

Standard library only: it runs in a container without fabric.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_SERVER = str(Path(__file__).with_name("serve.py"))
_MINUTE = 60
_OURS = ("FABRIC_CLOCK", "FABRIC_CODE", "FABRIC_WORK")
# A minute can begin while the clock of the machine is corrected.
_LOOK_SECONDS = 1.0


class Clock:
    def __init__(self, environment: dict[str, str]) -> None:
        given = {name: environment.pop(name) for name in _OURS}
        self.rows: list[dict[str, Any]] = json.loads(given["FABRIC_CLOCK"])
        self.code, self.work = Path(given["FABRIC_CODE"]), Path(given["FABRIC_WORK"])
        self.environment = environment
        self._running: dict[int, threading.Thread] = {}
        self._ending = threading.Event()

    def end(self, *_signal: object) -> None:
        self._ending.set()

    def keep_time(self) -> None:
        """Run until SIGTERM, and then until the last function has ended. A minute that passed
        unnoticed, such as during a pause of the machine, is left out."""
        minute = int(_now()) // _MINUTE
        while not self._ending.is_set():
            left = (minute + 1) * _MINUTE - _now()
            if left > 0:
                self._ending.wait(min(left, _LOOK_SECONDS))
                continue
            self._tick(datetime.fromtimestamp((minute + 1) * _MINUTE, UTC))
            minute = int(_now()) // _MINUTE
        for thread in self._running.values():
            thread.join()

    def _tick(self, moment: datetime) -> None:
        for number, row in enumerate(self.rows):
            last = self._running.get(number)
            if is_due(row, moment) and not (last and last.is_alive()):
                self._running[number] = threading.Thread(target=self._run, args=(row,))
                self._running[number].start()

    def _run(self, row: dict[str, Any]) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            own = {
                "FABRIC_SAID": json.dumps(row["said"]),
                "FABRIC_CODE": str(self.code / row["folder"]),
                "FABRIC_WORK": folder,
                "FABRIC_EVENT": json.dumps(row["event"]),
            }
            command = [sys.executable, "-u", "-P", _SERVER]
            env = {**self.environment, **own}
            try:
                done = subprocess.run(command, env=env, timeout=row["seconds"], check=False)
            except subprocess.TimeoutExpired:
                _tell(row, f"the run was ended after {row['seconds']} s")
                return
            if done.returncode:
                _tell(row, f"the run failed with exit code {done.returncode}")


def _now() -> float:
    return time.time()  # noqa: TID251 - the machine's own clock


def _tell(row: dict[str, Any], words: str) -> None:
    sys.stderr.write(f"{row['said']['functionName']}: {words}\n")


def is_due(row: dict[str, Any], moment: datetime) -> bool:
    is_day = moment.day in row["days"]
    is_weekday = moment.isoweekday() % 7 in row["weekdays"]
    is_date = is_day or is_weekday if row["either"] else is_day and is_weekday
    is_time = moment.minute in row["minutes"] and moment.hour in row["hours"]
    return is_date and is_time and moment.month in row["months"]


def main() -> None:
    clock = Clock(dict(os.environ))  # noqa: TID251 - the machine's own
    signal.signal(signal.SIGTERM, clock.end)
    clock.keep_time()


if __name__ == "__main__":
    main()
