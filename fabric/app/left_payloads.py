"""Documents for deploy commands that a killed run left on the disk: swept by the next command.

They hold values of variables. Where files can be in memory they never get there.
"""

from pathlib import Path

from fabric.system.clock import Clock

PAYLOADS = "payloads"


def sweep_payloads(home: Path, clock: Clock) -> None:
    folder = home / PAYLOADS
    if folder.is_dir():
        from fabric.system.owned_folder import sweep_owned  # mostly there is none

        sweep_owned(folder, clock.now().timestamp())
