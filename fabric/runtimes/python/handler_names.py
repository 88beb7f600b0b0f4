"""Find the handler name of a module and check that it exists. The source is read, never run."""

from fabric.model.problems import FabricError, Place, Problem
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.entry import EntryFile
from fabric.runtimes.python.top_names import has_certain_name, has_possible_name, list_functions
from fabric.runtimes.recorded_inputs import place


def find_handler_name(entry: EntryFile, inputs: BuildInputs, source: bytes) -> str:
    """Return the export that the entry names; otherwise `handler`, otherwise the provider's default
    names."""
    names = (entry.export,) if entry.export else ("handler", *inputs.handlers)
    for is_there in (has_certain_name, has_possible_name):
        for name in names:
            if is_there(source, name):
                return name
    raise _missing_handler_error(entry, names, source)


def _missing_handler_error(entry: EntryFile, names: tuple[str, ...], source: bytes) -> FabricError:
    shown = place(entry.workspace, entry.path)
    there = ", ".join(f"`{one}`" for one in list_functions(source))
    return FabricError(
        Problem(
            "build/no-export",
            f"`{shown}` has no {' or '.join(f'`{name}`' for name in names)}",
            hint=(f"it has {there}; " if there else "")
            + "define the handler, or correct `entry`: `<module>.<export>`",
            where=Place(shown),
        )
    )
