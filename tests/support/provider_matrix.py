"""The guide page with what each provider supports, written from the catalog and the schema.

python -m tests.support.provider_matrix
"""

from collections.abc import Callable, Iterable, Sequence

from fabric.config.schema.extensions import list_extension_keys
from fabric.model.catalog import FUNCTION_SETTINGS, PROVIDERS, DeployUnit, ProviderFacts
from fabric.model.names import TriggerKind
from tests.support.project import REPO

PAGES = {
    "cloud1-lambda": "aws-lambda.md",
    "cloud2-functions": "google-cloud-functions.md",
    "cloud3-functions": "azure-functions.md",
    "cloud4-fc": "alibaba-function-compute.md",
    "cloud5-functions": "digitalocean-functions.md",
    "cloud6-functions": "openwhisk.md",
    "cluster-orchestrator": "kubernetes.md",
    "edge1-workers": "cloudflare-workers.md",
    "host1": "vercel.md",
    "host2": "netlify.md",
    "host3-machines": "fly-machines.md",
}
_KB = 1024
_SENTENCES = (
    "fabric deploys to these services itself. Each id is a neutral name for a service. A custom",
    "deploy command works for all of them ([deploy.md](deploy.md#deploy-commands)).",
    "\n\nNo paid account was used to develop or test the deployers. The section",
    '"How it was tested" of each page has the details. `scripts/acceptance/<id>.sh` deploys an',
    "example to a real",
    "account, changes it, rolls it back and removes it. The script runs only with",
    "`ACCEPT_COSTS=yes`. The tests run it against their own servers.",
    "\n\nThis page is generated from the code. An empty cell means that the provider does not",
    "support it, or that the limit is unknown.",
)
_HEAD = "# Providers\n\n" + " ".join(_SENTENCES).replace(" \n", "\n") + "\n"


def _yes(*, is_so: bool) -> str:
    return "yes" if is_so else ""


def _size(count: int) -> str:
    if not count:
        return ""
    return f"{count // _KB // _KB:,} MB" if count >= _KB * _KB else f"{count // _KB:,} KB"


def _range(pair: tuple[int, int], unit: str) -> str:
    return f"{pair[0]:,} to {pair[1]:,} {unit}" if pair[1] else ""


def _runtimes(one: ProviderFacts) -> str:
    extra = {name.rstrip("0123456789.") for name in one.platform.command_runtimes}
    return ", ".join(sorted({*one.platform.families, *extra} - {"provided.al"}))


_COLUMNS: Sequence[tuple[str, Callable[[ProviderFacts], str]]] = (
    ("languages", _runtimes),
    ("a deploy replaces", lambda one: "the service" if one.unit is DeployUnit.SERVICE else ""),
    ("images", lambda one: _yes(is_so=bool(one.platform.base_images))),
    ("layers", lambda one: _yes(is_so=one.traits.attaches_layers)),
    ("stacks", lambda one: _yes(is_so=one.traits.deploys_stacks)),
    ("state machines", lambda one: _yes(is_so=one.traits.deploys_machines)),
    ("unreadable secrets", lambda one: _yes(is_so=one.traits.hides_secrets)),
)
_LIMITS: Sequence[tuple[str, Callable[[ProviderFacts], str]]] = (
    ("memory", lambda one: _range(one.limits.memory, "MB")),
    ("timeout", lambda one: _range(one.limits.timeout, "s")),
    ("archive", lambda one: _size(one.limits.archive_bytes)),
    ("environment", lambda one: _size(one.limits.env_bytes)),
    ("name", lambda one: f"{one.limits.name_length} characters" if one.limits.name_length else ""),
)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in one)}|\n" for one in lines)


def _rows(columns: Sequence[tuple[str, Callable[[ProviderFacts], str]]]) -> list[list[str]]:
    return [[f"`{one.id}`", *(build(one) for _, build in columns)] for one in PROVIDERS]


def _list_settings(one: ProviderFacts) -> str:
    if set(one.platform.settings) == set(FUNCTION_SETTINGS):
        return "all"
    return ", ".join(f"`{name}`" for name in one.platform.settings)


def render_matrix() -> str:
    kinds = [one for one in TriggerKind if any(one in each.triggers for each in PROVIDERS)]
    services = [
        [
            f"`{one.id}`",
            f"[{one.title}]({PAGES[one.id]})",
            *(_yes(is_so=kind in one.triggers) for kind in kinds),
        ]
        for one in PROVIDERS
    ]
    keys = [
        [
            f"`{one.id}`",
            ", ".join(f"`{key}`" for key in sorted(list_extension_keys(one.id))),
            _list_settings(one),
        ]
        for one in PROVIDERS
    ]
    parts = (
        _HEAD,
        "## Triggers\n\nA config can have these triggers. The page of a provider lists the "
        "triggers that its deployer rejects.\n\n" + _table(["id", "service", *kinds], services),
        "## Features\n\n" + _table(["id", *(name for name, _ in _COLUMNS)], _rows(_COLUMNS)),
        "## Limits\n\n" + _table(["id", *(name for name, _ in _LIMITS)], _rows(_LIMITS)),
        "## Settings\n\nKeys below `extensions.<id>`, and [settings of functions]"
        "(aws-lambda.md#function-settings) that not all providers have.\n\n"
        + _table(["id", "keys", "function settings"], keys),
    )
    return "\n".join(parts)


if __name__ == "__main__":
    (REPO / "docs" / "guide" / "providers.md").write_text(render_matrix())
