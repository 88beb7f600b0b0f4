"""Whether a provider's runtime can import an entry: it does so by the name of its path."""

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.python.standard import standard_modules
from fabric.runtimes.seen import place


def refuse_not_importable(entry: EntryFile, inputs: BuildInputs) -> None:
    """Raises for a path that comes out as another module, or as none."""
    problem = _dotted(entry) or _standard(entry, inputs)
    if problem is not None:
        raise FabricError(problem)


def _dotted(entry: EntryFile) -> Problem | None:
    """Between two dots a name is a module: a folder `a.b` would be `b` in `a`."""
    part = next((one for one in entry.module.split("/") if "." in one), "")
    if not part:
        return None
    return Problem(
        "build/entry-not-importable",
        f"Python cannot import `{entry.name}`: it takes the dot in `{part}` for another package",
        hint="rename it: `_` in place of the dot",
        where=_place(entry),
    )


def _standard(entry: EntryFile, inputs: BuildInputs) -> Problem | None:
    """What is loaded, or built in, is not looked for again; and a folder without `__init__.py`
    comes after every module of that name."""
    top = entry.module.partition("/")[0]
    if top not in standard_modules(inputs.runtime):
        return None
    kind = "folder" if "/" in entry.module else "file"
    return Problem(
        "build/entry-not-importable",
        f"Python has a module `{top}` of its own, and would load that in place of the {kind} of "
        f"`{entry.name}`",
        hint=f"rename the {kind}, or move it into a folder of another name",
        where=_place(entry),
    )


def _place(entry: EntryFile) -> Place:
    return Place(place(entry.workspace, entry.path))
