"""Find the handler name of a module and check that it exists. The source is read, never run."""

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.python.top_names import may_have, names_of, surely_has
from fabric.runtimes.seen import place


def handler_name(entry: EntryFile, inputs: BuildInputs, source: bytes) -> str:
    """Return the export that the entry names; otherwise `handler`, otherwise the provider's default
    names."""
    names = (entry.export,) if entry.export else ("handler", *inputs.handlers)
    for is_there in (surely_has, may_have):
        for name in names:
            if is_there(source, name):
                return name
    raise _missing(entry, names, source)


def _missing(entry: EntryFile, names: tuple[str, ...], source: bytes) -> FabricError:
    shown = place(entry.workspace, entry.path)
    there = ", ".join(f"`{one}`" for one in names_of(source))
    return FabricError(
        Problem(
            "build/no-export",
            f"`{shown}` has no {' or '.join(f'`{name}`' for name in names)}",
            hint=(f"it has {there}; " if there else "")
            + "define the handler, or correct `entry`: `<module>.<export>`",
            where=Place(shown),
        )
    )
