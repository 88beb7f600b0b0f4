"""Lambda's calls about a whole function: reserved concurrency, and tags."""

from collections.abc import Iterable

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import Function, Reference
from tests.support.servers.strict_cloud1.operations import heeding
from tests.support.servers.strict_cloud1.refusals import wrong_value

_CONCURRENT = 1000
_LEFT_TO_ALL = 100
_MOST_TAGS = 50


def _function(region: Region, asked: Fields) -> Function:
    return region.function(Reference.of(asked["FunctionName"]))


def _reserve(region: Region, asked: Fields) -> Fields:
    function = _function(region, asked)
    function.must_be_settled()
    others = sum(one.reserved or 0 for one in region.functions.values() if one is not function)
    if _CONCURRENT - others - asked["ReservedConcurrentExecutions"] < _LEFT_TO_ALL:
        raise wrong_value(
            "Specified ReservedConcurrentExecutions for function decreases account's"
            " UnreservedConcurrentExecution below its minimum value of [100]."
        )
    function.reserved = asked["ReservedConcurrentExecutions"]
    return _reserved(region, asked)


def _reserved(region: Region, asked: Fields) -> Fields:
    return {"ReservedConcurrentExecutions": _function(region, asked).reserved}


def _release(region: Region, asked: Fields) -> Fields:
    _function(region, asked).reserved = None
    return {}


def _tagged(region: Region, asked: Fields) -> Function:
    reference = Reference.of(asked["Resource"])
    if reference.qualifier:
        raise wrong_value("Tags are on functions, not on their versions and aliases.")
    return region.function(reference)


def _tag(region: Region, asked: Fields) -> Fields:
    function = _tagged(region, asked)
    _refuse_system_tags(asked["Tags"])
    if len({*function.tags, *asked["Tags"]}) > _MOST_TAGS:
        raise wrong_value("The number of tags exceeds the limit of 50.")
    function.tags |= asked["Tags"]
    return {}


def _refuse_system_tags(names: Iterable[str]) -> None:
    """Those of CloudFormation are changed by nobody else."""
    if any(one.lower().startswith("aws:") for one in names):
        raise wrong_value("aws: prefixed tag key names are not allowed for external use.")


def _untag(region: Region, asked: Fields) -> Fields:
    function = _tagged(region, asked)
    _refuse_system_tags(asked["TagKeys"])
    for name in asked["TagKeys"]:
        function.tags.pop(name, None)
    return {}


def _tags(region: Region, asked: Fields) -> Fields:
    return {"Tags": _tagged(region, asked).tags}


def _recur(region: Region, asked: Fields) -> Fields:
    _function(region, asked).recursion = asked["RecursiveLoop"]
    return _recursion(region, asked)


def _recursion(region: Region, asked: Fields) -> Fields:
    return {"RecursiveLoop": _function(region, asked).recursion}


SETTING_CALLS = {
    "PutFunctionRecursionConfig": heeding("FunctionName RecursiveLoop", _recur),
    "GetFunctionRecursionConfig": heeding("FunctionName", _recursion),
    "PutFunctionConcurrency": heeding("FunctionName ReservedConcurrentExecutions", _reserve),
    "GetFunctionConcurrency": heeding("FunctionName", _reserved),
    "DeleteFunctionConcurrency": heeding("FunctionName", _release),
    "TagResource": heeding("Resource Tags", _tag),
    "UntagResource": heeding("Resource TagKeys", _untag),
    "ListTags": heeding("Resource", _tags),
}
