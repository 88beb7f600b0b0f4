"""A provider for fabric: the functions of Acme."""

import base64
import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from acme_cloud import AcmeCloud, RejectedError
from msgspec import Struct

from fabric.model.catalog import Credentials, DeployUnit, ProviderAccess, ProviderFacts
from fabric.model.names import TriggerKind
from fabric.model.problems import FabricError, Problem
from fabric.model.task import Pairs
from fabric.providers.core.contract import (
    NO_CONTEXT,
    CallContext,
    Deployed,
    DeploymentAddress,
    FunctionDraft,
    FunctionOrder,
    LiveFunction,
    Released,
    Unsupported,
)
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.redaction import Redaction

FACTS = ProviderFacts(
    id="acme",
    title="Acme Functions",
    prefix="ACME",  # FABRIC_ACME_REAL_DEPLOY, FABRIC_ACME_DEPLOY_CMD
    triggers=frozenset({TriggerKind.HTTP, TriggerKind.CRON}),
    unit=DeployUnit.FUNCTION,
    credentials=Credentials((("ACME_FOLDER",),)),
    access=ProviderAccess(account=("ACME_FOLDER",)),
)


class AcmeFunctions(Struct, frozen=True):
    """The deployer. A version is stored by its mark, and `live` has the marks with traffic."""

    cloud: AcmeCloud
    hide: Redaction
    unit: DeployUnit = DeployUnit.FUNCTION

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        message = "Acme Functions has no layers"
        return [
            Unsupported(one.name, Problem("config/unfit", message), keys=("layers",))
            for one in functions
            if one.layers
        ]

    def deploy(
        self,
        address: DeploymentAddress,
        functions: Sequence[FunctionOrder],
        watch: CallContext = NO_CONTEXT,
    ) -> Deployed:
        with self._translate_errors():
            return Deployed(tuple(self._deploy_version(address, one) for one in functions))

    def release(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        given: Pairs,
        watch: CallContext = NO_CONTEXT,
    ) -> Released:
        live = {one.name: {"mark": one.resource_id, "on": one.triggers} for one in functions}
        text, endpoint = (
            json.dumps(live, sort_keys=True),
            f"https://{service_of(address)}.acme.test",
        )
        with self._translate_errors():
            if text != self.cloud.read(f"{service_of(address)}/live"):
                self.cloud.write(f"{service_of(address)}/live", text)
        return Released(endpoint, (("url", endpoint),))

    def destroy(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._translate_errors():
            for one in functions:
                self.cloud.delete(f"{service_of(address)}/versions/{one.name}")

    def dissolve(
        self,
        address: DeploymentAddress,
        functions: Sequence[LiveFunction],
        watch: CallContext = NO_CONTEXT,
    ) -> None:
        with self._translate_errors():
            self.cloud.delete(service_of(address))

    def find(
        self, address: DeploymentAddress, function: str, mark: str = ""
    ) -> LiveFunction | None:
        live = json.loads(self.cloud.read(f"{service_of(address)}/live") or "{}")
        mark = mark or live.get(function, {}).get("mark", "")
        text = self.cloud.read(version_key(address, function, mark)) if mark else ""
        return build_live(address, function, mark, json.loads(text)["sha256"]) if text else None

    def _deploy_version(self, address: DeploymentAddress, order: FunctionOrder) -> LiveFunction:
        key = version_key(address, order.name, order.mark)
        if not self.cloud.read(key):  # a repeated order changes nothing
            content = order.artifact.path.read_bytes()
            version = {
                "sha256": order.artifact.sha256,
                "handler": order.artifact.handler,
                "env": dict(order.env.reveal()),
                "archive": base64.b64encode(content).decode(),
            }
            self.cloud.write(key, json.dumps(version))
        return build_live(address, order.name, order.mark, order.artifact.sha256, order.triggers)

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """A message of the cloud can quote what it received: hide secrets in it."""
        try:
            yield
        except RejectedError as error:
            message = f"Acme Functions rejected a call: {self.hide.quote(str(error))}"
            raise FabricError(Problem("deploy/refused", message, hint="deploy again")) from error


def service_of(address: DeploymentAddress) -> str:
    return f"{address.service}-{address.stage}"


def version_key(address: DeploymentAddress, function: str, mark: str) -> str:
    return f"{service_of(address)}/versions/{function}/{mark}"


def build_live(
    address: DeploymentAddress, name: str, mark: str, sha256: str, triggers: tuple[str, ...] = ()
) -> LiveFunction:
    return LiveFunction(
        name=name,
        resource_name=f"{service_of(address)}-{name}",
        resource_id=mark,
        artifact_sha256=sha256,
        triggers=triggers,
    )


def open_acme_deployer(context: ProviderContext) -> AcmeFunctions:
    """Open the deployer without an API call."""
    return AcmeFunctions(
        AcmeCloud(Path(context.env.get("ACME_FOLDER", ""))), context.build_redaction()
    )


PROVIDER = Provider(facts=FACTS, open_deployer=open_acme_deployer)
