"""The prompts of `init`: only for omitted options, with supported choices."""

from collections.abc import Mapping

from msgspec.structs import replace

from fabric.app.init import Ask, InitRequest
from fabric.app.settings import Settings
from fabric.cli.picker.ask import is_interactive, pick
from fabric.model.backends import BackendKind
from fabric.model.catalog import PROVIDERS
from fabric.scaffold.choices import NO_MANAGER, list_languages, list_providers, list_templates
from fabric.scaffold.templates import TEMPLATES, Language
from fabric.system.plugins import FindEntries, list_installed, load_secret_managers

_LANGUAGES = {"ts": "TypeScript", "js": "JavaScript", "py": "Python"}
_BACK_ENDS = {
    "local": "files in .fabric",
    "sql": "PostgreSQL or SQLite",
    "objstore1": "S3",
    "objstore2": "Google Cloud Storage",
    "objstore3": "Azure Blob Storage",
}


def build_asker(settings: Settings, *, as_json: bool) -> Ask | None:
    """Build the prompts; None without an interactive terminal."""
    return ask_questions if is_interactive(settings, as_json=as_json) else None


def ask_questions(asked: InitRequest, find: FindEntries = list_installed) -> InitRequest:
    """Ask the questions in product order. Each answer limits the following choices."""
    template = asked.template or pick(
        "Trigger", list_templates(asked.provider), "http", _load_template_notes()
    )
    providers = list_providers(template, asked.lang)
    notes = {one.id: one.title for one in PROVIDERS}
    provider = asked.provider or pick("Provider", providers, providers[0], notes)
    managers = (NO_MANAGER, *load_secret_managers(find))
    manager = asked.manager or pick("Secret manager", managers, NO_MANAGER)
    kinds = [one.value for one in BackendKind]
    backend = asked.backend or pick("State backend", kinds, BackendKind.LOCAL, _BACK_ENDS)
    languages = list_languages(provider)
    lang = asked.lang or pick("Language", languages, Language.TYPESCRIPT, _LANGUAGES)
    return replace(
        asked, template=template, provider=provider, manager=manager, backend=backend, lang=lang
    )


def _load_template_notes() -> Mapping[str, str]:
    return {one.kind.value: one.title for one in TEMPLATES}
