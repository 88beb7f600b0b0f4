"""The release of a service: the functions it receives, and what the record contains afterwards."""

import pytest
from msgspec.structs import replace

from fabric.graph.decide import Action
from fabric.graph.plan import Known
from fabric.model.hashing import hash_fields
from fabric.model.ownership_tags import mark_of
from fabric.model.problems import FabricError
from fabric.model.records.record import RELEASE_UNCERTAIN, Mode
from fabric.model.secrets.secrecy import REDACTED
from fabric.tasks.deploy_tools import ShownTexts, Values
from fabric.tasks.release import ReleaseKind, list_functions_to_release, list_live_functions
from tests.support.records import function, record
from tests.tasks.deploys import FAILED, Deploys, FakeDeployer, release, removal
from tests.tasks.tools import HeldRecord, QuietTools

SHOWN, SECRET = f'{{"type": "http", "path": "{REDACTED}"}}', '{"type": "http", "path": "/hush"}'
LIVE = record(mode=Mode.REAL, functions=(function(), function("world")), kept=(("api", "a"),))
HIDDEN = replace(
    LIVE,
    functions=(function(triggers=(SHOWN,), settings=(("triggers", "h1"),)), function("world")),
)
AUTH = "release:auth@cloud1-lambda"


def configured(triggers: str, shown: str) -> Deploys:
    """The config has triggers with this hash and these texts without secrets."""
    deploys = Deploys(HeldRecord(HIDDEN))
    deploys.known["hello"] = Values(
        triggers=(SECRET,),
        shown=ShownTexts((shown,)),
        tags=(("a", "b"),),
        spec=("hello", (("triggers", triggers),), ()),
    )
    return deploys


def ran(deploys: Deploys, *, force: bool = False) -> None:
    ReleaseKind(deploys.tools(force=force)).run(release("hello", "world"), {}, QuietTools())


def known(deploys: Deploys, *, force: bool = False) -> Action:
    task = release("hello", "world", outside=(AUTH,))
    kind = ReleaseKind(deploys.tools(force=force))
    return kind.judge(Known(task, kind.code(task), ())).action


def test_a_release_records_address_outputs_and_values_for_the_next_one() -> None:
    deploys = Deploys(HeldRecord(LIVE))
    ran(deploys)
    now = deploys.held.record
    assert now.endpoint == "https://new.example"
    assert now.outputs == (("url", "https://shop.example"), ("extra", "1"))
    assert now.kept == (("api", "a1"),)
    assert now.release_key


def test_a_release_that_was_made_is_up_to_date() -> None:
    deploys = Deploys(HeldRecord(LIVE))
    assert known(deploys) is Action.RUN
    task = release("hello", "world", outside=(AUTH,))
    ReleaseKind(deploys.tools()).run(task, {}, QuietTools())
    assert known(deploys) is Action.SKIP
    assert known(deploys, force=True) is Action.RUN


def test_a_changed_output_of_another_service_releases_again() -> None:
    deploys = Deploys(HeldRecord(LIVE))
    task = release("hello", "world", outside=(AUTH,))
    ReleaseKind(deploys.tools()).run(task, {}, QuietTools())
    assert known(replace_outside(deploys)) is Action.RUN


def replace_outside(deploys: Deploys) -> Deploys:
    return Deploys(deploys.held, outside=((AUTH, hash_fields(("moved",))),))


@pytest.mark.parametrize(
    ("mode", "is_uncertain"), [(Mode.REAL, True), (Mode.COMMAND, False), (Mode.SIMULATED, False)]
)
def test_only_a_failed_real_release_leaves_doubt(mode: Mode, *, is_uncertain: bool) -> None:
    for deploys in (
        Deploys(HeldRecord(LIVE), FakeDeployer(FAILED)),
        Deploys(HeldRecord(LIVE), health=FAILED),
    ):
        kind, task = ReleaseKind(deploys.tools()), release("hello", mode=mode)
        with pytest.raises(FabricError):
            kind.run(task, {}, QuietTools())
        left = deploys.held.record
        assert (RELEASE_UNCERTAIN in left.kept) == is_uncertain
        assert left.endpoint == LIVE.endpoint


def test_a_forced_release_reads_the_state_from_the_provider() -> None:
    for force, expected in ((False, LIVE.kept), (True, (*LIVE.kept, RELEASE_UNCERTAIN))):
        deploys = Deploys(HeldRecord(LIVE))
        ran(deploys, force=force)
        assert deploys.provider.previous
        assert deploys.provider.previous.kept == expected


def test_secrets_in_triggers_come_from_the_config_if_it_has_the_recorded_ones() -> None:
    deploys = configured("h1", SHOWN)
    hello, world = list_functions_to_release(deploys, deploys.held, ("hello", "world"))
    assert (hello.triggers, hello.tags) == ((SECRET,), (("a", "b"),))
    assert world.triggers == ()


@pytest.mark.parametrize("shown", [SHOWN, "other"])
def test_no_placeholder_of_a_secret_is_released(shown: str) -> None:
    deploys = configured("h2", shown)
    with pytest.raises(FabricError) as raised:
        list_functions_to_release(deploys, deploys.held, ("hello",))
    assert raised.value.first.code == "deploy/unknown-trigger"


def test_other_secrets_in_the_same_triggers_are_released_if_they_are_allowed() -> None:
    deploys = configured("h2", SHOWN)
    (hello,) = list_functions_to_release(deploys, deploys.held, ("hello",), takes_today=True)
    assert hello.triggers == (SECRET,)


def test_triggers_without_secrets_are_those_of_the_record() -> None:
    deploys = Deploys(HeldRecord(replace(LIVE, functions=(function(triggers=("plain",)),))))
    (hello,) = list_functions_to_release(deploys, deploys.held, ("hello",))
    assert hello.triggers == ("plain",)


def test_only_functions_that_are_still_in_the_config_are_released() -> None:
    (world,) = list_live_functions(HeldRecord(LIVE), ("world", "new"))
    assert (world.name, world.resource_name) == ("world", "shop-world")
    assert world.mark == mark_of("k", LIVE.salt)


def test_the_reserved_concurrency_of_a_function_is_released() -> None:
    settings = (("concurrency", "reserved=5"),)
    live = replace(LIVE, functions=(function(settings=settings), function("world")))
    (hello, world) = list_live_functions(HeldRecord(live), ("hello", "world"))
    assert (hello.reserved_concurrency, world.reserved_concurrency) == (5, None)


def test_a_task_of_another_kind_is_an_error() -> None:
    with pytest.raises(TypeError, match="is not a task of kind `release`"):
        ReleaseKind(Deploys(HeldRecord(LIVE)).tools()).claim(removal())
