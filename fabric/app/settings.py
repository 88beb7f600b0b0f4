"""The one reader of the process: environment, working folder and terminal become a value."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

from msgspec import Struct

from fabric.cache_seal import KEY_VARIABLE
from fabric.model.bindable import EVERYTHING, Bindable
from fabric.model.problems import FabricError, Problem
from fabric.model.runs.cache_modes import is_ci
from fabric.model.secrets.secret import Secret
from fabric.model.secrets.state_key import STATE_KEY_VARIABLE
from fabric.model.switches import is_on
from fabric.system.clock import Clock, SystemClock
from fabric.system.crypto.randomness import Chance, generate_token

REMOTE_KEY_VARIABLE = "FABRIC_REMOTE_CACHE_KEY"
REMOTE_TOKEN_VARIABLE = "FABRIC_REMOTE_CACHE_TOKEN"  # noqa: S105
_WITHHELD = (STATE_KEY_VARIABLE, KEY_VARIABLE, REMOTE_KEY_VARIABLE, REMOTE_TOKEN_VARIABLE)
_NOTHING: Secret[Mapping[str, str]] = Secret({})
STAGE_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_STAGE = re.compile(STAGE_NAME)


class Settings(Struct, frozen=True):
    """The process environment with time and randomness, without command flags.

    `env` are the variables for bindings, children and messages: all but `withheld`, which are
    fabric's own keys and tokens.
    """

    env: Mapping[str, str]
    cwd: Path
    cores: int
    stdout_is_terminal: bool
    stderr_is_terminal: bool
    clock: Clock = SystemClock()
    chance: Chance = generate_token
    withheld: Secret[Mapping[str, str]] = _NOTHING
    # Limits the variables that configs can bind.
    bindable: Bindable = EVERYTHING

    @property
    def full_environment(self) -> Mapping[str, str]:
        """Return all process variables, including keys, for hashes of stored answers."""
        withheld = self.withheld.reveal()
        return {**self.env, **withheld} if withheld else self.env

    @property
    def state_key(self) -> Secret[str | None]:
        return self.own(STATE_KEY_VARIABLE)

    def own(self, name: str) -> Secret[str | None]:
        """Return a key or token that is passed to no other process."""
        return Secret(self.withheld.reveal().get(name))

    @property
    def in_ci(self) -> bool:
        return is_ci(self.env)

    @property
    def takes_shortcuts(self) -> bool:
        """Return whether stored answers, cached graphs and the last run can be used.

        Without them the results are the same, but slower.
        """
        return not is_on("FABRIC_NO_SHORTCUTS", self.env)

    @property
    def in_github(self) -> bool:
        return self.env.get("GITHUB_ACTIONS") == "true"

    @property
    def summary(self) -> str:
        """The file that a GitHub job shows as its summary."""
        return self.env.get("GITHUB_STEP_SUMMARY", "")

    @property
    def chooses_toolchains(self) -> bool:
        return bool(self.env.get("FABRIC_TOOLCHAIN_DIR"))

    @property
    def toolchains(self) -> Path | None:
        """Return the directory of downloaded tools for all projects; None without a home
        directory."""
        if chosen := self.env.get("FABRIC_TOOLCHAIN_DIR"):
            return self.cwd / chosen
        own = self._own_cache
        return own / "toolchain" if own else None

    @property
    def name_locks(self) -> Path | None:
        """Return the directory of hostname locks for all projects of this user."""
        own = self._own_cache
        return own / "names" if own else None

    @property
    def _own_cache(self) -> Path | None:
        home = self.env.get("HOME")
        base = self.env.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
        return Path(base) / "fabric" if base else None

    def stage(self, asked: str) -> str:
        """Return the stage: `--stage`, then FABRIC_STAGE, then `dev`."""
        stage = asked or self.env.get("FABRIC_STAGE") or "dev"
        if not _STAGE.fullmatch(stage):
            raise FabricError(
                Problem(
                    "usage/bad-stage",
                    f"invalid stage name `{stage}`",
                    hint="use letters, digits, `.`, `_`, `-`, at most 63, first a letter or digit",
                )
            )
        return stage


def read_settings(*, to_work: bool = True) -> Settings:
    """Read the settings. Without `to_work` a missing working directory is accepted, to report
    errors."""
    env, withheld = separate_keys(os.environ)
    return Settings(
        env=env,
        cwd=_find_working_folder(needed=to_work),
        cores=len(os.sched_getaffinity(0)),
        stdout_is_terminal=_is_terminal(sys.stdout),
        stderr_is_terminal=_is_terminal(sys.stderr),
        withheld=withheld,
    )


def separate_keys(
    env: Mapping[str, str],
) -> tuple[Mapping[str, str], Secret[Mapping[str, str]]]:
    """Separate keys from the environment, so that bindings, commands and functions never get
    them."""
    rest = {name: text for name, text in env.items() if name not in _WITHHELD}
    return MappingProxyType(rest), Secret({one: env[one] for one in _WITHHELD if one in env})


def _find_working_folder(*, needed: bool) -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        if not needed:
            return Path("/")
        hint = "change to an existing directory"
        problem = Problem("usage/no-folder", "the working directory does not exist", hint=hint)
        raise FabricError(problem) from error


def _is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before we started is None."""
    return stream is not None and stream.isatty()
