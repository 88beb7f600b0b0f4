"""The prompts of `init`: only for omitted options, with supported choices."""

from collections.abc import Mapping

from msgspec.structs import replace

from fabric.app.init import Ask, InitRequest
from fabric.app.settings import Settings
from fabric.cli.picker.ask import can_ask, pick
from fabric.model.back_ends import BackendKind
from fabric.model.catalog import PROVIDERS
from fabric.scaffold.choices import NO_MANAGER, languages_for, providers_for, templates_for
from fabric.scaffold.templates import TEMPLATES, Language
from fabric.system.plugins import FindEntries, installed, secret_managers

_LANGUAGES = {"ts": "TypeScript", "js": "JavaScript", "py": "Python"}
_BACK_ENDS = {
    "local": "files in .fabric",
    "sql": "PostgreSQL or SQLite",
    "objstore1": "S3",
    "objstore2": "Google Cloud Storage",
    "objstore3": "Azure Blob Storage",
}


def asker_at(settings: Settings, *, as_json: bool) -> Ask | None:
    """Build the prompts; None without an interactive terminal."""
    return questions if can_ask(settings, as_json=as_json) else None


def questions(asked: InitRequest, find: FindEntries = installed) -> InitRequest:
    """Ask the questions in product order. Each answer limits the following choices."""
    template = asked.template or pick(
        "Trigger", templates_for(asked.provider), "http", _template_notes()
    )
    providers = providers_for(template, asked.lang)
    notes = {one.id: one.title for one in PROVIDERS}
    provider = asked.provider or pick("Provider", providers, providers[0], notes)
    managers = (NO_MANAGER, *secret_managers(find))
    manager = asked.manager or pick("Secret manager", managers, NO_MANAGER)
    kinds = [one.value for one in BackendKind]
    backend = asked.backend or pick("State backend", kinds, BackendKind.LOCAL, _BACK_ENDS)
    languages = languages_for(provider)
    lang = asked.lang or pick("Language", languages, Language.TYPESCRIPT, _LANGUAGES)
    return replace(
        asked, template=template, provider=provider, manager=manager, backend=backend, lang=lang
    )


def _template_notes() -> Mapping[str, str]:
    return {one.kind.value: one.title for one in TEMPLATES}
