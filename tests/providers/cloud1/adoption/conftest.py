"""A shop, and the tool that deployed it before."""

from pathlib import Path

import pytest

from tests.support.cloud1_shop import Shop
from tests.support.in_process import project
from tests.support.other_tool import OtherTool
from tests.support.servers.strict_cloud1.client import StrictCloud1


@pytest.fixture
def shop(cloud1: StrictCloud1, tmp_path: Path) -> Shop:
    made = Shop(cloud1, project(tmp_path, sources={}))
    made.has("hello", "new")
    return made


@pytest.fixture
def other(shop: Shop) -> OtherTool:
    return OtherTool(shop)
