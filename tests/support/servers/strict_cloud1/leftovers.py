"""What an account still has: for tests that say that nothing is left over."""

from collections.abc import Iterator

from moto.events.models import events_backends
from moto.iam.models import iam_backends
from moto.s3.models import s3_backends
from moto.scheduler.models import scheduler_backends

from tests.support.servers.strict_cloud1.accounts import Account, Region
from tests.support.servers.strict_cloud1.scaling_checks import scaling_left

Left = dict[str, list[str]]


def left(account: Account) -> Left:
    """Kinds that are not empty. Roles, queues, buckets, buses and logs are not a deployer's."""
    found: Left = {}
    for kind, name in _all(account):
        found.setdefault(kind, []).append(name)
    return {kind: sorted(names) for kind, names in sorted(found.items())}


def _all(account: Account) -> Iterator[tuple[str, str]]:
    for region in account.regions.values():
        yield from _own(region)
        yield from _rules(region)
        yield from _schedules(region)
        yield from (("scaling", one) for one in scaling_left(region))
    yield from _policies(account)
    yield from _notifications(account)


def _own(region: Region) -> Iterator[tuple[str, str]]:
    yield from (("functions", name) for name in region.functions)
    yield from (("layers", arn) for arn in region.layers if region.has_layer(arn))
    yield from (("stacks", one.name) for one in region.stacks if one.status != "DELETE_COMPLETE")
    yield from (("machines", one.name) for one in region.machines.values() if one.leaving is None)
    for ident, one in region.gateways.items():
        yield "apis", f"{one.shown['Name']} {ident}"
    for ident, rest in region.rest_apis.items():
        yield "rest apis", f"{rest.shown['name']} {ident}"
        yield from (("deployments", f"{ident}/{one}") for one in rest.deployments)
    yield from (("api keys", one["name"]) for one in region.rest_plans.keys.values())
    yield from (("usage plans", one["name"]) for one in region.rest_plans.plans.values())
    for name, domain in region.domains.items():
        yield "domains", name
        for row in domain.mappings.values():
            yield "api mappings", f"{name}/{row['ApiMappingKey']}"
    for one_mapping in region.mappings.values():
        if not one_mapping.is_leaving:
            shown = one_mapping.shown
            source = shown["EventSourceArn"] or str(shown["SelfManagedEventSource"])
            yield "mappings", f"{source} {shown['FunctionArn']}"


def _rules(region: Region) -> Iterator[tuple[str, str]]:
    for bus in events_backends[region.account.number][region.name].event_buses.values():
        yield from (("rules", f"{bus.name}/{name}") for name in bus.rules)


def _schedules(region: Region) -> Iterator[tuple[str, str]]:
    groups = scheduler_backends[region.account.number][region.name].schedule_groups
    for group in groups.values():
        yield from (("schedules", f"{group.name}/{name}") for name in group.schedules)


def _policies(account: Account) -> Iterator[tuple[str, str]]:
    for role in iam_backends[account.number]["aws"].roles.values():
        yield from (("role policies", f"{role.name}/{name}") for name in role.policies)


def _notifications(account: Account) -> Iterator[tuple[str, str]]:
    for bucket in s3_backends[account.number]["aws"].buckets.values():
        asked = bucket.notification_configuration
        for one in asked.cloud_function if asked else ():
            yield "notifications", f"{bucket.name}/{one.id}"
