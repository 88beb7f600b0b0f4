"""ARNs of the functions and workflows of a service, computed from their names."""

from collections.abc import Callable, Iterable

from fabric.model.late_values import OWN_ADDRESSES, fill_placeholders, find_late_names
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import choose_function_name, format_resource_name, shorten_name

# The service of an ARN, the form of its last part, and the maximum length of a name.
_FORMS = {
    "function": ("lambda", "function:{}:live", 64),
    "workflow": ("states", "stateMachine:{}:live", 80),
}
_STAND_IN = ("us-east-1", "000000000000")


def locate_own(
    names: Iterable[str], address: DeploymentAddress, format_arn: Callable[[str, str], str]
) -> dict[str, str]:
    """Map names such as `function:NAME.arn` to names at the provider, or to ARNs. `format_arn`
    returns the ARN of a service's resource in the account and region of the deployment."""
    found: dict[str, str] = {}
    for late in names:
        kind, _, rest = late.partition(":")
        name, _, key = rest.rpartition(".")
        service, form, length = _FORMS[kind]
        build_name = choose_function_name if kind == "function" else format_resource_name
        own = shorten_name(build_name(address, name), length)
        found[late] = own if key == "name" else format_arn(service, form.format(own))
    return found


def fill_own_arns(
    text: str, address: DeploymentAddress, format_arn: Callable[[str, str], str]
) -> str:
    """Fill the placeholders of own addresses."""
    names = (one for one in find_late_names(text) if one.startswith(OWN_ADDRESSES))
    return fill_placeholders(text, locate_own(names, address, format_arn))


def fill_stand_in_arns(text: str, address: DeploymentAddress) -> str:
    """Fill the placeholders where no account is known, as in local calls."""
    names = tuple(one for one in find_late_names(text) if one.startswith(OWN_ADDRESSES))
    return fill_placeholders(text, locate_stand_ins(names, address))


def locate_stand_ins(names: Iterable[str], address: DeploymentAddress) -> dict[str, str]:
    """Map names to ARNs in no real account, as in simulated deploys."""
    region, account = address.region or _STAND_IN[0], _STAND_IN[1]
    return locate_own(
        names, address, lambda service, rest: f"arn:aws:{service}:{region}:{account}:{rest}"
    )
