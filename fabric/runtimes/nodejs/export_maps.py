"""The `exports` and `imports` of a manifest: possible targets under any conditions."""

from collections.abc import Iterator


def targets(mapping: object, name: str) -> Iterator[str]:
    """Yield every target of a name (`.`, `./sub`, `#inner`), with `*` replaced."""
    if isinstance(mapping, dict) and any(key.startswith((".", "#")) for key in mapping):
        for key, value in mapping.items():
            yield from _of_key(key, value, name)
    elif name == ".":
        yield from _leaves(value=mapping)


def subpath_of(specifier: str, package: str) -> str:
    """Return the part of a specifier that an `exports` map uses: `.` for the package itself."""
    return f".{specifier.removeprefix(package)}"


def _of_key(key: str, value: object, name: str) -> Iterator[str]:
    before, star, after = key.partition("*")
    if key == name:
        yield from _leaves(value)
    elif star and name.startswith(before) and name.endswith(after):
        middle = name[len(before) : len(name) - len(after)]
        yield from (leaf.replace("*", middle) for leaf in _leaves(value))
    elif key.endswith("/") and name.startswith(key):
        yield from (leaf + name.removeprefix(key) for leaf in _leaves(value))


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
