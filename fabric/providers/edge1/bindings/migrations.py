"""Migrations of Durable Objects: the classes of a service, without an API call."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.providers.edge1.bindings.bindings import read_map


class ObjectsPlan(Struct, frozen=True):
    """The classes of Durable Objects that a service has itself."""

    function: str
    # The classes that bindings of the service name.
    used: tuple[str, ...]
    migrations: tuple[JsonObject, ...] = ()
    is_deleted: bool = False

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes after all migrations."""
        return tuple(_apply_migrations(self.migrations).classes)

    def find_problems(self) -> Iterator[str]:
        """Yield why migrations cannot be applied one after the other."""
        tags = [str(one["tag"]) for one in self.migrations]
        yield from (f"the tag `{one}` twice" for one in sorted({*tags}) if tags.count(one) > 1)
        yield from _apply_migrations(self.migrations).problems

    @property
    def tag(self) -> str:
        return str(self.migrations[-1]["tag"]) if self.migrations else ""

    def list_pending(self, applied: str) -> tuple[JsonObject, ...]:
        """List the migrations after the applied one. Raises if the config does not contain it:
        classes would be created or deleted again."""
        if not applied:
            return self.migrations
        tags = [str(one["tag"]) for one in self.migrations]
        if applied not in tags:
            message = f"the migration `{applied}` is applied, and the config does not contain it"
            hint = "keep applied migrations in `bindings.migrations`, and add new ones at the end"
            raise FabricError(Problem("deploy/unknown-migration", message, hint))
        return self.migrations[tags.index(applied) + 1 :]


class _Applied(Struct):
    """The classes after migrations, in order, and problems of these migrations."""

    classes: dict[str, None] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        if name in self.classes:
            self.problems.append(f"the class `{name}`, which exists already")
        self.classes[name] = None

    def remove(self, name: str) -> None:
        if name not in self.classes:
            self.problems.append(f"the class `{name}`, which does not exist")
        self.classes.pop(name, None)


def _apply_migrations(migrations: Sequence[JsonObject]) -> _Applied:
    done = _Applied()
    for step in migrations:
        for name in _read_new_classes(step):
            done.add(name)
        for old, new in _read_renames(step):
            done.remove(old)
            done.add(new)
        for name in _read_texts(step, "deleted_classes"):
            done.remove(name)
    return done


def _read_texts(step: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(step.get(key) or ())


def _read_new_classes(step: Mapping[str, Any]) -> Iterator[str]:
    yield from _read_texts(step, "new_sqlite_classes")
    yield from _read_texts(step, "new_classes")
    yield from (one["to"] for one in step.get("transferred_classes") or ())


def _read_renames(step: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((one["from"], one["to"]) for one in step.get("renamed_classes") or ())


def plan_objects(section: JsonObject) -> ObjectsPlan | None:
    """Plan the classes of the service; None if it has no classes."""
    objects, given = read_map(section, "durable_objects"), dict[str, Any](section)
    rows = [one for one in objects.get("bindings") or () if not one.get("script_name")]
    if not rows:
        return None
    return ObjectsPlan(
        str(objects.get("function") or ""),
        tuple(one["class_name"] for one in rows),
        tuple(given.get("migrations") or ()),
        is_deleted=objects.get("onRemove") == "delete",
    )
