"""ARNs of the functions and workflows of a service, computed from their names."""

from collections.abc import Callable

from fabric.model.late_values import OWN_ARNS, fill_placeholders, find_late_names
from fabric.providers.core.contract import DeploymentAddress
from fabric.providers.core.triggers import format_resource_name, shorten_name

# The service of an ARN, the form of its last part, and the maximum length of a name.
_FORMS = {
    "function": ("lambda", "function:{}:live", 64),
    "workflow": ("states", "stateMachine:{}:live", 80),
}
_STAND_IN = ("us-east-1", "000000000000")


def fill_own_arns(
    text: str, address: DeploymentAddress, format_arn: Callable[[str, str], str]
) -> str:
    """Fill the placeholders of own ARNs. `format_arn` returns the ARN of a service's resource in
    the account and region of the deployment."""
    found: dict[str, str] = {}
    for late in find_late_names(text):
        if late.startswith(OWN_ARNS):
            kind, _, name = late.partition(":")
            service, form, length = _FORMS[kind]
            own = format_resource_name(address, name.removesuffix(".arn"))
            found[late] = format_arn(service, form.format(shorten_name(own, length)))
    return fill_placeholders(text, found)


def fill_stand_in_arns(text: str, address: DeploymentAddress) -> str:
    """Fill the placeholders where no account is known, as in simulated deploys and local calls."""
    region, account = address.region or _STAND_IN[0], _STAND_IN[1]
    return fill_own_arns(
        text, address, lambda service, rest: f"arn:aws:{service}:{region}:{account}:{rest}"
    )
