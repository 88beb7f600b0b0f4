"""The variables of a project's `.env` that provider clients and child processes receive.

A `.env` comes with a checkout. Variables that control code loading, such as LD_PRELOAD or
NODE_OPTIONS, would execute code of the checkout.
"""

import re
from collections.abc import Collection

from fabric.model.backends import BACK_ENDS
from fabric.model.catalog import PROVIDERS

_PREFIXES = tuple(
    dict.fromkeys(
        (
            *(f"{facts.prefix}_" for facts in PROVIDERS),
            *(prefix for facts in BACK_ENDS for prefix in facts.variables),
            "PDNS_",
        )
    )
)
# Not those that name files: a profile of AWS can name a program to run.
_AWS = re.compile(
    "AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|REGION|DEFAULT_REGION|PROFILE|ENDPOINT_URL.*)"
)
_LOADING = re.compile(
    "PATH|HOME|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|PS4|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NODE_.*|NPM_.*"
    "|PYTHON.*|PIP_.*|UV_.*|PERL.*|RUBY.*|GEM_.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|CLASSPATH|GIT_.*"
    "|XDG_.*|TMPDIR|EDITOR|PAGER|KUBECONFIG|AWS_CONFIG_FILE|AWS_SHARED_CREDENTIALS_FILE|SSL_.*"
    "|OPENSSL_.*|DOTNET_.*|BUN_.*|DENO_.*|HELM_.*|KUBE_.*|GLIBC_.*|MALLOC_.*|BASHOPTS|PROMPT_COMMAND"
    "|ZDOTDIR|FPATH|PSMODULEPATH|CURL_HOME|WGETRC|CLOUDSDK_.*|DOCKER_(HOST|CONFIG|CONTEXT)|TERMINFO"
    "|.*_PROXY|.*_PRELOAD|.*_PLUGINS?|.*_STARTUP_HOOKS",
    re.IGNORECASE,
)


def is_passed_to_children(name: str, declared: Collection[str] = ()) -> bool:
    """Return whether a `.env` variable is used beyond bindings: read by a provider or backend, or
    declared by the config."""
    if name.startswith(_PREFIXES) or _AWS.fullmatch(name):
        return True
    return name in declared and not _LOADING.fullmatch(name)
