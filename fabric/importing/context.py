"""Shared steps of the conversions: copy values of a source into a config, and note the result."""

import re

from fabric.config.yaml.nodes import Node, Scalar, Sequence
from fabric.importing.credential_names import is_credential_name
from fabric.importing.credentials import Credentials
from fabric.importing.draft import Fields, Value
from fabric.importing.intrinsics import Intrinsics, LogicalNames, NotCarriedError, OutputRequests
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings
from fabric.model.other_tools import STAND_IN
from fabric.model.outcomes.json_struct import Json

_NUMBER = re.compile(r"\s*([0-9]+)\s*(?:MB|s)?\s*", re.IGNORECASE)
_STAND_INS = (
    ("layer", "arn:aws:lambda:us-east-1:000000000000:layer:set-me:1"),
    ("cluster", "arn:aws:kafka:us-east-1:000000000000:cluster/set-me/1"),
    ("rolearn", "arn:aws:iam::000000000000:role/set-me"),
    ("secretarn", "arn:aws:secretsmanager:us-east-1:000000000000:secret:set-me"),
    ("arn", "arn:aws:sqs:us-east-1:000000000000:set-me"),
    ("domain", "set-me.example.com"),
)


def choose_stand_in(name: str) -> str:
    """Choose a value for a parameter without one, by its name, that passes the checks of forms."""
    return next((text for word, text in _STAND_INS if word in name.lower()), STAND_IN)


class Context:
    """The state of one conversion."""

    def __init__(
        self,
        names: LogicalNames,
        credentials: Credentials,
        ledger: Ledger,
        surroundings: Surroundings,
    ) -> None:
        self.names = names
        self.credentials = credentials
        self.ledger = ledger
        self.surroundings = surroundings
        # Outputs of the stack before the functions.
        self.requests = OutputRequests()
        self.intrinsics = Intrinsics(names, self.requests)

    def read(self, at: At) -> Node | None:
        """Convert the functions in a value. A value that has no equivalent is noted."""
        if at.is_missing or at.node is None:
            return None
        self.requests.user = at
        try:
            found = self.intrinsics.convert(at.node, _name_output(at))
        except NotCarriedError as error:
            self.ledger.lose(at, error.reason, error.hint)
            return None
        return None if isinstance(found, Scalar) and found.value is None else found

    def read_text(self, at: At) -> str:
        found = self.read(at)
        return found.text if isinstance(found, Scalar) else ""

    def read_texts(self, at: At) -> list[str]:
        """Read a text or a list of texts."""
        found: list[str] = []
        for one in at.list_items():
            items = self.names.lists.get(one.get("Ref").text) or self._split_default(one)
            if items is not None:
                self.ledger.change(one, "the items of the parameter are written out", str(items))
            found += [part.text for part in self._read_items(one)] if items is None else items
        return [text for text in found if text]

    def _split_default(self, at: At) -> list[str] | None:
        """Split the default of a parameter, as `!Split [",", !Ref Subnets]` does."""
        parts = at.get("Fn::Split").list_items() if at.is_map else ()
        name = parts[1].get("Ref").text if len(parts) == 2 else ""  # noqa: PLR2004
        default = self.names.defaults.get(name, "")
        separator = parts[0].text if default else ""
        return [one.strip() for one in default.split(separator)] if separator else None

    def _read_items(self, at: At) -> tuple[Scalar, ...]:
        """Read a text, or the items of a function that returns a list."""
        found = self.read(at)
        items = found.items if isinstance(found, Sequence) else (found,)
        return tuple(one for one in items if isinstance(one, Scalar))

    def read_number(self, at: At) -> int | str | None:
        """Read a number, or a text with a binding."""
        text = self.read_text(at)
        found = _NUMBER.fullmatch(text)
        if found:
            return int(found[1])
        return text if text.startswith("${") else None

    def read_plain(self, at: At) -> Json:
        """Read a value as JSON, with functions converted."""
        found = self.read(at)
        return None if found is None else At(found).value

    def copy(self, at: At, fields: Fields, key: str) -> None:
        found = self.read(at)
        if found is not None:
            fields.put(key, found, at)
            self.ledger.carry(at)

    def copy_number(self, at: At, fields: Fields, key: str) -> None:
        if at.is_missing:
            return
        found = self.read_number(at)
        if found is None or str(found).startswith("${stack:"):
            self.ledger.lose(at, "the value is not a number that is known before the deploy")
            return
        fields.put(key, found, at)
        if str(found) == at.text or str(found).startswith("${"):
            self.ledger.carry(at)
        else:
            self.ledger.change(at, "the unit is removed", str(found))

    def put(self, at: At, fields: Fields, key: str, value: Value) -> None:
        """Put a converted value, if its source is set."""
        if not at.is_missing and value not in (None, [], {}, ""):
            fields.put(key, value, at)
            self.ledger.carry(at)

    def copy_map(self, at: At, fields: Fields, key: str) -> None:
        """Copy a map of texts, entry by entry: one can be without an equivalent."""
        for entry in at.list_entries():
            if key == "tags" and is_credential_name(entry.key):
                self.ledger.lose(entry, "all users of the account can read a tag")
            else:
                self.copy(entry, fields.child(key, at), entry.key)

    def copy_environment(self, at: At, fields: Fields, key: str) -> None:
        """Copy variables."""
        for entry in at.list_entries():
            self.copy_variable(entry, fields.child(key, at))

    def copy_variable(self, at: At, fields: Fields) -> None:
        """Copy a variable. A literal value of a credential becomes a reference."""
        name, text = at.key, at.text
        if text and "${" not in text and is_credential_name(name):
            fields.put(name, self.credentials.hide(at, name, text), at)
        elif at.is_missing:
            self.ledger.lose(at, "the variable has no value")
        else:
            self.copy(at, fields, name)


def _name_output(at: At) -> str:
    """Name an output for an expression at this place."""
    words = [one for one in at.path[-3:] if not one.isdigit()]
    return "".join(one[:1].upper() + one[1:] for one in words)
