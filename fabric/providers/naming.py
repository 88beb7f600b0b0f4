"""What a service's functions are called at a provider, where nobody else names them."""

import json

from fabric.providers.contract import DeploymentAddress, FunctionOrder


def resource_name(address: DeploymentAddress, name: str) -> str:
    return f"{address.service}-{address.stage}-{name}"


def function_endpoint(endpoint: str, order: FunctionOrder) -> str:
    """The service's address with the path of the first http trigger; empty without one."""
    triggers = (json.loads(text) for text in order.triggers)
    path = next((one.get("path", "/") for one in triggers if one.get("type") == "http"), None)
    if path is None or not endpoint:
        return ""
    return endpoint.rstrip("/") + (path if path.startswith("/") else f"/{path}")
