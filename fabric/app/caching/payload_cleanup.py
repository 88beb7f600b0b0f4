"""Delete command payload files that a killed run left on disk.

These files contain variable values. They are on disk only if files cannot be kept in memory.
"""

from pathlib import Path

from fabric.system.clock import Clock

PAYLOADS = "payloads"


def sweep_payloads(home: Path, clock: Clock) -> None:
    folder = home / PAYLOADS
    if folder.is_dir():
        from fabric.system.files.owned_folder import sweep_owned  # mostly there is none

        sweep_owned(folder, clock.now().timestamp())
