"""What to do about a message of the bundler, in the words of our own config."""

import re

_HINTS = (
    (
        r'No loader is configured for "\.node" files: (?:.*/)?node_modules/'
        r"((?:@[^/]+/)?[^@/][^/]*)/",
        r'add to fabric.yml: `build: {external: ["\1"]}`, so that the package is packed as it is',
    ),
    (
        r'No loader is configured for "\.node" files',
        "name the package that it belongs to in `build.external`: it is packed as it is",
    ),
    (
        r'No loader is configured for "(\.[^"]+)" files',
        r"say how to load it in `build.loader`, as in `\1: text`",
    ),
    (
        r"^`emitDecoratorMetadata` needs",
        "add `typescript` to devDependencies, or take the option out of the tsconfig",
    ),
    (r"Top-level await is", "leave `build.format` out, or set it to `esm`"),
    (r"configured target environment", "raise `build.target`, or leave it out"),
    (
        r"Cannot find tsconfig file",
        "correct `build.tsconfig`: it is seen from the service's folder",
    ),
    (
        r"define|must be an entity name or (?:a )?(?:valid )?JS",
        "a value of `build.define` is JavaScript: text has quotes of its own, `'\"text\"'`",
    ),
)


def hint_for(text: str, notes: str) -> str:
    """Our own hint where there is one, else the bundler's notes."""
    for pattern, hint in _HINTS:
        if found := re.search(pattern, text):
            return found.expand(hint)
    return notes
