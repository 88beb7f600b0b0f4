"""Compose files: what they list, what their patterns match, and which one a config belongs to."""

import os
from pathlib import Path

from fabric.app.project.files import COMPOSE_NAME, config_in, read_file, relative, shown
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
    """What a compose file lists, with its `include` patterns expanded to more services."""
    compose = load_compose(shown(path, cwd), read_file(path, COMPOSE_NAME))
    listed = {config_in(path.parent / one.config) for one in compose.services}
    found = dict.fromkeys(
        file
        for pattern in compose.include
        for file in sorted(path.parent.glob(pattern))
        if file not in listed
    )
    return Compose(
        compose.file,
        (*compose.services, *(ComposeService("", relative(one, path.parent)) for one in found)),
        compose.include,
    )


def entry_of(config: Path, owner: Path) -> ComposeService:
    """The entry by which a compose file names a config."""
    services = read_compose(owner, owner.parent).services
    paths = [config_in((owner.parent / one.config).resolve()) for one in services]
    return next(one for one, path in zip(services, paths, strict=True) if path == config)


def compose_files_above(config: Path) -> list[Path]:
    """Where a compose file that names this config may lie, the nearest first: no further up than
    folders are ours, so that nobody else decides what a service gets."""
    return [Path(folder, COMPOSE_NAME) for folder in reach(str(config.parent))]


def not_obeyed(config: Path) -> tuple[Problem, ...]:
    """A compose file above that is passed over because somebody else may have written it."""
    within = compose_files_above(config)
    there = (folder / COMPOSE_NAME for folder in config.parents)
    strange = (
        path
        for path in there
        if os.path.lexists(path) and not (path in within and is_ours(str(path)))
    )
    return tuple(_not_ours(path) for path in strange)[:1]


def _not_ours(path: Path) -> Problem:
    return Problem(
        NOT_OURS,
        f"ignoring `{path}`: the file or a directory between it and the config is writable by "
        "other users or on another file system",
        hint="run: chmod go-w on the file and these directories, or name the file with -f",
        where=Place(str(path)),
    )


def owning_compose(config: Path) -> Path | None:
    """The nearest compose file, beside a config or above it, that names it. One that cannot be
    read is an error: it may say what the service stands on."""
    for path in compose_files_above(config):
        if not (path.is_file() and is_ours(str(path))):
            continue
        folder = path.parent
        services = read_compose(path, folder).services
        if config in {config_in((folder / one.config).resolve()) for one in services}:
            return path
    return None


def unmatched(compose: Compose, base: Path) -> tuple[Problem, ...]:
    """Patterns that find nothing: a slip in one would drop services without a word."""
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
