"""Opens AWS from the environment: account, role and endpoint."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabric.model.catalog import DeployUnit
from fabric.model.problems import Problem
from fabric.model.records.record import Deployment, Diversion
from fabric.providers.cloud1.adoption.adoption import adopt_function, let_go_functions
from fabric.providers.cloud1.adoption.adoption_survey import survey_functions
from fabric.providers.cloud1.core.client import (
    CALLING,
    GONE,
    Cloud1Clients,
    convert_client_errors,
    ignore_codes,
)
from fabric.providers.cloud1.core.ownership import (
    find_own_addresses,
    find_region_problem,
    locate_deployment,
    refuse_other_account,
)
from fabric.providers.cloud1.core.versions import (
    ALIAS,
    Cloud1Work,
    OwnSettings,
    find_active_version,
)
from fabric.providers.cloud1.events.source_drift import (
    find_changed_sources,
    find_missing_mappings,
)
from fabric.providers.cloud1.functions.functions import deploy_function, find_function
from fabric.providers.cloud1.functions.layers import delete_layers, publish_layer
from fabric.providers.cloud1.functions.roles import find_kept_path
from fabric.providers.cloud1.http.http_history import compare_settings, find_restore_problem
from fabric.providers.cloud1.http.routes import (
    divert_api_routes,
    locate_diversion,
    read_diversion,
    restore_api_routes,
)
from fabric.providers.cloud1.http.service_apis import find_missing_apis
from fabric.providers.cloud1.limits import find_unsupported
from fabric.providers.cloud1.observing.observe import Cloud1Observer
from fabric.providers.cloud1.release import delete_functions, delete_service, release_service
from fabric.providers.cloud1.stacks.stacks import delete_stack, deploy_stack, holds_data
from fabric.providers.cloud1.workflows.executions import start_machine
from fabric.providers.cloud1.workflows.machine_limits import find_workflow_problems
from fabric.providers.cloud1.workflows.machine_release import delete_machine
from fabric.providers.cloud1.workflows.machines import deploy_machine
from fabric.providers.core.contract import (
    NO_CONTEXT,
    AdoptableFunction,
    AdoptedFunction,
    AdoptionPart,
    AdoptionSurvey,
    CallContext,
    DeployedStack,
    DeployedWorkflow,
    DeploymentAddress,
    FunctionAnswer,
    FunctionDraft,
    LayerOrder,
    LiveFunction,
    LiveFunctions,
    StackOrder,
    Unsupported,
    WorkflowAnswer,
    WorkflowDraft,
    WorkflowOrder,
)
from fabric.providers.core.deployer import Operations, VersionedDeployer, deploy_one_by_one
from fabric.providers.core.provider import Provider, ProviderContext
from fabric.providers.core.work import CallScope
from fabric.system.cloud1_account import resolve_cloud1_account

if TYPE_CHECKING:
    from fabric.providers.cloud1.core.registries import EcrRegistries

# No function is called so: who may look is told that it is not there.
_NOBODYS = "fabric-doctor-looks"
# So much of a log comes with an answer, at most.
_TAIL = 4096
# The platform's own limit is 6 MB, or 20 MB streamed.
_MOST_BYTES = 64 << 20
_ENDPOINTS = ("CLOUD1_API_BASE_URL", "AWS_ENDPOINT_URL")
_ROLE = "FABRIC_CLOUD1_LAMBDA_ROLE_ARN"


def _find_missing(work: Cloud1Work, address: DeploymentAddress) -> Iterator[str]:
    yield from find_missing_apis(work, address)
    yield from find_missing_mappings(work, address)


def _fetch_identity(work: Cloud1Work) -> str:
    who = work.clients.of("sts").get_caller_identity()["Arn"]
    with ignore_codes(GONE):
        work.functions.get_function(FunctionName=_NOBODYS)
    return str(who)


def _invoke_function(work: Cloud1Work, function: LiveFunction, event: bytes) -> FunctionAnswer:
    began = time.perf_counter()
    answer = work.clients.of("lambda", CALLING).invoke(
        FunctionName=function.resource_name, Qualifier=ALIAS, LogType="Tail", Payload=event
    )
    response = answer["Payload"].read(_MOST_BYTES).decode(errors="replace")
    ms = round((time.perf_counter() - began) * 1000)
    logs = _decode_log_tail(base64.b64decode(answer.get("LogResult", "")))
    failure = _read_error(response) if answer.get("FunctionError") else ""
    return FunctionAnswer(response, logs, ms, failure)


def _decode_log_tail(tail: bytes) -> str:
    """Decode the log tail. The first line of a truncated tail is partial and is dropped."""
    _, _, rest = tail.partition(b"\n")
    return (rest if rest and len(tail) >= _TAIL else tail).decode(errors="replace")


def _read_error(response: str) -> str:
    """Return the message of the thrown error, if there is one."""
    try:
        said = json.loads(response)
    except ValueError:
        return response
    if not isinstance(said, dict):
        return response
    kind, message = said.get("errorType", ""), said.get("errorMessage", "")
    return ": ".join(str(one) for one in (kind, message) if one) or response


class Cloud1Lambda(VersionedDeployer[Cloud1Work], frozen=True, kw_only=True):
    """The AWS Lambda deployer. `connect` returns the clients of a region; `own` are the settings of
    this provider's config section."""

    unit: DeployUnit = DeployUnit.FUNCTION
    operations: Operations[Cloud1Work] = Operations(
        deploy=deploy_one_by_one(deploy_function),
        release=release_service,
        delete_functions=delete_functions,
        delete_service=delete_service,
        find_active=find_active_version,
        find_by_mark=find_function,
        find_missing=_find_missing,
        find_changed_sources=find_changed_sources,
        fetch_identity=_fetch_identity,
        convert_errors=convert_client_errors,
    )
    connect: Callable[[str], Cloud1Clients]
    open_registries: Callable[[str], "EcrRegistries"]
    own: OwnSettings

    def _open_work(self, scope: CallScope) -> Cloud1Work:
        region = scope.address.region
        return Cloud1Work(
            self.connect(region), self.own, scope, lambda: self.open_registries(region)
        )

    def _locate(self, address: DeploymentAddress) -> DeploymentAddress:
        return locate_deployment(address)

    def prepare(self, address: DeploymentAddress) -> None:
        _ = self.connect(address.region).of("lambda")

    def find_region_problem(self, address: DeploymentAddress) -> Problem | None:
        return find_region_problem(address)

    def unfit(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_unsupported(self.own, address, functions))

    def find_restore_problem(
        self, address: DeploymentAddress, target: Deployment
    ) -> Problem | None:
        return find_restore_problem(address, target)

    def fetch_code_hash(self, address: DeploymentAddress, function: str) -> str:
        found = self.find(address, function)
        if found is None or not found.image:
            return found.artifact_sha256 if found else ""
        known = address.previous.function(function) if address.previous else None
        if known and known.has_code(found.image):
            return known.artifact_sha256
        return found.image.rpartition(":")[2]

    def find_kept_setting(self, address: DeploymentAddress) -> Problem | None:
        return find_kept_path(address, self.own.iam.path)

    def compare_api(self, address: DeploymentAddress) -> tuple[str, str] | None:
        return compare_settings(address, self.own.http, self.hide)

    def locate_own(self, address: DeploymentAddress, names: Sequence[str]) -> Mapping[str, str]:
        with self._call(f"`{address.service}`", address) as work:
            return find_own_addresses(work, address, names)

    def survey(
        self, address: DeploymentAddress, functions: Sequence[FunctionDraft], stack: str
    ) -> AdoptionSurvey:
        there = locate_deployment(address)
        with self._call(f"`{address.service}`", there) as work:
            return survey_functions(work, there, functions, stack)

    def adopt(
        self,
        address: DeploymentAddress,
        function: AdoptableFunction,
        watch: CallContext = NO_CONTEXT,
    ) -> AdoptedFunction:
        there = locate_deployment(address)
        with self._call(f"function `{function.live.name}`", there, watch) as work:
            return adopt_function(work, there, function)

    def let_go(
        self, address: DeploymentAddress, functions: LiveFunctions, watch: CallContext = NO_CONTEXT
    ) -> Sequence[AdoptionPart]:
        there = locate_deployment(address)
        with self._call(f"`{address.service}`", there, watch) as work:
            refuse_other_account(work, there)
            return let_go_functions(work, there, functions)

    def publish_layer(
        self, address: DeploymentAddress, order: LayerOrder, watch: CallContext = NO_CONTEXT
    ) -> str:
        with self._call(f"layer `{order.name}`", address, watch) as work:
            return publish_layer(work, address, order)

    def delete_layers(
        self, address: DeploymentAddress, layers: Sequence[str], watch: CallContext = NO_CONTEXT
    ) -> Sequence[str]:
        there = locate_deployment(address)
        with self._call(f"`{address.service}`", there, watch) as work:
            return delete_layers(work, there, layers)

    def deploy_stack(
        self, address: DeploymentAddress, order: StackOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedStack:
        with self._call(f"stack `{order.name}`", address, watch) as work:
            return deploy_stack(work, address, order)

    def holds_data(self, resource_type: str) -> bool:
        return holds_data(resource_type)

    def delete_stack(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        with self._call(f"stack `{name}`", locate_deployment(address), watch) as work:
            delete_stack(work, name)

    def find_unfit_workflows(
        self, address: DeploymentAddress, workflows: Sequence[WorkflowDraft]
    ) -> Sequence[Unsupported]:
        return tuple(find_workflow_problems(address, workflows))

    def deploy_workflow(
        self, address: DeploymentAddress, order: WorkflowOrder, watch: CallContext = NO_CONTEXT
    ) -> DeployedWorkflow:
        with self._call(f"workflow `{order.name}`", address, watch) as work:
            return deploy_machine(work, address, order)

    def delete_workflow(
        self, address: DeploymentAddress, name: str, watch: CallContext = NO_CONTEXT
    ) -> None:
        there = locate_deployment(address)
        with self._call(f"workflow `{name}`", there, watch) as work:
            delete_machine(work, there, name)

    def start_workflow(
        self, address: DeploymentAddress, name: str, event: bytes, *, wait: bool
    ) -> WorkflowAnswer:
        there = locate_deployment(address)
        with self._call(f"workflow `{name}`", there) as work:
            return start_machine(work, there, name, event, wait=wait)

    def call(
        self, address: DeploymentAddress, function: LiveFunction, event: bytes
    ) -> FunctionAnswer:
        with self._call(f"function `{function.name}`", locate_deployment(address)) as work:
            answer = _invoke_function(work, function, event)
        hide = self.hide.over
        return replace(answer, logs=hide(answer.logs), failure=hide(answer.failure))

    def diversion(self, address: DeploymentAddress, url: str, mark: str) -> Diversion | None:
        with self._call(f"`{address.service}`", locate_deployment(address)) as work:
            return read_diversion(work, address, url, mark)

    def divert(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        with self._call(f"`{address.service}`", locate_deployment(address)) as work:
            return divert_api_routes(work, diversion)

    def turn_back(self, address: DeploymentAddress, diversion: Diversion) -> Sequence[str]:
        there = locate_diversion(address, diversion)
        with self._call(f"`{address.service}`", there) as work:
            return restore_api_routes(work, diversion)


def open_cloud1_deployer(context: ProviderContext) -> Cloud1Lambda:
    """Open the deployer. A role in the config takes precedence over the environment."""
    said = context.read_settings(OwnSettings)
    own = replace(said, role_arn=said.role_arn or context.env.get(_ROLE, ""))
    connect = build_client_factory(context)

    def open_registries(region: str) -> "EcrRegistries":
        from fabric.providers.cloud1.core.registries import EcrRegistries  # only for images

        clients = connect(region)
        return context.connections.find_or_make(
            ("ecr", clients), lambda: EcrRegistries(clients, context.env)
        )

    return Cloud1Lambda(
        connect=connect,
        open_registries=open_registries,
        own=own,
        hide=context.build_redaction(),
    )


def open_cloud1_observer(context: ProviderContext) -> Cloud1Observer:
    return Cloud1Observer(build_client_factory(context), context.build_redaction())


def build_client_factory(context: ProviderContext) -> Callable[[str], Cloud1Clients]:
    account = resolve_cloud1_account(context.env, _ENDPOINTS)

    def connect(region: str) -> Cloud1Clients:
        asked = replace(account, region=region or account.region)
        return context.connections.find_or_make(("cloud1", asked), lambda: Cloud1Clients(asked))

    return connect


PROVIDER = Provider(open_deployer=open_cloud1_deployer, open_observer=open_cloud1_observer)
