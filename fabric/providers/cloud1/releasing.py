"""Release on AWS: switch traffic and event sources to the deployed versions."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabric.model.task import Pairs
from fabric.providers.cloud1.aliases import CutOver, cut_over, kept_versions, version_of
from fabric.providers.cloud1.beside import released_beside
from fabric.providers.cloud1.buckets import make_bucket
from fabric.providers.cloud1.clients import AT_ONCE
from fabric.providers.cloud1.function_settings import alias_of, own_tags
from fabric.providers.cloud1.gateway import GatewayOrder, api_in, endpoint_in, released_gateway
from fabric.providers.cloud1.gateway_plan import WantedGateway, wanted_gateway
from fabric.providers.cloud1.kept import KeptState, kept_in
from fabric.providers.cloud1.ownership import kept_place
from fabric.providers.cloud1.presence import missing_buckets
from fabric.providers.cloud1.pruning import pruned
from fabric.providers.cloud1.statements import set_statements
from fabric.providers.cloud1.versions import Cloud1Work
from fabric.providers.cloud1.wired_now import NOT_LOOKED, WiredNow, wired_now
from fabric.providers.cloud1.wires import wanted_wires
from fabric.providers.cloud1.wiring import Wiring, changed_functions, wire_up, wired_texts
from fabric.providers.contract import DeploymentAddress, LiveFunction, Released
from fabric.providers.naming import function_endpoint
from fabric.providers.side_by_side import side_by_side


class _Releasing(Struct, frozen=True):
    """The complete plan of a release, computed before the first call."""

    address: DeploymentAddress
    functions: Sequence[LiveFunction]
    kept: KeptState
    gateway: WantedGateway
    wiring: Wiring


def released(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> Released:
    # What a deploy has failed to make has no version, and is met by nobody.
    functions = [one for one in functions if version_of(one)]
    releasing = _planned(work, address, functions)
    kept, wiring = releasing.kept, releasing.wiring
    changed = changed_functions(wiring, kept)
    new = missing_buckets(work, address, {name: wiring.wanted_of(name) for name in changed})
    statements = set_statements(work, address, kept)
    side_by_side(lambda bucket: make_bucket(work, bucket, own_tags(address)), new, AT_ONCE)
    cut = cut_over(work, functions, kept)
    beside = released_beside(work, address, functions, kept)
    now = _looked_at(releasing, cut)
    gateway = _gateway(releasing, cut, now)
    wire_up(replace(wiring, fresh=cut.fresh), changed | cut.fresh, kept, now)
    left = {
        **_of_leaving(releasing),
        **statements,
        **gateway,
        **kept_place(functions),
        **kept_versions(functions),
        **beside,
        **wired_texts(wiring, kept.salt),
        **pruned(work, (address, functions, cut), kept),
    }
    endpoint = endpoint_in(gateway)
    return Released(endpoint, _outputs(address, endpoint, functions), tuple(left.items()))


def _planned(
    work: Cloud1Work,
    address: DeploymentAddress,
    functions: Sequence[LiveFunction],
) -> _Releasing:
    aliases = {one.name: alias_of(one.resource_id) for one in functions}
    wiring = Wiring(work, aliases, wanted_wires(address, functions, work.own))
    gateway = wanted_gateway(address, functions)
    return _Releasing(address, functions, kept_in(address), gateway, wiring)


def _looked_at(releasing: _Releasing, cut: CutOver) -> WiredNow:
    """Read the event sources if the result of the last release is unknown. A new alias has none."""
    if releasing.kept.is_sure:
        return NOT_LOOKED
    wiring = releasing.wiring
    older = {name: alias for name, alias in wiring.aliases.items() if name not in cut.fresh}
    return wired_now(wiring.work, releasing.address, older)


def _gateway(releasing: _Releasing, cut: CutOver, now: WiredNow) -> dict[str, str]:
    wiring, kept = releasing.wiring, releasing.kept
    closed = cut.fresh | now.unknown_to(api_in(kept.texts))
    order = GatewayOrder(wiring.work, releasing.address, releasing.gateway)
    return released_gateway(order, closed, kept)


def _of_leaving(releasing: _Releasing) -> dict[str, str]:
    """Return the stored event sources of functions that the config no longer contains; they are
    deleted after this."""
    record = releasing.address.previous
    staying = releasing.wiring.aliases
    names = [one.name for one in record.functions if one.name not in staying] if record else []
    return releasing.kept.of_functions(names)


def _outputs(address: DeploymentAddress, endpoint: str, functions: Sequence[LiveFunction]) -> Pairs:
    """Build the outputs for other services, equal for all versions."""
    outputs = {"url": endpoint, "region": address.region}
    for one in functions:
        below = function_endpoint(endpoint, one.triggers)
        if below:
            outputs[f"url_{one.name}"] = below
        outputs[f"arn_{one.name}"] = alias_of(one.resource_id)
    return tuple((name, text) for name, text in outputs.items() if text)
