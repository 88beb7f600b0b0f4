"""The text of a new `fabric.yml`."""

import json
import re
from collections.abc import Iterator, Mapping

from fabric.model.backends import BackendKind
from fabric.scaffold.choices import ManagerFacts, ProjectChoices
from fabric.scaffold.programs import choose_program_place
from fabric.scaffold.templates import find_template

SCHEMA_FILE = ".fabric/config.schema.json"
_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# All keys: hover in an editor with YAML support, or see config.md of the fabric guide.
"""
_STAGES = """\
# Settings of one stage, such as `fabric deploy --stage prod`:
# stages:
#   prod:
#     protected: true
#     env: {LOG_LEVEL: warn}
"""
# What any reader of YAML takes for a text, also without quotes.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NO_TEXTS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_STATE_TITLES = {
    BackendKind.LOCAL: "on this machine, in .fabric/state. Teams need a shared backend.",
    BackendKind.SQL: "in the database at FABRIC_STATE_SQL_URL (default: .fabric/state.db).",
    BackendKind.OBJSTORE1: "in this bucket, which must exist.",
    BackendKind.OBJSTORE2: "in this bucket, which must exist.",
    BackendKind.OBJSTORE3: "in this container, which must exist.",
}


def choose_entry(choices: ProjectChoices) -> str:
    name = find_template(choices.template).function
    if choices.language.is_program:
        return choose_program_place(name, choices.language).entry
    return f"src/{name}.{choices.lang}"


def format_new_config(choices: ProjectChoices) -> str:
    template = find_template(choices.template)
    trigger = {"type": template.kind.value, **template.fields}
    fields = "\n        ".join(_format_fields(trigger))
    preset = choices.language.facts.preset
    build = f"    build:\n      preset: {preset}\n" if preset else ""
    function = (
        f"  - name: {template.function}\n    entry: {choose_entry(choices)}\n{build}"
        f"    triggers:\n      - {fields}\n"
    )
    provider = (
        f"provider:\n  name: {choices.provider}\n  runtime: {choose_project_runtime(choices)}\n"
    )
    parts = (
        f"{_HEAD}service: {format_scalar(choices.service)}\n",
        provider,
        f"functions:\n{function}",
        _format_backend(choices),
        *((_format_secrets(choices.manager),) if choices.manager else ()),
        _STAGES,
    )
    return "\n".join(parts)


def choose_project_runtime(choices: ProjectChoices) -> str:
    """The version that the provider has."""
    family = choices.language.runtime
    return next(one for one in choices.facts.platform.first_versions if one.startswith(family))


def _format_backend(choices: ProjectChoices) -> str:
    kind = BackendKind(choices.backend)
    rows = "".join(
        f"  {key}: {format_scalar(value)}\n"
        for key, value in _list_backend_settings(choices).items()
    )
    return f"# State is stored {_STATE_TITLES[kind]}\nbackend:\n  kind: {kind}\n{rows}"


def _list_backend_settings(choices: ProjectChoices) -> Mapping[str, str]:
    """List the required settings of the backend kind. Bucket names are lowercase everywhere."""
    own = choices.service.lower().replace("_", "-").strip("-")[:50]
    match BackendKind(choices.backend):
        case BackendKind.OBJSTORE1:
            return {"objstore1Bucket": f"{own}-state", "objstore1Prefix": "fabric/"}
        case BackendKind.OBJSTORE2:
            return {"objstore2Bucket": f"{own}-state", "objstore2Prefix": "fabric/"}
        case BackendKind.OBJSTORE3:
            return {"objstore3Container": f"{own}-state", "objstore3Prefix": "fabric/"}
        case _:
            return {}


def _format_secrets(manager: ManagerFacts) -> str:
    return (
        f"# Secrets are stored in `{manager.id}`. Use them in env values as ${{secret:API_KEY}}.\n"
        f"# secrets:\n#   API_KEY: {manager.id}://path/of/the/secret\n"
    )


def _format_fields(fields: Mapping[str, object]) -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield f"{key}:"
            yield from (f"  {line}" for line in _format_fields(value))
        elif isinstance(value, list | tuple):
            yield f"{key}: [{', '.join(format_scalar(str(one)) for one in value)}]"
        else:
            yield f"{key}: {format_scalar(str(value))}"


def format_scalar(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXTS
    return text if is_plain else json.dumps(text, ensure_ascii=False)
