"""A GitHub Actions workflow: plan pull requests, deploy the main branch.

AWS, Google Cloud and Azure use short-lived tokens (OpenID Connect). Other providers use tokens
stored as repository secrets.
"""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from fabric.manifest import VERSION
from fabric.model.backends import BackendKind, back_end_facts
from fabric.model.catalog import ProviderFacts, require_provider_facts
from fabric.model.distribution import Extra, find_extra, format_pinned_requirement
from fabric.model.secrets.secrecy import is_secret_name

WORKFLOW_FILE = ".github/workflows/fabric.yml"
_AWS, _GOOGLE, _AZURE, _CLUSTER = "cloud1-lambda", "cloud2-functions", "cloud3-functions", "CLUSTER"
_CACHE_KEY = "FABRIC_CACHE_KEY"
_TITLE = "Plans pull requests and deploys the main branch."
_PREVIEW_TITLE = "Deploys a preview of each pull request, and the main branch."
_TEXT = """\
# %(title)s
%(needs)s
# Add the variables that fabric.yml reads with ${env:NAME} to `env` of the fabric steps.
name: fabric
on:
%(events)s  push:
    branches: [main]

permissions:
  contents: read
%(permissions)s
# Runs of one branch, or of one pull request, run one after another and are not cancelled.
concurrency:
  group: fabric-${{ github.event.number || github.ref }}
  cancel-in-progress: false

jobs:
  fabric:
    runs-on: ubuntu-latest
%(defaults)s    steps:
      - uses: actions/checkout@v4
%(tools)s
      - run: pipx install "%(package)s"
      # Results of earlier runs are reused only if FABRIC_CACHE_KEY is set. Create a key with
      # `openssl rand -hex 32`. Without a key, each run ignores the cache of earlier runs.
      - uses: actions/cache@v4
        with:
          path: %(cache)s
          key: fabric-${{ runner.os }}-${{ github.sha }}
          restore-keys: fabric-${{ runner.os }}-
%(steps)s
%(previews)s      - run: fabric plan
        if: github.event_name == 'pull_request'%(open)s
%(env)s
      - run: fabric deploy
        if: github.event_name == 'push'
%(env)s
"""
# Before the plan, which the job of a closed pull request does not need.
_PREVIEW_STEPS = """\
      - run: fabric deploy --preview "$PREVIEW" --expires 7d
        if: %(own)s
%(env)s
          PREVIEW: pr-${{ github.event.number }}
      - run: |
          {
            echo "Preview of ${{ github.event.pull_request.head.sha }}:"
            echo '```'
            fabric outputs --stage "$PREVIEW"
            echo '```'
            echo "Changes of the stage dev after a merge:"
            echo '```'
            fabric plan --color never
            echo '```'
          } > "$RUNNER_TEMP/comment.md"
          gh pr comment "$NUMBER" --repo "$GITHUB_REPOSITORY" --edit-last --create-if-none \\
            --body-file "$RUNNER_TEMP/comment.md"
        if: %(own)s
%(env)s
          GH_TOKEN: ${{ github.token }}
          NUMBER: ${{ github.event.number }}
          PREVIEW: pr-${{ github.event.number }}
      - run: fabric remove --stage "$PREVIEW" --yes
        if: %(closed)s
%(env)s
          PREVIEW: pr-${{ github.event.number }}
      # Previews whose pull request was closed while this workflow was not running.
      - run: fabric sweep --expired --yes
        if: github.event_name == 'schedule'
%(env)s
"""
# Pull requests of forks get no preview, because they get no token.
_OWN = "github.event.pull_request.head.repo.full_name == github.repository"
_NOT_CLOSED = "github.event.action != 'closed'"
_OPEN_REQUEST = f"github.event_name == 'pull_request' && {_NOT_CLOSED} && {_OWN}"
_CLOSED_REQUEST = (
    f"github.event_name == 'pull_request' && github.event.action == 'closed' && {_OWN}"
)
_PREVIEW_EVENTS = """\
  pull_request:
    types: [opened, reopened, synchronize, closed]
  schedule:
    - cron: "17 3 * * *"
"""
_PYTHON_TOOL = """\
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12\""""
_NODE_TOOL = """\
      - uses: actions/setup-node@v4
        with:
          node-version: 22"""
# A pull request of a fork gets no token: it is planned without one.
_TRUSTED = """\
        if: >-
          github.event_name != 'pull_request' ||
          github.event.pull_request.head.repo.full_name == github.repository"""
_AWS_LOGIN = f"""\
      - uses: aws-actions/configure-aws-credentials@v4
{_TRUSTED}
        with:
          role-to-assume: ${{{{ vars.AWS_ROLE_TO_ASSUME }}}}
          aws-region: ${{{{ vars.AWS_REGION }}}}"""
_GOOGLE_LOGIN = f"""\
      - uses: google-github-actions/auth@v2
        id: google
{_TRUSTED}
        with:
          workload_identity_provider: ${{{{ vars.GOOGLE_WORKLOAD_IDENTITY_PROVIDER }}}}
          service_account: ${{{{ vars.GOOGLE_SERVICE_ACCOUNT }}}}
          token_format: access_token"""
_AZURE_LOGIN = f"""\
      - uses: azure/login@v2
{_TRUSTED}
        with:
          client-id: ${{{{ vars.CLOUD3_CLIENT_ID }}}}
          tenant-id: ${{{{ vars.CLOUD3_TENANT_ID }}}}
          subscription-id: ${{{{ vars.CLOUD3_SUBSCRIPTION_ID }}}}"""
_CLUSTER_FILE = f"""\
      - run: printf '%s' "$CLUSTER_CONFIG_TEXT" > "$RUNNER_TEMP/kubeconfig"
{_TRUSTED}
        env:
          CLUSTER_CONFIG_TEXT: ${{{{ secrets.CLUSTER_CONFIG }}}}"""
_GOOGLE_TOKEN = "${{ steps.google.outputs.access_token }}"  # noqa: S105 - an expression


class CloudLogin(Struct, frozen=True):
    """How a job gets short-lived tokens."""

    # The step's text.
    step: str
    # Repository variables.
    needs: tuple[str, ...] = ()
    # Variables with expressions.
    tokens: tuple[tuple[str, str], ...] = ()
    # Long-lived keys that are not needed.
    without: tuple[str, ...] = ()


_LOGIN_AWS = CloudLogin(
    _AWS_LOGIN,
    ("AWS_ROLE_TO_ASSUME", "AWS_REGION"),
    # The login sets the variables of AWS itself, and the region with them.
    without=("CLOUD1_ACCESS_KEY_ID", "CLOUD1_SECRET_ACCESS_KEY", "CLOUD1_REGION"),
)
_LOGIN_GOOGLE = CloudLogin(
    _GOOGLE_LOGIN,
    ("GOOGLE_WORKLOAD_IDENTITY_PROVIDER", "GOOGLE_SERVICE_ACCOUNT"),
    (("CLOUD2_ACCESS_TOKEN", _GOOGLE_TOKEN), ("OBJSTORE2_ACCESS_TOKEN", _GOOGLE_TOKEN)),
    ("CLOUD2_SERVICE_ACCOUNT_KEY", "OBJSTORE2_CREDENTIALS_FILE"),
)
_LOGIN_AZURE = CloudLogin(
    _AZURE_LOGIN,
    ("CLOUD3_CLIENT_ID", "CLOUD3_TENANT_ID", "CLOUD3_SUBSCRIPTION_ID"),
    without=("CLOUD3_CLIENT_SECRET",),
)
_LOGINS: dict[str, CloudLogin] = {
    _AWS: _LOGIN_AWS,
    BackendKind.OBJSTORE1: _LOGIN_AWS,
    _GOOGLE: _LOGIN_GOOGLE,
    BackendKind.OBJSTORE2: _LOGIN_GOOGLE,
    _AZURE: _LOGIN_AZURE,
}


class CiProject(Struct, frozen=True, kw_only=True):
    """The project facts of a workflow."""

    provider: str
    backend: str = BackendKind.LOCAL.value
    # Relative to the repository.
    folder: str = ""
    has_node: bool = False
    # Commands before the plan.
    checks: tuple[str, ...] = ()
    # Those of a secret manager.
    variables: tuple[str, ...] = ()
    # Whether each pull request gets a preview.
    previews: bool = False

    @property
    def facts(self) -> ProviderFacts:
        return require_provider_facts(self.provider)


def format_workflow(project: CiProject) -> str:
    logins = tuple(_list_logins(project))
    skipped = f"\n        if: {_NOT_CLOSED}" if project.previews else ""
    steps = [f"      - run: {one}{skipped}" for one in project.checks]
    steps += [one.step for one in logins]
    steps += [_CLUSTER_FILE] if project.facts.prefix == _CLUSTER else []
    env = tuple(_list_environment(project, logins))
    written = "\n".join(
        (
            "        env:",
            "          # Deploys are simulated without this line:",
            '          # FABRIC_REAL_DEPLOY: "1"',
            *(f"          {name}: {value}" for name, value in env),
        )
    )
    folder = f"{project.folder}/" if project.folder else ""
    place = _quote_path(project.folder)
    default = f"    defaults:\n      run:\n        working-directory: {place}\n"
    return _TEXT % {
        "title": _PREVIEW_TITLE if project.previews else _TITLE,
        "needs": _format_needs(logins, env),
        "permissions": "".join(_list_permissions(project, logins)),
        "events": _PREVIEW_EVENTS if project.previews else "  pull_request:\n",
        "previews": _format_preview_steps(written) if project.previews else "",
        "open": f" && {_NOT_CLOSED}" if project.previews else "",
        "defaults": default if project.folder else "",
        "tools": f"{_PYTHON_TOOL}\n{_NODE_TOOL}" if project.has_node else _PYTHON_TOOL,
        "package": format_pinned_requirement(VERSION, *_list_extras(project)),
        "cache": _quote_path(f"{folder}.fabric/cache"),
        "steps": "\n".join(steps) or "      # Add the tests of the project here.",
        "env": written,
    }


def _list_permissions(project: CiProject, logins: tuple[CloudLogin, ...]) -> Iterator[str]:
    if logins:
        yield "  id-token: write\n"
    if project.previews:
        yield "  pull-requests: write\n"


def _format_preview_steps(env: str) -> str:
    return _PREVIEW_STEPS % {"env": env, "own": _OPEN_REQUEST, "closed": _CLOSED_REQUEST}


def _quote_path(text: str) -> str:
    """Quote a path if needed. A JSON string is valid YAML."""
    return text if re.fullmatch(r"[\w./-]+", text, re.ASCII) else json.dumps(text)


def _list_logins(project: CiProject) -> Iterator[CloudLogin]:
    """List each login once, because provider and backend can share one."""
    names = (project.provider, project.backend)
    yield from dict.fromkeys(_LOGINS[one] for one in names if one in _LOGINS)


def _list_environment(
    project: CiProject, logins: tuple[CloudLogin, ...]
) -> Iterator[tuple[str, str]]:
    tokens = {name: value for one in logins for name, value in one.tokens}
    left_out = {name for one in logins for name in one.without}
    for name in dict.fromkeys(_list_variable_names(project, frozenset(tokens))):
        if name not in left_out:
            yield name, tokens.get(name) or _format_stored_value(name)


def _format_stored_value(name: str) -> str:
    """Credentials are secrets of the repository, other values are variables."""
    if name == "CLUSTER_CONFIG":
        return "${{ runner.temp }}/kubeconfig"
    is_secret = is_secret_name(name) or name.endswith(("_URL", "_STRING", "_CACHE_KEY"))
    kind = "secrets" if is_secret else "vars"
    return f"${{{{ {kind}.{name} }}}}"


def _list_variable_names(project: CiProject, tokens: frozenset[str]) -> Iterator[str]:
    """List variable names: of alternatives the one of a login, otherwise the first."""
    facts, store = project.facts, back_end_facts(project.backend)
    for group in facts.credentials.required:
        yield next((one for one in group if one in tokens), group[0])
    if facts.access.role_variable:
        yield facts.access.role_variable
    ways = store.client.credentials
    given = next((way for way in ways if tokens.issuperset(way)), ways[0] if ways else ())
    yield from given
    yield from project.variables
    yield _CACHE_KEY


def _format_needs(logins: tuple[CloudLogin, ...], env: tuple[tuple[str, str], ...]) -> str:
    """The settings of the repository that the workflow reads."""
    wanted = [("vars", name) for one in logins for name in one.needs]
    for name, value in env:
        kind = value.removeprefix("${{ ").partition(".")[0]
        wanted += [(kind, name)] if kind in ("secrets", "vars") else []
        wanted += [("secrets", name)] if name == "CLUSTER_CONFIG" else []
    lines = []
    for kind, title in (("vars", "Variables"), ("secrets", "Secrets")):
        names = dict.fromkeys(name for one, name in wanted if one == kind)
        lines += [f"# {title} of the repository: {', '.join(names)}."] if names else []
    lines += ["# Cloud logins use OpenID Connect: no long-lived key is stored."] if logins else []
    return "\n".join(lines)


def _list_extras(project: CiProject) -> Iterator[Extra]:
    modules = (*project.facts.access.packages, *back_end_facts(project.backend).packages)
    yield from (find_extra(one) for one in modules)
    if project.backend == BackendKind.SQL:
        yield Extra.POSTGRES
