"""What holds for all tests."""

import gc
import itertools
import math
import random
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import settings
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

from tests.support.servers.cloud2.fixtures import cloud2, cloud2_endpoint
from tests.support.servers.cloud3.fixtures import cloud3, cloud3_served
from tests.support.servers.cloud4.fixtures import cloud4, cloud4_served
from tests.support.servers.cluster.fixtures import cluster, real_plane
from tests.support.servers.edge1.fixtures import edge1, edge1_endpoint
from tests.support.servers.fleet import fleet
from tests.support.servers.host1.fixtures import host1, host1_served
from tests.support.servers.host2.fixtures import host2, host2_served
from tests.support.servers.host3.fixtures import host3, host3_served
from tests.support.servers.pdns import pdns, pdns_relay, pdns_served
from tests.support.servers.registry_fixtures import proxy, registry
from tests.support.servers.strict_cloud1.fixtures import cloud1, strict_cloud1_server
from tests.support.servers.whisk.fixtures import cloud5, cloud6, whisk_served

__all__ = [
    "cloud1",
    "cloud2",
    "cloud2_endpoint",
    "cloud3",
    "cloud3_served",
    "cloud4",
    "cloud4_served",
    "cloud5",
    "cloud6",
    "cluster",
    "edge1",
    "edge1_endpoint",
    "fleet",
    "host1",
    "host1_served",
    "host2",
    "host2_served",
    "host3",
    "host3_served",
    "pdns",
    "pdns_relay",
    "pdns_served",
    "proxy",
    "real_plane",
    "registry",
    "strict_cloud1_server",
    "whisk_served",
]

_TESTS = Path(__file__).parent
# The tests of the packages with a threshold of coverage, and of their callers.
_MEASURED = frozenset(("graph", "config", "engine", "app", "tasks"))
_SERVERS = frozenset(__all__)
_GARBAGE = 100_000
_STRIDE = 4
_SAMPLE = 6
# These tests take long, or are many.
_SAMPLED = ("sampled", "slow", "command", "flow", "network")

# No test says how quick a machine is.
settings.register_profile("fabric", deadline=None, max_examples=40)
# For a check of every commit.
settings.register_profile("quick", deadline=None, max_examples=10)
# To search for longer: --hypothesis-profile=thorough
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("fabric")

# Started in the background, or by nohup, a shell has these ignored: what tests start would ignore
# them too.
for _number, _default in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _default)

_ENDS = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-call",
        action="store_true",
        help="Interrupt at each provider call. By default a random quarter of them is tested.",
    )
    parser.addoption(
        "--sample",
        metavar="SEED",
        help="Of each long test with parameters, run a sixth of them. The seed chooses.",
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    is_rule = item.path.relative_to(_TESTS).parts[0] in _MEASURED
    if is_rule and not any(map(item.get_closest_marker, ("flow", "sampled"))):
        item.add_marker(pytest.mark.measured)
    if not _SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.server)


def pytest_sessionstart() -> None:
    # All that is collected stays. To search it for garbage takes a quarter of this time.
    gc.disable()


def pytest_collection_finish() -> None:
    """Searches for garbage are rare, as in a command. Hypothesis requires that they find all."""
    gc.enable()
    gc.set_threshold(_GARBAGE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each rule runs, with a sixth of its parameters."""
    seed = config.getoption("--sample")
    if seed is None:
        return
    rules: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        # Coverage must not depend on the sample.
        if not item.get_closest_marker("measured") and any(map(item.get_closest_marker, _SAMPLED)):
            rules[item.nodeid.partition("[")[0]].append(item.nodeid)
    left_out: set[str] = set()
    for rule, cases in sorted(rules.items()):
        choose = random.Random(f"{seed} {rule}")
        left_out |= set(cases) - set(choose.sample(sorted(cases), math.ceil(len(cases) / _SAMPLE)))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


@pytest.fixture
def call_numbers(request: pytest.FixtureRequest) -> Iterator[int]:
    """The calls of an operation to interrupt, by number. The seed of the run selects them."""
    if request.config.getoption("--every-call"):
        return itertools.count()
    return itertools.count(random.randrange(_STRIDE), _STRIDE)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController, error: object | None) -> None:
    """A worker that died says nothing itself: the signal that ended it is the first clue."""
    if error:
        code = node.gateway._io.wait()  # noqa: SLF001 - nobody else knows it
        ends = node.config.stash.setdefault(_ENDS, [])
        ends.append(f"worker {node.gateway.id} ended with {code}: {error}")


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    for end in config.stash.get(_ENDS, []):
        terminalreporter.write_line(end, red=True)
