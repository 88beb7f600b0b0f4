"""The executor of builds, if not this machine. Pure functions."""

import re

from msgspec import Struct

from fabric.model.problems import FabricError, Problem

FORM = "dask://host:port, the address of the Dask scheduler"
_ADDRESS = re.compile(r"dask://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})/?")
_LAST_PORT = 65535


class DaskAddress(Struct, frozen=True):
    """The scheduler of a Dask cluster."""

    host: str
    port: int

    @property
    def is_this_machine(self) -> bool:
        from ipaddress import ip_address  # every request imports this module

        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_executor(word: str) -> DaskAddress:
    found = _ADDRESS.fullmatch(word)
    if found is None or not 0 < int(found[2]) <= _LAST_PORT:
        message = f"invalid value for --executor: `{word}`"
        raise FabricError(Problem("usage/bad-executor", message, hint=f"use {FORM}"))
    return DaskAddress(found[1], int(found[2]))
