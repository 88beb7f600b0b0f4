"""Which variables of a function are secrets, as an input of its deploy."""

from fabric.config.values import Config, Function
from fabric.model.catalog import find_provider_facts
from fabric.model.task import Pairs


def list_deploy_secrets(config: Config, function: Function) -> Pairs:
    """List the secrets, only for providers that send them differently."""
    facts = find_provider_facts(config.provider.id)
    names = sorted({name for name, _ in function.env} & config.secret_names)
    is_told = names and facts is not None and facts.hides_secrets
    return (("secrets", ", ".join(names)),) if is_told else ()
