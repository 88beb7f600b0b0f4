"""Whatever a config of Serverless combines: the result loads, and no value is lost in silence."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.config.load import BindingInputs, ConfigText, load_config
from fabric.importing.source import Fate
from fabric.model.problems import FabricError
from tests.support.imports import Conversion, from_serverless

Values = dict[str, Any]
ACCOUNT = "eu-central-1:111122223333"
_CODE = {"src/api.js": ""}

name = st.text("abcdefgh", min_size=5, max_size=9)
# Values that are nowhere by chance.
marked = name.map(lambda one: f"marked-{one}")
route = st.tuples(st.sampled_from(["GET", "POST", "*"]), name)
events = st.one_of(
    route.map(lambda one: {"httpApi": {"method": one[0], "path": f"/marked-{one[1]}"}}),
    marked.map(lambda one: {"sqs": {"arn": f"arn:aws:sqs:{ACCOUNT}:{one}", "batchSize": 4}}),
    marked.map(lambda one: {"sns": {"arn": f"arn:aws:sns:{ACCOUNT}:{one}", "topicName": one}}),
    marked.map(lambda one: {"stream": f"arn:aws:kinesis:{ACCOUNT}:stream/{one}"}),
    marked.map(lambda one: {"eventBridge": {"pattern": {"source": [one]}}}),
    marked.map(lambda one: {"schedule": {"rate": ["rate(5 minutes)"], "input": {"for": one}}}),
    name.map(lambda one: {"http": {"method": "get", "path": f"marked-{one}", "private": True}}),
    name.map(
        lambda one: {
            "http": {
                "path": f"marked-{one}",
                "method": "post",
                "request": {"parameters": {"querystrings": {one: True}, "headers": {one: False}}},
            }
        }
    ),
    marked.map(lambda one: {"alexaSkill": {"appId": one}}),
    marked.map(lambda one: {"iot": {"sql": "SELECT 1", "description": one}}),
    marked.map(lambda one: {"somethingNew": {"name": one}}),
)
function: st.SearchStrategy[Values] = st.fixed_dictionaries(
    {"handler": st.just("src/api.handler")},
    optional={
        "description": marked,
        "environment": st.dictionaries(name.map(str.upper), marked, min_size=1, max_size=3),
        "memorySize": st.integers(128, 512),
        "timeout": st.integers(1, 29),
        "tags": st.dictionaries(name, marked, min_size=1, max_size=2),
        "events": st.lists(events, min_size=1, max_size=3, unique_by=json.dumps),
        "unknownSetting": marked,
    },
)
provider: st.SearchStrategy[Values] = st.fixed_dictionaries(
    {"name": st.just("aws"), "runtime": st.just("nodejs22.x")},
    optional={
        "region": st.just("eu-central-1"),
        "environment": st.dictionaries(name.map(str.upper), marked, min_size=1, max_size=2),
        "tags": st.dictionaries(name, marked, min_size=1, max_size=2),
        "unknownSetting": marked,
    },
)
sources: st.SearchStrategy[Values] = st.fixed_dictionaries(
    {
        "service": name,
        "provider": provider,
        "functions": st.dictionaries(name, function, min_size=1, max_size=3),
    },
    optional={
        "custom": st.dictionaries(name, marked, max_size=2),
        "resources": marked.map(
            lambda one: {
                "Resources": {"Jobs": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": one}}}
            }
        ),
    },
)


@contextmanager
def suppress_duplicate_routes() -> Iterator[None]:
    """Two functions with one route: API Gateway refuses them too."""
    try:
        yield
    except FabricError as error:
        if {one.code for one in error.problems} != {"config/duplicate-route"}:
            raise


def _find_marked(value: object) -> set[str]:
    if isinstance(value, Mapping):
        return set().union(*map(_find_marked, value.values()))
    if isinstance(value, list):
        return set().union(*map(_find_marked, value))
    text = str(value)
    return {text[text.index("marked-") :].strip("'/")} if "marked-" in text else set()


def _find_reported(source: Values, done: Conversion) -> set[str]:
    """The marked values below keys that the report names as not converted."""
    found: set[str] = set()
    for fate in (Fate.NOT_CARRIED, Fate.DROPPED):
        for note in done.settled.select(fate):
            value: Any = source
            for step in note.path:
                value = value[int(step) if isinstance(value, list) else step]
            found |= _find_marked(value)
    return found


@given(sources)
@settings(max_examples=60, deadline=None)
def test_each_value_is_in_the_result_or_in_the_report(source: Values) -> None:
    done = from_serverless(yaml.safe_dump(source, sort_keys=False), _CODE)
    written = _find_marked(done.config) | _find_marked(dict(done.stacks))
    assert _find_marked(source) <= written | _find_reported(source, done)


@given(sources)
@settings(max_examples=60, deadline=None)
def test_the_result_loads(source: Values) -> None:
    done = from_serverless(yaml.safe_dump(source, sort_keys=False), _CODE)
    stacks = done.extension["stack"] if done.stacks else {}
    templates = {stacks[phase]["template"]: json.dumps(one) for phase, one in done.stacks.items()}
    text = yaml.safe_dump(done.config, sort_keys=False)
    inputs = BindingInputs(read_text=templates.get)
    with suppress_duplicate_routes():
        load_config(ConfigText("fabric.yml", text.encode(), {}, "dev", bindings=inputs))
