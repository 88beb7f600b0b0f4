"""A browser to look at pages with: Chromium, told what to do over two pipes, with real mouse and
keys. It needs nothing but the program."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_NAVIGATED = "Inspected target navigated or closed"
PATIENCE_S = 60.0
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)
# Chromium listens on descriptor 3 and answers on 4. Both of ours may have just these numbers.
_START = """
import os, sys
from fcntl import F_DUPFD, fcntl
hears, says = (fcntl(int(one), F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(hears, 3)
os.dup2(says, 4)
os.closerange(5, 256)
os.execv(sys.argv[3], sys.argv[3:])
"""
_KEYS = {
    "Enter": ("\r", 13),
    "Escape": ("", 27),
    "Tab": ("", 9),
    "ArrowRight": ("", 39),
    "ArrowDown": ("", 40),
}
_COLOURS = "prefers-color-scheme"


def find_browser() -> str:
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    assert found, f"none of {', '.join(NAMES)} is on PATH: run scripts/test-tools.sh"
    return found


@contextmanager
def browser(home: Path) -> Iterator["Browser"]:
    """A browser of its own, with its profile in a folder; gone afterwards."""
    (hears, tell), (listen, says) = os.pipe(), os.pipe()
    program = [find_browser(), *_OPTIONS, f"--user-data-dir={home}"]
    child = subprocess.Popen(
        [sys.executable, "-c", _START, str(hears), str(says), *program],
        pass_fds=(hears, says),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(hears)
    os.close(says)
    try:
        yield Browser(tell, listen)
    finally:
        os.close(tell)
        os.close(listen)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


class Browser:
    def __init__(self, tell: int, listen: int) -> None:
        self._tell, self._listen = tell, listen
        self._number = 0
        self._text = b""
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str = "", **values: Any) -> dict[str, Any]:
        """The answer to one call. What else the browser says meanwhile is kept as events."""
        self._number += 1
        call: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if session:
            call["sessionId"] = session
        os.write(self._tell, json.dumps(call).encode() + b"\0")
        while (told := self._next()).get("id") != self._number:
            self.events.append(told)
        error = told.get("error", {})
        if error.get("message") == _NAVIGATED:
            # The page loads anew: the script that was evaluated in the old one has no value.
            return {"result": {"type": "undefined"}}
        assert not error, f"{method}: {error}"
        answer: dict[str, Any] = told["result"]
        return answer

    def wait_for(self, method: str, session: str) -> None:
        def is_it(event: dict[str, Any]) -> bool:
            return event.get("method") == method and event.get("sessionId") == session

        while not any(map(is_it, self.events)):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._text:
            ready, _, _ = select.select([self._listen], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"the browser said nothing for {PATIENCE_S:.0f} s"
            more = os.read(self._listen, 1 << 20)
            assert more, "the browser is gone"
            self._text += more
        text, _, self._text = self._text.partition(b"\0")
        told: dict[str, Any] = json.loads(text)
        return told

    def open(self, path: Path, look: "Look | None" = None) -> "Tab":
        return self.visit(path.as_uri(), look)

    def visit(self, url: str, look: "Look | None" = None) -> "Tab":
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, url)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.ask(f"{domain}.enable")
        (look or Look()).put_on(tab)
        tab.ask("Page.navigate", url=tab.url)
        self.wait_for("Page.loadEventFired", session)
        return tab


@dataclass(frozen=True, slots=True)
class Look:
    """How large the window is, and whether the reader likes it dark."""

    width: int = 1280
    height: int = 800
    dark: bool = False

    def put_on(self, tab: "Tab") -> None:
        tab.ask(
            "Emulation.setDeviceMetricsOverride",
            width=self.width,
            height=self.height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": _COLOURS, "value": "dark" if self.dark else "light"}
        tab.ask("Emulation.setEmulatedMedia", features=[scheme])


@dataclass(frozen=True, slots=True)
class Tab:
    browser: Browser
    session: str
    url: str

    def ask(self, method: str, **values: Any) -> dict[str, Any]:
        return self.browser.ask(method, self.session, **values)

    def run(self, script: str) -> Any:
        """What an expression of the page comes to."""
        answer = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def middle_of(self, selector: str) -> tuple[float, float]:
        found = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        return found[0], found[1]

    def point(self, x: float, y: float) -> None:
        self._mouse("mouseMoved", x, y)

    def point_at(self, selector: str) -> None:
        self.point(*self.middle_of(selector))

    def click(self, selector: str) -> None:
        x, y = self.middle_of(selector)
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def press(self, key: str, modifiers: int = 0) -> None:
        text, code = _KEYS.get(key, (key, ord(key.upper()[0])))
        names = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        kind = "keyDown" if text else "rawKeyDown"
        self.ask("Input.dispatchKeyEvent", type=kind, text=text, **names)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **names)

    def type(self, text: str) -> None:
        for letter in text:
            self.press(letter)

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and refusals of the content policy."""
        found = []
        for event in self._events():
            values = event["params"]
            match event["method"]:
                case "Runtime.exceptionThrown":
                    found.append(str(values["exceptionDetails"]))
                case "Runtime.consoleAPICalled" if values["type"] in {"error", "warning"}:
                    found.append(str(values["args"]))
                case "Log.entryAdded":
                    found.append(str(values["entry"]["text"]))
        return found

    @property
    def requests(self) -> list[str]:
        """Every address that the page asked for."""
        asked = (one for one in self._events() if one["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in asked]

    def _events(self) -> list[dict[str, Any]]:
        return [one for one in self.browser.events if one.get("sessionId") == self.session]

    def picture(self, path: Path) -> None:
        taken = self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(taken["data"]))
