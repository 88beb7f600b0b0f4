"""The JSON Schema and fabric's own check say the same of every document."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric.config.schema.check import check
from fabric.config.schema.compose import COMPOSE
from fabric.config.schema.config import CONFIG
from fabric.config.schema.documents import build_compose_schema, build_config_schema
from fabric.config.schema.shapes import Shape
from fabric.config.yaml.reader import read
from tests.support.documents import SCALARS, documents, mutations

_CHECKERS = {
    "config": (CONFIG, jsonschema.Draft7Validator(build_config_schema())),
    "compose": (COMPOSE, jsonschema.Draft7Validator(build_compose_schema())),
}
_DOCUMENTS = {kind: documents(shape) for kind, (shape, _) in _CHECKERS.items()}
_RELAXED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def _fits(shape: Shape, document: Any) -> bool:
    root = read("fabric.yml", json.dumps(document, ensure_ascii=False).encode()).root
    return not any(finding.is_fatal for finding in check(shape, root))


@pytest.mark.parametrize("kind", sorted(_CHECKERS))
@_RELAXED
@given(data=st.data())
def test_document_allowed_by_the_shape_is_accepted_by_both(kind: str, data: st.DataObject) -> None:
    shape, validator = _CHECKERS[kind]
    document = data.draw(_DOCUMENTS[kind])
    assert _fits(shape, document)
    assert validator.is_valid(document)


@pytest.mark.parametrize("kind", sorted(_CHECKERS))
@_RELAXED
@given(data=st.data())
def test_both_judge_a_damaged_document_alike(kind: str, data: st.DataObject) -> None:
    shape, validator = _CHECKERS[kind]
    document = data.draw(_DOCUMENTS[kind])
    damaged = data.draw(mutations(document))
    assert _fits(shape, damaged) == validator.is_valid(damaged)


@_RELAXED
@given(document=SCALARS)
def test_document_that_is_not_a_map_is_rejected_by_both(document: Any) -> None:
    shape, validator = _CHECKERS["config"]
    assert not _fits(shape, document)
    assert not validator.is_valid(document)
