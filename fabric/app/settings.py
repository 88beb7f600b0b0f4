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
from fabric.model.cache_modes import in_ci
from fabric.model.problems import FabricError, Problem
from fabric.model.secret import Secret
from fabric.model.state_key import STATE_KEY_VARIABLE
from fabric.model.switches import is_on
from fabric.system.chance import Chance, chance
from fabric.system.clock import Clock, SystemClock

REMOTE_KEY_VARIABLE = "FABRIC_REMOTE_CACHE_KEY"
REMOTE_TOKEN_VARIABLE = "FABRIC_REMOTE_CACHE_TOKEN"  # noqa: S105
_WITHHELD = (STATE_KEY_VARIABLE, KEY_VARIABLE, REMOTE_KEY_VARIABLE, REMOTE_TOKEN_VARIABLE)
_NOTHING: Secret[Mapping[str, str]] = Secret({})
STAGE_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_STAGE = re.compile(STAGE_NAME)


class Settings(Struct, frozen=True):
    """What the surroundings say, the time and chance among it; flags of a command are no part.

    `env` is what bindings, children and messages may have of the environment: all but what is
    `withheld`, the keys and tokens that are fabric's own.
    `bindable` is what of it, and of `.env`, configs may bind.
    """

    env: Mapping[str, str]
    cwd: Path
    cores: int
    stdout_is_terminal: bool
    stderr_is_terminal: bool
    clock: Clock = SystemClock()
    chance: Chance = chance
    withheld: Secret[Mapping[str, str]] = _NOTHING
    bindable: Bindable = EVERYTHING

    @property
    def called_with(self) -> Mapping[str, str]:
        """All variables of the process, keys too: for digests of what an answer hangs on."""
        withheld = self.withheld.reveal()
        return {**self.env, **withheld} if withheld else self.env

    @property
    def state_key(self) -> Secret[str | None]:
        return self.own(STATE_KEY_VARIABLE)

    def own(self, name: str) -> Secret[str | None]:
        """One of the keys and tokens that nobody else is handed."""
        return Secret(self.withheld.reveal().get(name))

    @property
    def in_ci(self) -> bool:
        return in_ci(self.env)

    @property
    def takes_shortcuts(self) -> bool:
        """Whether stored answers, kept graphs and the last run may be used; all without them comes
        to the same, later."""
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
        """Where tools that fabric fetches once are kept, for all projects of this user; None for
        a user without a home."""
        if chosen := self.env.get("FABRIC_TOOLCHAIN_DIR"):
            return self.cwd / chosen
        own = self._own_cache
        return own / "toolchain" if own else None

    @property
    def name_locks(self) -> Path | None:
        """Where all projects of this user lock the host names that they lead."""
        own = self._own_cache
        return own / "names" if own else None

    @property
    def _own_cache(self) -> Path | None:
        home = self.env.get("HOME")
        base = self.env.get("XDG_CACHE_HOME") or (home and f"{home}/.cache")
        return Path(base) / "fabric" if base else None

    def stage(self, asked: str) -> str:
        """`--stage`, else FABRIC_STAGE, else `dev`."""
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
    """Without `to_work` only to say that something failed, which is possible anywhere."""
    env, withheld = without_keys(os.environ)
    return Settings(
        env=env,
        cwd=_working_folder(needed=to_work),
        cores=len(os.sched_getaffinity(0)),
        stdout_is_terminal=_is_terminal(sys.stdout),
        stderr_is_terminal=_is_terminal(sys.stderr),
        withheld=withheld,
    )


def without_keys(
    env: Mapping[str, str],
) -> tuple[Mapping[str, str], Secret[Mapping[str, str]]]:
    """Keys go their own way: no binding, command or function is handed them."""
    rest = {name: text for name, text in env.items() if name not in _WITHHELD}
    return MappingProxyType(rest), Secret({one: env[one] for one in _WITHHELD if one in env})


def _working_folder(*, needed: bool) -> Path:
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
