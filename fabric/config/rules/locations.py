"""Places of settings that a plan can reject, stored because the document is dropped after
loading."""

from collections.abc import Iterator

from fabric.config.layers import list_layer_nodes
from fabric.config.resolve.stages import list_named_entries
from fabric.config.schema.build import HOOKS
from fabric.config.schema.check import Finding
from fabric.config.schema.function_settings import FUNCTION_SETTINGS
from fabric.config.steps import list_step_nodes
from fabric.config.triggers import list_typed_triggers
from fabric.config.values import ConfigDocument, ConfigPlace
from fabric.config.yaml import read
from fabric.config.yaml.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    find_child,
    place_of,
    remove_keys,
)
from fabric.config.yaml.problems import place_in_file
from fabric.model.catalog import FUNCTION_NAME
from fabric.model.names import CACHED_EVENTS, TriggerKind
from fabric.model.problems import Place, Problem

BACKEND = "backend"
# No provider allows less than twice of this.
_LARGE_ENV = 2048
_CHECKED_LATE = (
    TriggerKind.EVENTBUS,
    TriggerKind.PUBSUB,
    TriggerKind.LOGSTREAM,
    TriggerKind.AMQP,
)


def build_trigger_pointer(function: str, number: int) -> str:
    return f"functions/{function}/triggers/{number}"


def build_env_pointer(function: str) -> str:
    return f"functions/{function}/env"


def build_step_pointer(step: str, number: int) -> str:
    return f"steps/{step}/inputs/{number}"


def build_command_pointer(step: str) -> str:
    return f"steps/{step}"


def build_custom_pointer(function: str) -> str:
    return f"functions/{function}/build"


def build_layer_pointer(layer: str) -> str:
    return f"layers/{layer}"


def build_base_pointer(function: str) -> str:
    return f"functions/{function}/package/base"


def find_location(config: ConfigDocument, pointer: str) -> Place:
    """Find a recorded place. Otherwise the place is the file."""
    found = (one.where for one in config.locations if one.pointer == pointer)
    return next(found, Place(config.file))


def list_locations(file: str, text: str, root: Mapping) -> tuple[ConfigPlace, ...]:
    places = [Problem(pointer, "", where=place_of(node)) for pointer, node in _list_places(root)]
    found = place_in_file(file, text, places)
    return tuple(ConfigPlace(one.code, one.where, one.frame) for one in found if one.where)


def _list_places(root: Mapping) -> Iterator[tuple[str, Node]]:
    yield from ((build_layer_pointer(name), node) for name, node in list_layer_nodes(root))
    backend = find_child(root, BACKEND)
    if backend is not None:
        yield BACKEND, backend
    for step in list_step_nodes(root):
        yield build_command_pointer(step.name), step.node
        inputs = find_child(step.node, "inputs")
        for number, leaf in enumerate(inputs.items if isinstance(inputs, Sequence) else ()):
            yield build_step_pointer(step.name, number), leaf
    for name, function in list_named_entries(find_child(root, "functions")):
        for number, (kind, node) in enumerate(list_typed_triggers(function)):
            if kind in _CHECKED_LATE:
                yield build_trigger_pointer(name, number), node
        yield from _list_base_places(name, function)
        yield from _list_custom_places(name, function, find_child(root, "build"))
        env = find_child(function, "env")
        if isinstance(env, Mapping) and _count_characters(env) > _LARGE_ENV:
            yield build_env_pointer(name), env


def _list_base_places(name: str, function: Mapping) -> Iterator[tuple[str, Node]]:
    """Yield an existing image, the base of an image, or `package` if the base is the default."""
    image = find_child(function, "image")
    if image is not None:
        yield build_base_pointer(name), image
    package = find_child(function, "package")
    if package is not None and read.read_text(package, "type") == "image":
        yield build_base_pointer(name), find_child(package, "base") or package


def _list_custom_places(
    name: str, function: Mapping, shared: Node | None
) -> Iterator[tuple[str, Node]]:
    """Yield the build command of a function, or the function if its service has the command."""
    own = find_child(function, "build")
    if _has_command(own):
        yield build_custom_pointer(name), own or function
    elif _has_command(shared):
        yield build_custom_pointer(name), function


def _has_command(build: Node | None) -> bool:
    return any(find_child(build, key) is not None for key in ("command", "preset"))


def _count_characters(env: Mapping) -> int:
    values = (entry.value for entry in env.entries)
    return sum(len(str(value.value)) for value in values if isinstance(value, Scalar))


def _list_open_extensions(root: Mapping) -> Iterator[tuple[str, Node | None]]:
    """List the places of stacks, too: only the values of their parameters are never stored."""
    for name, node in list_named_entries(find_child(root, "extensions")):
        yield f"extensions.{name}.region", find_child(node, "region")
        for phase, stack in list_named_entries(find_child(node, "stack")):
            yield f"extensions.{name}.stack.{phase}", remove_keys(stack, "parameters")


def _list_open_workflows(root: Mapping) -> Iterator[tuple[str, Node | None]]:
    """List the places of state machines, which are readable at the provider."""
    for _, node in list_named_entries(find_child(root, "workflows")):
        for key in _IN_WORKFLOWS if find_child(node, "definition") is not None else ():
            yield f"workflows[].{key}", find_child(node, key)


_IN_FUNCTIONS = (
    *("name", "entry", "include", "runtime", "build", "checks"),
    *(one.name for one in FUNCTION_SETTINGS),
)

_IN_WORKFLOWS = (
    *("name", "definition", "substitutions", "permissions", "role", "logs", "triggers"),
)


def find_misplaced_secrets(root: Mapping) -> Iterator[Finding]:
    for path, node in _open_places(root):
        for leaf in _list_leaves(node):
            if leaf.secret:
                yield _secret_finding(path, leaf, _choose_hint(path))


def find_misplaced_references(root: Mapping) -> Iterator[Finding]:
    """Find references in settings by which state is found, and which fabric needs first."""
    for path, node in _list_settled_places(root):
        for leaf in _list_leaves(node):
            if leaf.reference:
                yield Finding(
                    Problem(
                        "config/unresolved-reference",
                        f"`{path}` cannot contain a reference such as `${{ssm:NAME}}`",
                        "write the value, or use ${env:NAME}, ${param:NAME} or ${stage}",
                        place_of(leaf),
                    )
                )


def _list_settled_places(root: Mapping) -> Iterator[tuple[str, Node | None]]:
    yield "service", find_child(root, "service")
    yield BACKEND, find_child(root, BACKEND)
    for key in ("name", "region"):
        yield f"provider.{key}", find_child(root, "provider", key)
    for name, node in list_named_entries(find_child(root, "extensions")):
        yield f"extensions.{name}.region", find_child(node, "region")
    for _, node in list_named_entries(find_child(root, "functions")):
        for key in ("name", "entry", FUNCTION_NAME):
            yield f"functions[].{key}", find_child(node, key)


def _choose_hint(path: str) -> str:
    section, _, key = path.partition(".")
    if path == "build.before" or (section == "hooks" and key.replace(":", "-") in CACHED_EVENTS):
        return "remove it: cached commands receive no secrets"
    if section == "hooks":
        return "read it from the environment: write $NAME in `sh -c`"
    return "use the secret in `env`, or a variable without a credential name"


def _open_places(root: Mapping) -> Iterator[tuple[str, Node | None]]:
    # A region may stand in the provider's extension too; commands are in compiled graphs.
    for key in ("service", "provider"):
        yield key, find_child(root, key)
    build = find_child(root, "build")
    for entry in build.entries if isinstance(build, Mapping) else ():
        yield "build.before" if entry.key == "before" else "build", entry.value
    for key in HOOKS.index:
        yield f"hooks.{key}", find_child(root, "hooks", key)
    for _, layer in list_layer_nodes(root):
        yield "layers[]", layer
    yield from _list_open_extensions(root)
    yield from _list_open_workflows(root)
    for _, node in list_named_entries(find_child(root, "functions")):
        for key in _IN_FUNCTIONS:
            yield f"functions[].{key}", find_child(node, key)


def _list_leaves(node: Node | None) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _list_leaves(item)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            yield from _list_leaves(entry.value)


def _secret_finding(path: str, leaf: Scalar, hint: str) -> Finding:
    message = f"secret in `{path}`, which is printed and stored"
    return Finding(Problem("config/secret-here", message, hint, place_of(leaf)))
