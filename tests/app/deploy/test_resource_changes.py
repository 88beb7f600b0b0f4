"""Changes of resources, as a plan shows them."""

from msgspec.structs import replace

from fabric.app.deploy.resource_changes import compare_resources
from fabric.model.records.record import StackResource


def resource(name: str, digest: str = "1", kind: str = "AWS::SQS::Queue") -> StackResource:
    return StackResource(name, kind, digest)


def test_resources_are_compared_by_id_type_and_hash() -> None:
    old = [resource("Same"), resource("Changed"), resource("Other"), resource("Gone")]
    new = [
        *(resource("Same"), resource("Changed", "2")),
        *(resource("Other", kind="AWS::SNS::Topic"), resource("New")),
    ]
    found = {one.id: one.action for one in compare_resources(old, new)}
    assert found == {"Changed": "change", "Other": "replace", "New": "add", "Gone": "delete"}


def test_a_resource_with_another_name_is_replaced() -> None:
    def action(before: str, after: str) -> str:
        old, new = (StackResource("Q", "AWS::SQS::Queue", one, one) for one in (before, after))
        if not before:
            old = replace(old, digest="other")
        [found] = compare_resources((old,), (new,))
        return found.action

    assert action("a", "b") == "replace"
    assert action("", "b") == "change", "an older version of fabric recorded no names"


def test_a_first_deploy_adds_all_resources() -> None:
    assert [one.action for one in compare_resources((), [resource("A"), resource("B")])] == [
        *("add", "add")
    ]
