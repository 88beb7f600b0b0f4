"""The built-in deployer for Vercel: one project per service, one deployment for all its
functions."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fabric.providers.core.contract import DeploymentAddress, FunctionDraft, Unsupported
from fabric.providers.core.deployer import Operations
from fabric.providers.core.errors import convert_refusals
from fabric.providers.core.whole_service import SharedEnvironment, WholeDeployer, refuse_single
from fabric.providers.core.work import CallScope
from fabric.providers.host1.client import Host1Api, classify_refusal
from fabric.providers.host1.functions import Host1Work
from fabric.providers.host1.limits import find_unsupported
from fabric.providers.host1.output import ENVIRONMENT
from fabric.providers.host1.projects import deploy_orders, fetch_identity
from fabric.providers.host1.release import (
    ONE_DOMAIN,
    delete_service,
    find_active_version,
    find_by_mark,
    find_missing,
    find_versions_by_marks,
    release_service,
)


class Host1Projects(WholeDeployer[Host1Work], frozen=True, kw_only=True):
    """The Vercel deployer."""

    operations: Operations[Host1Work] = Operations(
        deploy=deploy_orders,
        release=release_service,
        delete_functions=lambda _, address, functions: refuse_single(
            address, functions, "Vercel", f"{ONE_DOMAIN} deployment"
        ),
        delete_service=lambda work, address, _: delete_service(work, address),
        find_active=find_active_version,
        find_by_mark=find_by_mark,
        find_missing=find_missing,
        fetch_identity=fetch_identity,
        convert_errors=partial(convert_refusals, judged=classify_refusal),
    )
    environment: SharedEnvironment = ENVIRONMENT
    connect: Callable[[], Host1Api]

    def _open_work(self, scope: CallScope) -> Host1Work:
        return Host1Work(api=self.connect(), scope=scope)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(address, functions))

    def find_versions(
        self, address: DeploymentAddress, marks: Mapping[str, str]
    ) -> Mapping[str, str]:
        with self._call(f"`{address.service}`", address) as work:
            return find_versions_by_marks(work, address, marks)
