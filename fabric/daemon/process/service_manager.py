"""Status messages to systemd for a `Type=notify` service."""

import contextlib
import os
import socket
from collections.abc import Mapping

_SELDOM = 3600.0


class ServiceManager:
    """Sends status messages; none without a socket in `NOTIFY_SOCKET`."""

    def __init__(self, env: Mapping[str, str]) -> None:
        path = env.get("NOTIFY_SOCKET", "")
        self._path = f"\0{path[1:]}" if path.startswith("@") else path
        is_ours = env.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        micros = env.get("WATCHDOG_USEC", "") if is_ours else ""
        self._watched = bool(self._path) and micros.isdigit() and int(micros) > 0
        # Twice within the time after which it would be taken for dead.
        self.beat_seconds = int(micros) / 2_000_000 if self._watched else _SELDOM

    def say(self, words: str) -> None:
        if not self._path:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.connect(self._path)
            way.send(words.encode())

    def beat(self) -> None:
        if self._watched:
            self.say("WATCHDOG=1")
