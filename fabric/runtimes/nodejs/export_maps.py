"""The `exports` and `imports` of a manifest: possible targets under any conditions."""

from collections.abc import Iterator


def list_targets(mapping: object, name: str) -> Iterator[str]:
    """Yield every target of a name (`.`, `./sub`, `#inner`), with `*` replaced."""
    if isinstance(mapping, dict) and any(key.startswith((".", "#")) for key in mapping):
        for key, value in mapping.items():
            yield from _list_key_targets(key, value, name)
    elif name == ".":
        yield from _list_leaves(value=mapping)


def find_subpath(specifier: str, package: str) -> str:
    """Return the part of a specifier that an `exports` map uses: `.` for the package itself."""
    return f".{specifier.removeprefix(package)}"


def _list_key_targets(key: str, value: object, name: str) -> Iterator[str]:
    before, star, after = key.partition("*")
    if key == name:
        yield from _list_leaves(value)
    elif star and name.startswith(before) and name.endswith(after):
        middle = name[len(before) : len(name) - len(after)]
        yield from (leaf.replace("*", middle) for leaf in _list_leaves(value))
    elif key.endswith("/") and name.startswith(key):
        yield from (leaf + name.removeprefix(key) for leaf in _list_leaves(value))


def _list_leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _list_leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_leaves(item)
