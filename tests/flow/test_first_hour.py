"""The guide's first hour, word by word."""

import contextlib
import socket
import sys
from pathlib import Path

from tests.support.page_commands import Terminal, blocks
from tests.support.project import REPO, environment

_PORT = "8787"


def test_getting_started_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    page = (REPO / "docs/guide/getting-started.md").read_text()
    given = environment(tmp_path)
    env = {
        **given,
        "PATH": f"{Path(sys.executable).parent}:{given['PATH']}",
        "npm_config_update_notifier": "false",
    }
    terminals = {"": Terminal(tmp_path, env), "second": Terminal(tmp_path, env, asks=True)}
    with contextlib.ExitStack() as at_the_end:
        for one in terminals.values():
            at_the_end.callback(one.kill)
        for block in blocks(_on_a_free_port(page)):
            first = terminals[""]
            if block.kind != "console":
                (first.cwd / block.about).write_text(block.text)
            else:
                terminals[block.about].follow(block.text)
        for one in terminals.values():
            one.leave()


def test_the_page_shows_each_command_of_a_first_hour() -> None:
    page = (REPO / "docs/guide/getting-started.md").read_text()
    typed = "\n".join(line for block in blocks(page) for line in block.text.splitlines())
    for command in ("init", "plan", "invoke local", "dev", "generate", "deploy", "invoke run"):
        assert f"$ fabric {command}" in typed


def _on_a_free_port(page: str) -> str:
    """Somebody on this machine may have the usual one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    return page.replace("--serve --watch", f"--serve --watch --port {port}").replace(_PORT, port)
