"""A remote project: downloaded and unpacked into a temporary directory."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.project.stored_source import keep_config
from fabric.app.request import Request
from fabric.app.settings import Settings
from fabric.engine.memory.file_index import let_settle
from fabric.model.outcomes.deployed import DeployOutcome
from fabric.model.problems import Problem
from fabric.model.report import Report
from fabric.system.clock import read_file_time_ns
from fabric.system.files.disk import read_bytes
from fabric.system.source.fetch import fetch
from fabric.system.source.unpack import find_shallowest_config, unpack


class RemoteSource(Struct, frozen=True):
    """The location of an archive and its required hash (empty: any)."""

    url: str
    sha256: str = ""


class FetchedSource(Struct, frozen=True):
    """The request for the downloaded source. Stored files go to the working directory."""

    request: Request
    settings: Settings
    warnings: tuple[Problem, ...]


@contextlib.contextmanager
def fetch_remote_source(
    source: RemoteSource, request: Request, settings: Settings
) -> Iterator[FetchedSource]:
    with tempfile.TemporaryDirectory(prefix="fabric-source-") as folder:
        base = Path(folder).resolve()
        fetched = fetch(source.url, base / "archive", sha256=source.sha256)
        unpack(fetched.path, base / "project")
        # What was written a moment before a command began would not be remembered.
        let_settle(lambda: read_file_time_ns(base))
        config = find_shallowest_config(base / "project")
        home = settings.cwd / ".fabric"
        where = replace(request.where, config=str(config), home=str(home))
        env = {"FABRIC_CACHE_DIR": str(home / "cache"), **settings.env}
        yield FetchedSource(
            replace(request, where=where),
            replace(settings, env=MappingProxyType(env)),
            fetched.warnings,
        )


def keep_deployed(found: FetchedSource, report: Report) -> None:
    """Store the config for later commands, because the source itself is deleted."""
    if isinstance(report.outcome, DeployOutcome):
        content = read_bytes(Path(found.request.where.config))
        for service in {one.service for one in report.outcome.deployments}:
            keep_config(Path(found.request.where.home), service, content)
