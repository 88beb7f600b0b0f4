"""`invoke dev` as a process of its own; its tunnel is the very port that is served."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.support.cloud1_shop import Shop
from tests.support.provider_shop import ProviderShop
from tests.support.served import Served, running
from tests.support.servers.process import free_port


@contextlib.contextmanager
def streaming(
    shop: Shop | ProviderShop, *words: str, url: str = "", port: int = 0
) -> Iterator[Served]:
    """The tunnel is the very port that is served."""
    port = port or free_port()
    tunnel = url or f"http://127.0.0.1:{port}"
    asked = ("--stream-from", "dev", "--tunnel-url", tunnel, "--port", str(port), *words)
    with running(shop.project, "invoke", "dev", *asked, env=shop.env) as found:
        yield found


def ended(found: Served) -> int:
    found.child.send_signal(signal.SIGINT)
    return found.child.wait(60)


def journals(shop: Shop | ProviderShop) -> list[Path]:
    return sorted((shop.project.root / ".fabric" / "dev-stream").rglob("*.json"))


def killed(found: Served) -> None:
    os.kill(found.child.pid, signal.SIGKILL)
    found.child.wait(60)
