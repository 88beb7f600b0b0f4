"""Static files of a service: a directory that the archive of a function contains."""

import io
import posixpath
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from fabric.model.problems import FabricError, Problem
from fabric.providers.core.contract import FunctionDraft, FunctionOrder, Unsupported
from fabric.providers.core.limits import UNFIT


class StaticFolder(Struct, frozen=True):
    """The directory of the config, and the function whose archive contains it."""

    directory: str = ""
    function: str = ""

    @property
    def path(self) -> str:
        """The directory inside the archive; empty without files. A directory outside the service
        has only its name there."""
        path = posixpath.normpath(self.directory) if self.directory else ""
        return posixpath.basename(path) if path.startswith("..") else path

    def contains(self, name: str) -> bool:
        """Return whether a file of an archive is a static one."""
        return bool(self.path) and name.startswith(f"{self.path}/")


NO_FILES = StaticFolder()


def read_static_files(order: FunctionOrder, folder: StaticFolder) -> dict[str, bytes]:
    """Read the static files in the archive of a function, by their path on the site."""
    if not folder.path:
        return {}
    with zipfile.ZipFile(io.BytesIO(order.artifact.path.read_bytes())) as archive:
        names = sorted(filter(folder.contains, archive.namelist()))
        return {
            name.removeprefix(folder.path): archive.read(name)
            for name in names
            if not name.endswith("/")
        }


def refuse_missing_files(folder: StaticFolder, files: Collection[object]) -> None:
    """Raise if the directory has no files: a site without files would replace the old one."""
    if folder.directory and not files:
        message = f"the directory `{folder.directory}` of static files is empty or missing"
        hint = "check the path, `.fabricignore`, and the steps that write the files"
        raise FabricError(Problem("deploy/no-static-files", message, hint))


def refuse_large_files(files: Iterable[tuple[str, int]], largest: int, hint: str) -> None:
    """Raise for a static file that the provider rejects. The sizes are by path."""
    for path, size in files:
        if size > largest:
            message = f"the static file `{path}` has {size:,} bytes; the maximum is {largest:,}"
            raise FabricError(Problem("deploy/archive-too-large", message, hint))


def find_static_problems(
    folder: StaticFolder,
    functions: Sequence[FunctionDraft],
    keys: tuple[str, ...],
    *,
    needs_function: bool,
) -> Iterator[Unsupported]:
    """Check the function of the files. Some providers serve them only beside one function."""
    names = sorted(one.name for one in functions)
    if not folder.directory or folder.function in names:
        return
    if not folder.function and (len(names) == 1 or not needs_function):
        return
    why = "has no `function`, and the service has several functions"
    if folder.function:
        why = f"names the function `{folder.function}`, which the service does not have"
    hint = f"set `function` to one of {', '.join(names)}"
    yield Unsupported("", Problem(UNFIT, f"`{keys[-1]}` {why}", hint), keys=keys)
