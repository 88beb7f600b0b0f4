"""Which names of a project's `.env` count for clients of providers and for children."""

import pytest

from fabric.model.catalog import PROVIDERS, ProviderFacts
from fabric.model.secrets.secrecy import is_passed_to_children

LOADING = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PATH", "BASH_ENV", "ENV",
    "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "RUBYOPT",
    "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "KUBECONFIG", "AWS_CONFIG_FILE", "HTTPS_PROXY",
    "AWS_SHARED_CREDENTIALS_FILE", "https_proxy", "SSL_CERT_FILE", "HOME", "PIP_INDEX_URL",
    "NPM_CONFIG_REGISTRY", "npm_config_prefix", "OPENSSL_CONF", "DOTNET_STARTUP_HOOKS", "ZDOTDIR",
    "HELM_PLUGINS", "GLIBC_TUNABLES", "PROMPT_COMMAND", "CURL_HOME", "DOCKER_HOST", "BUN_OPTIONS",
)  # fmt: skip


@pytest.mark.parametrize("name", LOADING)
def test_variable_that_affects_process_loading_is_never_passed(name: str) -> None:
    assert not is_passed_to_children(name)
    assert not is_passed_to_children(name, {name})


@pytest.mark.parametrize("facts", PROVIDERS, ids=lambda facts: facts.id)
def test_every_credential_of_every_provider_counts(facts: ProviderFacts) -> None:
    names = [*facts.credentials.names, *facts.account_variables]
    own = [name for name in names if not name.startswith("FABRIC_")]
    assert all(map(is_passed_to_children, own))


@pytest.mark.parametrize(
    "name", ["AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "OBJSTORE2_ACCESS_TOKEN", "PDNS_API_KEY"]
)
def test_variables_of_backends_count(name: str) -> None:
    assert is_passed_to_children(name)


def test_other_variable_is_passed_if_the_config_declares_it() -> None:
    assert not is_passed_to_children("STRIPE_KEY")
    assert is_passed_to_children("STRIPE_KEY", {"STRIPE_KEY"})
