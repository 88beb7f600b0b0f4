"""Lambda's calls about aliases, which stand for one version or share calls out between two."""

from tests.support.servers.strict_cloud1.accounts import Region
from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.functions import (
    LATEST,
    Alias,
    Function,
    Reference,
    new_revision,
)
from tests.support.servers.strict_cloud1.operations import heeding, paged
from tests.support.servers.strict_cloud1.refusals import (
    RefusalError,
    conflict,
    not_found,
    wrong_value,
)


def _function(region: Region, asked: Fields) -> Function:
    return region.function(Reference.of(asked["FunctionName"]))


def _alias(function: Function, name: str) -> Alias:
    if name not in function.aliases:
        raise not_found(f"Cannot find alias arn: {function.arn(name)}")
    return function.aliases[name]


def _checked(function: Function, shown: Fields) -> Fields:
    main = shown["FunctionVersion"]
    others = shown.get("RoutingConfig", {}).get("AdditionalVersionWeights", {})
    for number in (main, *others):
        function.numbered(number)
    if others and LATEST in (main, *others):
        raise wrong_value("$LATEST is not supported for an alias pointing to more than 1 version")
    if len(others) > 1:
        raise wrong_value("Number of items in AdditionalVersionWeights cannot be greater than 1.")
    if main in others:
        raise wrong_value(f"Invalid function version {main}. Function version is in both places.")
    return {**shown, "RevisionId": new_revision()}


def _create(region: Region, asked: Fields) -> Fields:
    function = _function(region, asked)
    name = asked["Name"]
    if name in function.aliases:
        raise conflict(f"Alias already exists: {function.arn(name)}")
    own = {"AliasArn": function.arn(name), "Description": asked.get("Description", "")}
    asked = {key: value for key, value in asked.items() if key != "FunctionName"}
    function.aliases[name] = Alias(_checked(function, {**asked, **own}))
    return function.aliases[name].shown


def _update(region: Region, asked: Fields) -> Fields:
    function = _function(region, asked)
    alias = _alias(function, asked["Name"])
    if asked.get("RevisionId") not in {None, alias.shown["RevisionId"]}:
        message = "The Revision Id provided does not match the latest Revision Id."
        raise RefusalError(412, "PreconditionFailedException", message)
    changed = {
        name: asked[name]
        for name in ("FunctionVersion", "RoutingConfig", "Description")
        if name in asked
    }
    function.aliases[asked["Name"]] = Alias(_checked(function, {**alias.shown, **changed}))
    return function.aliases[asked["Name"]].shown


def _get(region: Region, asked: Fields) -> Fields:
    return _alias(_function(region, asked), asked["Name"]).shown


def _list(region: Region, asked: Fields) -> Fields:
    rows = [
        alias.shown
        for _, alias in sorted(_function(region, asked).aliases.items())
        if asked.get("FunctionVersion") in {None, alias.shown["FunctionVersion"]}
    ]
    return paged(rows, "Aliases", asked)


def _delete(region: Region, asked: Fields) -> Fields:
    """One that is not there is removed, too."""
    function = _function(region, asked)
    function.aliases.pop(asked["Name"], None)
    function.policies.pop(asked["Name"], None)
    return {}


ALIAS_CALLS = {
    "CreateAlias": heeding("FunctionName Name FunctionVersion Description RoutingConfig", _create),
    "UpdateAlias": heeding(
        "FunctionName Name FunctionVersion Description RoutingConfig RevisionId", _update
    ),
    "GetAlias": heeding("FunctionName Name", _get),
    "ListAliases": heeding("FunctionName FunctionVersion Marker MaxItems", _list),
    "DeleteAlias": heeding("FunctionName Name", _delete),
}
