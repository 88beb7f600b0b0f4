"""Deployers get ready for their first calls while a run still builds."""

import contextlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextvars import copy_context

from fabric.app.deploy.scope import DeployScope
from fabric.model.problems import FabricError
from fabric.model.records.record import Mode, RecordRef
from fabric.providers.contract import Prepared


@contextlib.contextmanager
def prepare_deployers(scope: DeployScope, refs: Iterable[RecordRef]) -> Iterator[None]:
    """Load the deployers' libraries in the background. A failure is raised again at their first
    use."""
    real = sorted(ref for ref in refs if scope.placements[ref].mode == Mode.REAL)
    if not real:
        yield
        return
    thread = threading.Thread(target=copy_context().run, args=(_prepare, scope, real), daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _prepare(scope: DeployScope, refs: Sequence[RecordRef]) -> None:
    for ref in refs:
        with contextlib.suppress(FabricError):
            deployer = scope.tools.deployers.deployer(ref, Mode.REAL)
            if isinstance(deployer, Prepared):
                deployer.prepare(scope.tools.deployers.address(ref))
