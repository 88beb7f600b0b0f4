"""Compose files: their services, their patterns, and the owner of a config."""

import os
from pathlib import Path

from fabric.app.project.files import (
    COMPOSE_NAME,
    find_config_in,
    format_relative,
    format_shown_path,
    read_file,
)
from fabric.config.compose import load_compose
from fabric.config.values import Compose, ComposeService
from fabric.model.problems import Place, Problem
from fabric.ownership import is_ours, reach

# A compose file is passed over because somebody else may have written it.
NOT_OURS = "compose/not-ours"


def include_folders(compose: Compose, base: Path) -> list[Path]:
    """Every folder in which an `include` pattern looks: a new match shows in its time."""
    prefixes = {
        "/".join(parts[:count])
        for parts in (pattern.split("/") for pattern in compose.include)
        for count in range(len(parts))
    }
    found = (base.glob(prefix) if prefix else [base] for prefix in sorted(prefixes))
    return sorted({folder for folders in found for folder in folders if folder.is_dir()})


def read_compose(path: Path, cwd: Path) -> Compose:
    """Read a compose file, with its `include` patterns expanded to services."""
    compose = load_compose(format_shown_path(path, cwd), read_file(path, COMPOSE_NAME))
    listed = {find_config_in(path.parent / one.config) for one in compose.services}
    found = dict.fromkeys(
        file
        for pattern in compose.include
        for file in sorted(path.parent.glob(pattern))
        if file not in listed
    )
    return Compose(
        compose.file,
        (
            *compose.services,
            *(ComposeService("", format_relative(one, path.parent)) for one in found),
        ),
        compose.include,
    )


def build_compose_entry(config: Path, owner: Path) -> ComposeService:
    """Build the entry under which a compose file contains a config."""
    services = read_compose(owner, owner.parent).services
    paths = [find_config_in((owner.parent / one.config).resolve()) for one in services]
    return next(one for one, path in zip(services, paths, strict=True) if path == config)


def list_parent_compose_files(config: Path) -> list[Path]:
    """List the parent compose files that can contain this config, nearest first.

    The search ends where a directory belongs to another user, who must not control a service's
    values.
    """
    return [Path(folder, COMPOSE_NAME) for folder in reach(str(config.parent))]


def warn_of_ignored_compose(config: Path) -> tuple[Problem, ...]:
    """Warn of a parent compose file that is ignored because another user can have written it."""
    within = list_parent_compose_files(config)
    there = (folder / COMPOSE_NAME for folder in config.parents)
    strange = (
        path
        for path in there
        if os.path.lexists(path) and not (path in within and is_ours(str(path)))
    )
    return tuple(_foreign_compose_problem(path) for path in strange)[:1]


def _foreign_compose_problem(path: Path) -> Problem:
    return Problem(
        NOT_OURS,
        f"ignoring `{path}`: the file or a directory between it and the config is writable by "
        "other users or on another file system",
        hint=f"use -f {path}, or remove the write permission of other users (chmod go-w)",
        where=Place(str(path)),
    )


def find_owning_compose(config: Path) -> Path | None:
    """Find the nearest compose file, beside a config or above, that contains it.

    An unreadable one is an error, because it can contain the service's dependencies.
    """
    for path in list_parent_compose_files(config):
        if not (path.is_file() and is_ours(str(path))):
            continue
        folder = path.parent
        services = read_compose(path, folder).services
        if config in {find_config_in((folder / one.config).resolve()) for one in services}:
            return path
    return None


def warn_of_unmatched_patterns(compose: Compose, base: Path) -> tuple[Problem, ...]:
    """Warn of patterns without a match, because a typo would silently drop services."""
    return tuple(
        Problem(
            "compose/nothing-included",
            f"pattern in `include` matches no config: `{pattern}`",
            hint="use a pattern relative to the compose file, such as services/*/fabric.yml",
            where=Place(compose.file),
        )
        for pattern in compose.include
        if next(base.glob(pattern), None) is None
    )
