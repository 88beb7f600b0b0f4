"""Adoptions that are not finished, and those that can be undone."""

from msgspec.structs import replace

from fabric.model.records.adoptions import (
    can_release_adoption,
    find_unfinished_adoption,
    list_unfinished_functions,
    mark_unfinished,
    unmark_unfinished,
)
from fabric.model.records.changes import FunctionGone, FunctionUnsure, apply_change
from fabric.model.records.record import Intent, Operation, Record
from tests.support.records import record


def make_failed(name: str = "extra") -> Record:
    unsure = apply_change(record(), FunctionUnsure("", name))
    return replace(unsure, kept=mark_unfinished((("place", "here"),), name))


def test_a_failed_adoption_is_unfinished_until_it_is_repeated() -> None:
    failed = make_failed()
    assert list_unfinished_functions(failed) == ("extra",)
    repeated = replace(failed, kept=unmark_unfinished(failed.kept, "extra"))
    assert repeated.kept == (("place", "here"),)
    assert find_unfinished_adoption(repeated) is None


def test_a_failed_adoption_ends_with_its_function() -> None:
    assert list_unfinished_functions(apply_change(make_failed(), FunctionGone("", "extra"))) == ()


def test_an_interrupted_adoption_is_unfinished_but_an_interrupted_deploy_is_not() -> None:
    rows = [
        Intent(f"{kind}:shop/{name}@cloud1-lambda", Operation.DEPLOY, name)
        for kind, name in (("adopt", "one"), ("deploy", "two"))
    ]
    assert list_unfinished_functions(replace(record(), pending=tuple(rows))) == ("one",)


def test_the_hint_names_the_undo_only_before_a_deploy() -> None:
    new = replace(make_failed(), functions=(), history=())
    new = apply_change(new, FunctionUnsure("", "extra"))
    assert can_release_adoption(new)
    assert not can_release_adoption(make_failed())
    first, later = map(find_unfinished_adoption, (new, make_failed()))
    assert first is not None
    assert "--release" in first.hint
    assert later is not None
    assert "--release" not in later.hint
