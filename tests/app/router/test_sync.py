"""A change of a name that is taken, and not everywhere yet."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from fabric.app.request import Where
from fabric.app.router.scope import RouterRequest, open_router
from fabric.app.router.sync import DnsChange, sync_router
from fabric.app.settings import Settings
from fabric.model.problems import Problem
from fabric.model.routing.routing import DesiredRouting, RouterAction, RouterPart
from fabric.providers.core.routes import DnsBackend, NotEverywhereError
from fabric.router.weights import shift_weight
from tests.support.router_project import HISTORY, deployed_router, document, weights


class _Late:
    """Takes each change, and is not through with it."""

    def __init__(self, inner: DnsBackend) -> None:
        self._inner = inner
        self.kind, self.place = inner.kind, inner.place

    def want(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return self._inner.want(desired)

    def read(self, desired: DesiredRouting) -> tuple[RouterPart, ...]:
        return self._inner.read(desired)

    def apply(self, desired: DesiredRouting, actions: Sequence[RouterAction]) -> None:
        self._inner.apply(desired, actions)
        raise NotEverywhereError(Problem("router/not-in-sync", "not everywhere yet"))

    def close(self) -> None:
        self._inner.close()


def test_a_change_that_is_not_everywhere_yet_holds_and_is_warned_of(tmp_path: Path) -> None:
    made = deployed_router(tmp_path)
    settings = Settings(
        env={}, cwd=made.root, cores=1, stdout_is_terminal=False, stderr_is_terminal=False
    )
    with open_router(RouterRequest("router dns-shift", Where("fabric.yml")), settings) as opened:
        scope = replace(opened, dns=replace(opened.dns, backend=_Late(opened.dns.backend)))
        change = DnsChange("dns-shift")
        done = sync_router(
            scope, change, settings, lambda one: shift_weight(one.weights(), "spare", 70)
        )
    assert "router/not-in-sync" in [one.code for one in done.warnings]
    assert weights(made)["spare"] == 70
    assert document(made, HISTORY)["entries"][0]["id"] == done.outcome.id
    assert made.json("router", "dns-sync").result["weights"]["spare"] == 70
