"""Images of the Serverless Framework: a Dockerfile that only copies code becomes an entry."""

import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from fabric.importing.aws_settings import choose_runtime
from fabric.importing.context import Context
from fabric.importing.draft import Fields
from fabric.importing.packaging import find_handler_file, list_copied_data
from fabric.importing.source import At

_NO_SETTING = "settings of images are not supported"
_HINT = "use `package: {type: image}`, which builds the image from the entry"
_BASE = re.compile(r"(?:public\.ecr\.aws/lambda|amazon/aws-lambda)[/-](nodejs|python):([0-9.]+)\S*")
# The directory of the code.
_ROOT = re.compile(r"(?:/var/task|\$\{?LAMBDA_TASK_ROOT\}?)/?|\./")
# fabric installs the packages of the project itself.
_INSTALLS = re.compile(
    r"npm (?:ci|install)(?: --?[a-z-]+(?:=\S+)?)*"
    r"|(?:python3? -m )?pip3? install(?: (?:-r requirements\.txt|(?:-t|--target) \S+|--?[a-z-]+))+"
)
_CONTINUED = re.compile(r"\\\s*\n")


class _Recipe(Struct, frozen=True):
    """`runtime` is that of the base."""

    runtime: str
    copied: tuple[str, ...]
    command: tuple[str, ...]


class _UnfitError(Exception):
    """An instruction that fabric has no equivalent for."""


class _Image(Struct, frozen=True):
    """The keys of an image, of the function and of the provider."""

    function: At
    provider: At

    @property
    def where(self) -> At:
        """The directory of the Dockerfile."""
        return self.provider.get("path") if self.provider.is_map else self.provider

    @property
    def other_keys(self) -> list[At]:
        found = [
            one for one in self.provider.list_entries() if one.key not in ("path", "file", "uri")
        ]
        return [
            *found,
            *(one for one in self.function.list_entries() if one.key not in ("name", "command")),
        ]


def put_image(context: Context, at: At, images: At, function: Fields) -> None:
    """Put the entry of a function whose image is built from a Dockerfile of the project. `images`
    are those of the provider."""
    name = at.get("name") if at.is_map else at
    image = _Image(at, images.get(name.text))
    if existing := _find_existing(context, at, image):
        function.put("image", context.read_text(existing), at)
        context.ledger.carry(name, existing)
        for one in image.function.list_entries():
            if one.key not in ("name", "uri"):
                context.ledger.lose(one, _NO_SETTING)
        return
    try:
        recipe = _find_recipe(context, image)
        entry = _find_entry(context, image, recipe)
    except _UnfitError as error:
        context.ledger.lose(at, str(error), _HINT)
        return
    for one in image.other_keys:
        context.ledger.lose(one, _NO_SETTING)
    function.put("runtime", choose_runtime(recipe.runtime))
    function.put("entry", context.surroundings.place(entry), at)
    function.child("package").put("type", "image")
    if recipe.copied:
        function.put("include", list(recipe.copied))
    context.ledger.carry(name, image.provider.get("file"), at.get("command"))
    reason = "fabric builds the image from the entry, without Docker"
    context.ledger.change(image.where, reason, f"runtime: {choose_runtime(recipe.runtime)}")


def _find_existing(context: Context, at: At, image: _Image) -> At | None:
    """Find the address of an image that is built elsewhere; None if a Dockerfile describes it."""
    provider = image.provider
    for one in (at.get("uri"), provider.get("uri")):
        if not one.is_missing:
            return one
    if provider.is_missing:
        return at if not at.is_map else None
    text = context.read_text(provider) if not provider.is_map else ""
    return provider if ".dkr.ecr." in text else None


def _find_recipe(context: Context, image: _Image) -> _Recipe:
    """Read the Dockerfile, with patterns of the copied data relative to the config."""
    around, folder = context.surroundings, PurePosixPath(context.read_text(image.where))
    file = image.provider.get("file").text or "Dockerfile"
    text = around.read_text(str(folder / file))
    if text is None:
        raise _UnfitError(f"no file `{file}` in `{folder}`")
    found = _read_recipe(text, lambda path: around.is_folder(str(folder / path)))
    paths = [str(folder / one) for one in found.copied]
    return replace(found, copied=tuple(list_copied_data(around, paths)))


def _find_entry(context: Context, image: _Image, recipe: _Recipe) -> str:
    command = context.read_texts(image.function.get("command")) or list(recipe.command)
    folder = PurePosixPath(context.read_text(image.where))
    entry = str(folder / command[0]) if len(command) == 1 else ""
    if not entry or find_handler_file(context.surroundings, entry) is None:
        raise _UnfitError(f"no file found for the command `{' '.join(command)}` of the image")
    return entry


def _read_recipe(text: str, is_folder: Callable[[str], bool]) -> _Recipe:
    """Read a Dockerfile. Raise for an instruction that fabric does not do itself."""
    base, copied = "", list[str]()
    command: tuple[str, ...] = ()
    for word, rest in _list_instructions(text):
        match word:
            case "FROM" if not base:
                found = _BASE.fullmatch(rest)
                if found is None:
                    raise _UnfitError(f"the base `{rest}` of the image is not one of AWS Lambda")
                suffix = ".x" if found[1] == "nodejs" else ""
                base = f"{found[1]}{found[2]}{suffix}"
            case "COPY":
                copied += _read_copied(rest, is_folder)
            case "CMD":
                command = _read_command(rest)
            case "RUN" if all(
                _INSTALLS.fullmatch(" ".join(one.split())) for one in rest.split("&&")
            ):
                pass
            case "WORKDIR" if _ROOT.fullmatch(rest):
                pass
            case _:
                raise _UnfitError(f"the Dockerfile has `{word} {rest}`, which fabric does not run")
    return _Recipe(base, tuple(copied), command)


def _list_instructions(text: str) -> Iterator[tuple[str, str]]:
    for line in _CONTINUED.sub(" ", text).splitlines():
        plain = line.strip()
        if plain and not plain.startswith("#"):
            word, _, rest = plain.partition(" ")
            yield word.upper(), rest.strip()


def _read_copied(rest: str, is_folder: Callable[[str], bool]) -> list[str]:
    """Read the files that are copied to the directory of the code, with the same paths."""
    *sources, target = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    goal = posixpath.normpath(_ROOT.sub("", target, count=1) or ".")
    for one in sources:
        path = posixpath.normpath(one)
        kept = path if is_folder(path) else posixpath.dirname(path) or "."
        if one.startswith("--") or goal not in (path, kept):
            raise _UnfitError(f"the Dockerfile has `COPY {rest}`, which moves files")
    return [posixpath.normpath(one) for one in sources]


def _read_command(rest: str) -> tuple[str, ...]:
    try:
        found = json.loads(rest) if rest.startswith("[") else shlex.split(rest)
    except ValueError as error:
        raise _UnfitError(f"the Dockerfile has `CMD {rest}`, which cannot be read") from error
    return tuple(map(str, found))
