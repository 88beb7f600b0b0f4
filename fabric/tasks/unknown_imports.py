"""Unknown imports: recorded by builds, reported by tasks that know the packages."""

import re
from collections.abc import Collection, Iterable, Iterator

from fabric.model.problems import Place, Problem
from fabric.model.task import Output, Pairs
from fabric.runtimes.contract import ImportedModule

_NOTED = "import"
_MODULES = "modules"
_PACKAGES = "packages"
# Packages that were fetched before their modules were noted: they may answer anything.
_UNTOLD = "?"
# What an importer finds in the folder of a package: sources, and compiled modules of any platform.
_CODE = re.compile(r"^([A-Za-z_]\w*)(\.py|\.so|\.[\w-]+\.so)$")


def import_facts(missing: Iterable[ImportedModule]) -> Pairs:
    """Encode the imports that the build's own files do not resolve."""
    return tuple((_NOTED, f"{one.module} {one.line} {one.file}") for one in missing)


def encode_modules(paths: Iterable[str]) -> tuple[str, str]:
    """Encode the importable modules of a package output."""
    return _MODULES, " ".join(sorted(_list_top_modules({tuple(path.split("/")) for path in paths})))


def _list_top_modules(paths: Collection[tuple[str, ...]], *above: str) -> Iterator[str]:
    """List top-level packages and modules, including modules in namespace directories."""
    folders: dict[str, set[tuple[str, ...]]] = {}
    for first, *rest in paths:
        if rest:
            folders.setdefault(first, set()).add(tuple(rest))
        elif match := _CODE.match(first):
            yield ".".join((*above, match[1]))
    for name, inner in folders.items():
        if ("__init__.py",) in inner:
            yield ".".join((*above, name))
        elif name.isidentifier():
            yield from _list_top_modules(inner, *above, name)


def find_unknown_imports(
    build: Output, parts: Iterable[Output], brought: Collection[str] | None
) -> tuple[Problem, ...]:
    """Find imports that neither the runtime nor other parts of an archive resolve.

    If `brought` is None, any module can exist: only relative imports are checked.
    """
    noted = tuple(_decode_wanted_modules(build))
    if brought is None:
        return tuple(_unknown_import_problem(one) for one in noted if one.module.startswith("."))
    noted = tuple(one for one in noted if not _is_brought(one.module, brought))
    if not noted:
        return ()
    packages = [one for one in parts if one.fact(_PACKAGES)]
    known = [name for one in packages for name in one.fact(_MODULES, _UNTOLD).split()]
    return tuple(
        _unknown_import_problem(one) for one in noted if not _is_known_module(one.module, known)
    )


def _is_brought(module: str, brought: Collection[str]) -> bool:
    return module.partition(".")[0] in brought


def _is_known_module(module: str, known: Collection[str]) -> bool:
    return _UNTOLD in known or any(
        f"{one}.".startswith(f"{module}.") or module.startswith(f"{one}.") for one in known
    )


def _decode_wanted_modules(build: Output) -> Iterator[ImportedModule]:
    for name, value in build.facts:
        if name == _NOTED:
            module, line, file = value.split(" ", 2)
            yield ImportedModule(module, file, int(line))


def _unknown_import_problem(one: ImportedModule) -> Problem:
    return Problem(
        "build/unknown-import",
        f"`{one.file}` imports `{one.module}`, which cannot be resolved in the project, its "
        "packages, the Python standard library or the provider's runtime",
        hint="add its package to the requirements, or wrap an optional import in try/except "
        "ImportError",
        where=Place(one.file, one.line),
    )
