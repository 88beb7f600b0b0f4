"""The whole of it: accounts, the children that run code, and who may call what."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.support.servers.strict_cloud1.accounts import Accounts, Region
from tests.support.servers.strict_cloud1.alias_calls import ALIAS_CALLS
from tests.support.servers.strict_cloud1.alias_setting_calls import ALIAS_SETTING_CALLS
from tests.support.servers.strict_cloud1.authorizer_calls import AUTHORIZER_CALLS
from tests.support.servers.strict_cloud1.children import Children
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.domain_calls import DOMAIN_CALLS
from tests.support.servers.strict_cloud1.function_calls import FUNCTION_CALLS
from tests.support.servers.strict_cloud1.functions import Reference, Version
from tests.support.servers.strict_cloud1.gateway_access import Asker
from tests.support.servers.strict_cloud1.gateway_calls import GATEWAY_CALLS
from tests.support.servers.strict_cloud1.image_calls import IMAGE_CALLS
from tests.support.servers.strict_cloud1.invocations import (
    Called,
    arn_of,
    chosen,
    invocation,
    parsed,
    run,
)
from tests.support.servers.strict_cloud1.layer_calls import LAYER_CALLS
from tests.support.servers.strict_cloud1.machine_calls import MACHINE_CALLS
from tests.support.servers.strict_cloud1.machine_runs import begin, finish, sync_answer
from tests.support.servers.strict_cloud1.machines import now, refusal
from tests.support.servers.strict_cloud1.mapping_calls import MAPPING_CALLS
from tests.support.servers.strict_cloud1.permission_calls import PERMISSION_CALLS, allows
from tests.support.servers.strict_cloud1.refusals import (
    RefusalError,
    not_found,
    not_written,
)
from tests.support.servers.strict_cloud1.rest_calls import REST_CALLS
from tests.support.servers.strict_cloud1.rest_usage_calls import REST_USAGE_CALLS
from tests.support.servers.strict_cloud1.setting_calls import SETTING_CALLS
from tests.support.servers.strict_cloud1.stack_calls import STACK_CALLS

_OPERATIONS = {
    "lambda": FUNCTION_CALLS
    | ALIAS_CALLS
    | PERMISSION_CALLS
    | SETTING_CALLS
    | LAYER_CALLS
    | MAPPING_CALLS
    | ALIAS_SETTING_CALLS,
    "apigatewayv2": GATEWAY_CALLS | AUTHORIZER_CALLS | DOMAIN_CALLS,
    "apigateway": REST_CALLS | REST_USAGE_CALLS,
    "ecr": IMAGE_CALLS,
    "cloudformation": STACK_CALLS,
    "stepfunctions": MACHINE_CALLS,
}
OWN_SERVICES = frozenset(_OPERATIONS)


@dataclass
class Cloud:
    """`turn` is held for a call of a service, never while code of a function runs."""

    server: str
    children: Children
    accounts: Accounts = field(default_factory=Accounts)
    turn: threading.RLock = field(default_factory=threading.RLock)
    later: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(16))

    @property
    def asker(self) -> Asker:
        """For requests to an HTTP API."""
        return Asker(self.call_for, self.accounts.issuers)

    def perform(self, service: str, operation: str, region: Region, asked: Fields) -> Fields:
        _must_be_near(region, asked.get("FunctionName", ""))
        if (service, operation) == ("lambda", "Invoke"):
            return self._invoke(region, asked)
        if service == "stepfunctions" and operation in ("StartExecution", "StartSyncExecution"):
            return self.execute(region, asked, is_sync=operation == "StartSyncExecution")
        found = _OPERATIONS[service].get(operation)
        if found is None:
            raise not_written(f"{service}.{operation}")
        with self.turn:
            answer = found(region, asked)
        if operation == "DeleteFunction":
            reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
            self.children.forget(region.function_arn(*reference))
        return answer

    def _invoke(self, region: Region, asked: Fields) -> Fields:
        unheeded = {"ClientContext", "DurableExecutionName", "TenantId"} & set(asked)
        if unheeded:
            raise not_written(f"{sorted(unheeded)} of Invoke")
        reference = Reference.of(asked["FunctionName"], asked.get("Qualifier"))
        version, arn = self._chosen(region, reference)
        event = parsed(asked.get("Payload", b""))
        match asked.get("InvocationType", "RequestResponse"):
            case "DryRun":
                return {"StatusCode": 204}
            case "Event":
                self.later.submit(run, self.children, region, version, event, arn)
                return {"StatusCode": 202}
        called = run(self.children, region, version, event, arn)
        return invocation(called, with_log=asked.get("LogType") == "Tail")

    def execute(self, region: Region, asked: Fields, *, is_sync: bool = False) -> Fields:
        """Run a state machine: at once, or in the background."""
        with self.turn:
            machine, version, execution = begin(region, asked)
        if is_sync and machine.kind != "EXPRESS":
            raise refusal("StateMachineTypeNotSupported", "This operation is for EXPRESS only")
        if not is_sync:
            self.later.submit(finish, region, version, execution, self.call_by_role)
            return {"executionArn": execution.arn, "startDate": now()}
        finish(region, version, execution, self.call_by_role)
        return sync_answer(machine, execution)

    def _chosen(self, region: Region, reference: Reference) -> tuple[Version, str]:
        with self.turn:
            function = region.function(reference)
            version = chosen(function, reference.qualifier)
            return version, arn_of(function, reference)

    def call_for(
        self, region: Region, arn: str, service: str, source: str, event: object
    ) -> Called:
        """As a service calls: only where the qualifier's own policy lets it."""
        reference = Reference.of(arn)
        with self.turn:
            if not self.is_allowed(region, arn, service, source):
                raise RefusalError(403, "AccessDeniedException", f"{service} may not call {arn}")
            version, own_arn = self._chosen(region, reference)
        return run(self.children, region, version, event, own_arn)

    def is_allowed(self, region: Region, arn: str, service: str, source: str) -> bool:
        """Not where there is no such function, or it is of another region or account."""
        reference = Reference.of(arn)
        if arn != region.function_arn(*reference) or reference.name not in region.functions:
            return False
        function = region.functions[reference.name]
        with contextlib.suppress(RefusalError):
            function.version(reference.qualifier)
            return allows(function, reference.qualifier, service, source)
        return False

    def send(self, region: Region, arn: str, service: str, source: str, event: object) -> None:
        """Without waiting; what is not allowed now is not delivered, and nobody is told."""
        with self.turn:
            if self.is_allowed(region, arn, service, source):
                self.later.submit(self.call_for, region, arn, service, source, event)

    def region_of(self, number: str, arn: str) -> Region | None:
        """Where an account has what an ARN names."""
        account = self.accounts.numbered(number)
        return account.region(arn.split(":")[3], self.server) if account else None

    def call_by_role(self, region: Region, arn: str, event: object) -> Called:
        """As a service calls on behalf of a role: no policy of the function is asked."""
        version, own_arn = self._chosen(region, Reference.of(arn))
        return run(self.children, region, version, event, own_arn)

    def close(self) -> None:
        self.later.shutdown(wait=False, cancel_futures=True)
        self.children.close()


def _must_be_near(region: Region, function: str) -> None:
    """A whole ARN is of this region and this account."""
    if not function.startswith("arn:"):
        return
    place, number = function.split(":")[3:5]
    if place != region.name:
        raise not_found(
            f"Functions from '{place}' are not reachable in this region ('{region.name}')"
        )
    if number != region.account.number:
        raise RefusalError(403, "AccessDeniedException", f"not authorized on resource: {function}")
