"""Records of adopted functions differ from the config only where the provider does."""

from typing import Any

from msgspec.structs import replace

from fabric.app.deploy.adopted_records import WantedFunction, build_adopted_record
from fabric.graph.judge import DesiredFunction, compare_with_live
from fabric.model.hashing import hash_fields
from fabric.model.late_values import format_placeholder
from fabric.model.names import Digest
from fabric.model.records.record import FunctionRecord, Record, RecordRef
from fabric.model.secrets.secret import Secret
from fabric.model.task import Output
from fabric.providers.core.contract import AdoptableFunction, LiveFunction
from fabric.system.crypto.value_seal import ValueSeal

_SHA = "a" * 64
_ENV = (("MOOD", "good"),)
_DESIRED = DesiredFunction(
    "hello",
    Digest("key"),
    (("runtime", "python3.11"), ("memory", "512")),
    (("MOOD", hash_fields(("good",))),),
    (("package:shop/hello", "digest"),),
)
_PACKAGE = Output(hash_fields(("package",)), facts=(("sha256", _SHA), ("handler", "hello.handler")))
_WANTED = WantedFunction(
    desired=_DESIRED, environment=_ENV, triggers=(), package=_PACKAGE, is_complete=True
)
_LIVE = LiveFunction("hello", "shop-dev-hello", "arn:1", artifact_sha256=_SHA)
_FOUND = AdoptableFunction(live=_LIVE, environment=Secret(_ENV), handler="hello.handler")
_RECORD = Record(RecordRef("shop", "dev", "cloud1-lambda"), "cloud1-lambda", "line", "salt")


def adopted(wanted: WantedFunction = _WANTED, **found: Any) -> FunctionRecord:
    seal = ValueSeal(Secret(None), lambda size: "0" * size)
    return build_adopted_record(wanted, replace(_FOUND, **found), _RECORD, seal, "now")


def changed(one: FunctionRecord, desired: DesiredFunction = _DESIRED) -> list[str]:
    return [change.name for change in compare_with_live(desired, one, "salt")]


def test_an_equal_function_has_the_key_of_the_config() -> None:
    assert (adopted().key, changed(adopted())) == ("key", [])


def test_each_difference_is_a_change() -> None:
    one = adopted(
        differing=(("memory", "256"), ("vpc", "{}")),
        environment=Secret((("MOOD", "bad"), ("OLD", "1"))),
        handler="index.handler",
        live=replace(_LIVE, artifact_sha256="b" * 64),
    )
    assert one.key != "key"
    assert changed(one) == ["memory", "vpc", "entry", "MOOD", "OLD", "package:shop/hello"]


def test_a_package_that_is_not_built_is_a_change() -> None:
    unbuilt = replace(_WANTED, package=None, is_complete=False)
    assert changed(adopted(unbuilt)) == ["package:shop/hello"]


def test_a_value_that_is_known_later_is_not_a_change() -> None:
    late = format_placeholder("stack:Mood")
    desired = replace(_DESIRED, env=(("MOOD", hash_fields((late,))),))
    wanted = replace(_WANTED, desired=desired, environment=(("MOOD", late),))
    assert changed(adopted(wanted), desired) == []
