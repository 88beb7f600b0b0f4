"""The address that a server listens on."""

import errno
import os
import socket

from fabric.model.problems import FabricError, Problem
from fabric.system.http.listening import bind_socket, find_free_port


def listen(address: str, port: int) -> socket.socket:
    """Port 0 is any that is free."""
    try:
        return bind_socket(address, port)
    except (OSError, UnicodeError) as error:
        raise FabricError(_bind_problem(address, port, error)) from error


def _bind_problem(address: str, port: int, error: OSError | UnicodeError) -> Problem:
    number = (error.errno or 0) if isinstance(error, OSError) else 0
    # Python adds what it was doing to the system's words; those of a look-up have other numbers.
    said = os.strerror(number) if number > 0 else str(error)
    message = f"cannot listen on {address}:{port}: {said.lower()}"
    if number == errno.EADDRINUSE:
        free = find_free_port(address, port)
        hint = f"use --port {free}, which is free" if free else "use another port with --port"
        return Problem("daemon/port-taken", message, hint)
    if number == errno.EACCES:
        hint = "use a port of at least 1024 with --port: lower ports require root"
        return Problem("daemon/port-refused", message, hint)
    hint = "set --address to an address of this machine, such as 127.0.0.1 or 0.0.0.0"
    return Problem("daemon/bad-address", message, hint)


def choose_local_address(address: str) -> str:
    """Return the address under which this machine reaches a listening server."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104


def format_server_url(address: str, port: int) -> str:
    host = choose_local_address(address)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
