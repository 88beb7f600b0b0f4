"""Bodies for schemathesis, which reads this file: configs that are sound, and all that is not.

A schema can say that a body is a text; what a config is, only these know.
"""

# mypy: disable-error-code="misc"

import json
from typing import Any

import schemathesis  # type: ignore[import-not-found]
from hypothesis import strategies as st

_NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
_TRIGGERS = st.one_of(
    st.builds(lambda name: {"type": "http", "method": "GET", "path": f"/{name}"}, _NAMES),
    st.just({"type": "cron", "schedule": "rate(1 day)"}),
    st.builds(lambda name: {"type": "queue", "queue": name}, _NAMES),
)
_VALUES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8).map(
        lambda text: text.replace("$", "")
    ),
    st.sampled_from(["${env:HOME,x}", "${env:API_TOKEN,none}", "${stage}", "${param:x,y}"]),
)
_FUNCTIONS = st.lists(
    st.fixed_dictionaries(
        {"name": _NAMES, "entry": st.just("src/hello.py"), "triggers": st.lists(_TRIGGERS)},
        optional={"memory": st.sampled_from([128, 512]), "env": st.dictionaries(_NAMES, _VALUES)},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda one: one["name"],
)
_SOUND = st.fixed_dictionaries(
    {
        "service": _NAMES,
        "provider": st.just({"name": "cloud1-lambda", "runtime": "python3.11"}),
        "functions": _FUNCTIONS,
    },
    optional={
        "env": st.dictionaries(st.from_regex(r"[A-Z]{1,6}", fullmatch=True), _VALUES, max_size=3),
        "stages": st.just({"prod": {"env": {"SIZE": "big"}}}),
    },
).map(lambda config: json.dumps(config).encode())
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
_ODD = st.builds(
    lambda config, key, value: json.dumps({**json.loads(config), key: value}).encode(),
    _SOUND,
    st.sampled_from(["service", "functions", "provider", "env", "backend", "deploy", "nonsense"]),
    _JSON,
)
_CUT = st.builds(lambda config, share: config[: int(len(config) * share)], _SOUND, st.floats(0, 1))
_HOSTILE = st.sampled_from(
    [
        b"[" * 200_000,
        b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        b"a: &a [*a]",
        "service: x".encode("utf-16"),
        b"\x00\x01",
        b"!!python/object/apply:os.system [id]",
        b"- just\n- a list",
        b"service: ${env:API_TOKEN}",
        b"",
        b" \n",
    ]
)

schemathesis.openapi.media_type(
    "application/yaml", st.one_of(_SOUND, _SOUND, _ODD, _CUT, _HOSTILE, st.binary(max_size=64))
)


@schemathesis.hook
def before_load_schema(_context: object, raw_schema: dict[str, Any]) -> None:
    """Bodies come from here alone: an example that is a text cannot stand beside them."""
    for methods in raw_schema["paths"].values():
        for operation in methods.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                content["schema"].pop("examples", None)
