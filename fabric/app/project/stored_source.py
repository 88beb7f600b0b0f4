"""Stored configs of projects deployed from a remote source, for later commands on them."""

import shutil
from pathlib import Path

from msgspec.structs import replace

from fabric.app.project.files import find_config_in
from fabric.app.request import CONFIG_NAME, Where
from fabric.app.settings import Settings
from fabric.model.problems import FabricError, Problem
from fabric.system.files.disk import check_no_links, make_folder, write_atomic

_FOLDER = "sources"


def keep_config(home: Path, service: str, content: bytes) -> None:
    """Store the config with private permissions, because it can be confidential."""
    folder = home / _FOLDER / service
    make_folder(folder, 0o700)
    write_atomic(folder / CONFIG_NAME, content, mode=0o600)


def use_kept_config(where: Where, settings: Settings) -> Where:
    """Use the stored config if the directory has none."""
    home = settings.cwd / ".fabric"
    asked = find_config_in(settings.cwd / where.config)
    if where.compose or where.home or where.reading.text is not None:
        return where
    sources = asked.parent.parent
    if (sources.name, sources.parent.name) == (_FOLDER, home.name):
        return replace(where, home=str(sources.parent.resolve()))
    if where.config != CONFIG_NAME or asked.exists():
        return where
    kept = sorted((home / _FOLDER).glob(f"*/{CONFIG_NAME}"))
    if len(kept) > 1:
        raise FabricError(_several_configs_problem(kept))
    return replace(where, config=str(kept[0]), home=str(home)) if kept else where


def drop_config(home: Path, service: str) -> None:
    """Delete the stored config once none of it is deployed."""
    check_no_links(home / _FOLDER / service)
    shutil.rmtree(home / _FOLDER / service, ignore_errors=True)


def _several_configs_problem(kept: list[Path]) -> Problem:
    names = ", ".join(f"-c .fabric/{_FOLDER}/{one.parent.name}" for one in kept)
    message = "more than one service was deployed from this directory with --source"
    return Problem("usage/which-service", message, hint=f"add one of these options: {names}")
