"""Check that a bundle has the export of its handler; reported only if certain.

A CommonJS module can define exports in any way; exports that cannot be excluded from its text are
assumed.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabric.model.problems import FabricError, Place, Problem
from fabric.runtimes.contract import BuiltFile
from fabric.runtimes.entry import NODE_EXTENSIONS, EntryFile
from fabric.runtimes.nodejs.bundler import Module
from fabric.runtimes.recorded_inputs import place
from fabric.system.files.disk import read_bytes

# What the bundler writes at the end of a CommonJS file for Node's own look at its names.
_LISTED = re.compile(rb"0\s*&&\s*\(module\.exports\s*=\s*\{([^{}]*)\}\)")
_DEFAULT = re.compile(r"^\s*export\s+default\b\s*(?P<object>\{)?", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^\s*(?://|\*(?!/)).*$", re.MULTILINE)
_STAR = re.compile(r"""\bexport\s*\*\s*from\s*["']([^"'\n]+)["']""")
_SYNTAX = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)
_NAMED = re.compile(r"\b(?:module\.)?exports\.([A-Za-z_$][\w$]*)")
_SCRIPT_WORDS = re.compile(r"\b(?:module|exports|eval|this|arguments|global|globalThis)\b")
_MODULE_WORDS = re.compile(r"\b(?:module|exports|eval)\b")


class RequiredExport(Struct, frozen=True):
    """The required export: a function with one of the `names`, or an object with one of the
    `methods`."""

    names: frozenset[str]
    methods: tuple[str, ...] = ()


class Bundle(Struct, frozen=True):
    """A bundled entry; `exports` are the exports that the bundler found."""

    file: BuiltFile
    exports: tuple[str, ...] = ()


def refuse_missing(
    entry: EntryFile, wanted: RequiredExport, code: Bundle, modules: Iterable[Module]
) -> None:
    """Raise if the entry certainly lacks the handler's export, or if the export is not a
    handler."""
    there = {*code.exports, *_read_listed_exports(code.file.content)}
    if not entry.path.endswith(NODE_EXTENSIONS) or wanted.names & there - {"default"}:
        return
    if "default" in wanted.names and _is_uncalled_object(entry, wanted):
        raise _no_handler_error(entry, wanted)
    by_path = {module.path: module for module in modules}
    is_there = "default" in wanted.names & there
    if not is_there and not _has_possible_export(
        wanted.names, entry.probe.real(entry.path), by_path, set()
    ):
        raise _missing_export_error(entry, wanted, sorted(there))


def _is_uncalled_object(entry: EntryFile, wanted: RequiredExport) -> bool:
    """Return whether the default export is an object literal without a callable method."""
    bare = _COMMENT_LINE.sub("", _read_text(entry.path))
    found = list(_DEFAULT.finditer(bare))
    if len(found) != 1 or not found[0]["object"]:
        return False
    rest = bare[found[0].end() :]
    called = rf"\b(?:{'|'.join(wanted.methods)})\b|\.\.\.|\["
    return not wanted.methods or re.search(called, rest) is None


def _read_listed_exports(code: bytes) -> list[str]:
    start = max(code.rfind(b"module.exports={"), code.rfind(b"module.exports = {"))
    found = _LISTED.search(code, max(0, start - len("0 && (")))
    return re.findall(r"[\w$]+", found[1].decode()) if found else []


def _has_possible_export(
    wanted: frozenset[str], path: str, modules: Mapping[str, Module], met: set[str]
) -> bool:
    """Return whether a module can have one of the names in a way that the bundler does not list."""
    if path in met:
        return False
    met.add(path)
    module = modules.get(path)
    text = _read_text(path)
    if module is None or _has_manual_export(wanted, text):
        return True
    led = {item.specifier: item.path for item in module.imports}
    stars = [led.get(specifier, "") for specifier in _STAR.findall(text)]
    return any(not target or _has_possible_export(wanted, target, modules, met) for target in stars)


def _has_manual_export(wanted: frozenset[str], text: str) -> bool:
    """Return whether a text can set one of the names. The bundler never lists `default`."""
    bare = _COMMENT_LINE.sub("", text)
    names = set(_NAMED.findall(bare))
    words = _MODULE_WORDS if _SYNTAX.search(bare) else _SCRIPT_WORDS
    is_free = words.search(_NAMED.sub("", bare)) is not None
    is_default = "default" in wanted and re.search(r"\bdefault\b", bare) is not None
    return bool(wanted & names) or is_free or is_default


def _read_text(path: str) -> str:
    try:
        return read_bytes(path).decode("utf-8", "replace")
    except OSError:
        return "module"


def _missing_export_error(
    entry: EntryFile, wanted: RequiredExport, there: list[str]
) -> FabricError:
    shown = place(entry.workspace, entry.path)
    known = f"it has {', '.join(f'`{one}`' for one in there)}; " if there else ""
    return FabricError(
        Problem(
            "build/no-export",
            f"`{shown}` has no export {_format_wanted_names(entry, wanted)}",
            hint=f"{known}export the handler, or correct `entry`: `<module>.<export>`",
            where=Place(shown),
        )
    )


def _format_wanted_names(entry: EntryFile, wanted: RequiredExport) -> str:
    if entry.export:
        return f"`{entry.export}`"
    others = sorted(wanted.names - {"handler", "default"})
    named = ["`handler`", *(f"`{name}`" for name in others)]
    return f"{' or '.join(named)}, and no default export"


def _no_handler_error(entry: EntryFile, wanted: RequiredExport) -> FabricError:
    shown = place(entry.workspace, entry.path)
    methods = ", ".join(f"`{name}`" for name in wanted.methods)
    return FabricError(
        Problem(
            "build/no-handler",
            f"the default export of `{shown}` is an object, and the provider calls "
            + (f"functions, or objects with one of {methods}" if methods else "functions"),
            hint="export a function; see docs/guide/handlers.md for the exports of each provider",
            where=Place(shown),
        )
    )
