"""Hints for bundler messages in terms of fabric's config."""

import re

_HINTS = (
    (
        r'No loader is configured for "\.node" files: (?:.*/)?node_modules/'
        r"((?:@[^/]+/)?[^@/][^/]*)/",
        r'add to fabric.yml: `build: {external: ["\1"]}`, so that the package is packed as it is',
    ),
    (
        r'No loader is configured for "\.node" files',
        "add the package that contains it to `build.external`: its files are then packaged "
        "without bundling",
    ),
    (
        r'No loader is configured for "(\.[^"]+)" files',
        r"say how to load it in `build.loader`, as in `\1: text`",
    ),
    (
        r"^`emitDecoratorMetadata` needs",
        "add `typescript` to devDependencies, or remove the option from the tsconfig",
    ),
    (r"Top-level await is", "remove `build.format`, or set it to `esm`"),
    (r"configured target environment", "increase `build.target`, or remove it"),
    (
        r"Cannot find tsconfig file",
        "correct `build.tsconfig`: it is relative to the service directory",
    ),
    (
        r"define|must be an entity name or (?:a )?(?:valid )?JS",
        "quote text in `build.define`, because values are JavaScript: `'\"text\"'`",
    ),
)


def choose_bundler_hint(text: str, notes: str) -> str:
    """Return fabric's hint if there is one, otherwise the bundler's notes."""
    for pattern, hint in _HINTS:
        if found := re.search(pattern, text):
            return found.expand(hint)
    return notes
