"""Deploys to cloud1: how often it is asked, and how long the whole command takes.

The server is that of the tests, in a process of its own beside the command: its time is in all
figures of time, and in none of the counts.
"""

import statistics
from collections.abc import Sequence

from benchmarks.cloud1_shop import Cloud1Shop, RanCommand, cloud1_server
from benchmarks.places import WORK
from benchmarks.row import Options, Result, Row
from tests.support.servers.strict_cloud1.faults import is_in_the_rate

_CALLS, _FIRST_SECONDS = 8.1, 8.0
_CHANGED_CALLS, _CHANGED_SECONDS = 8, 0.6
_BACK_CALLS = 2.0
_SWEPT = 2.0
_SETTINGS_CALLS, _SETTING_CALLS = 13, 6
_REFERENCE_CALLS, _REFERENCE_SECONDS = 2, 0.4
_RATE, _SLOWER, _REFUSED = 15.0, 1.5, 0.05
_TOO_MANY = 429


def _life(options: Options) -> Sequence[Result]:
    count = options.size(200)
    found: dict[str, list[RanCommand]] = {}
    with cloud1_server() as url:
        for number in range(min(3, options.rounds)):
            shop = Cloud1Shop.of(WORK / "cloud1" / f"shop{number}", url, count)
            found.setdefault("first", []).append(shop.ran("deploy"))
            # The first repeat: the deploy itself has left the answer.
            found.setdefault("nothing", []).append(shop.ran("deploy"))
            for edit in range(options.rounds):
                shop.write(count // 2, f"edit {edit}")
                found.setdefault("changed", []).append(shop.ran("deploy"))
            for one in range(count):
                shop.write(one, "other")
            found.setdefault("all", []).append(shop.ran("deploy"))
            found.setdefault("back", []).append(shop.ran("rollback"))
            found.setdefault("gone", []).append(shop.ran("remove", "--yes"))
            if left := shop.account.left():
                raise SystemExit(f"something is left: {left}")
            shop.account.forget()
    return [
        _calls(f"first deploy of {count}, calls a function", found["first"], count, _CALLS),
        _seconds(f"first deploy of {count} (s)", found["first"], _FIRST_SECONDS),
        _calls(f"one of {count} changed, calls", found["changed"], 1, _CHANGED_CALLS),
        _seconds(f"one of {count} changed (s)", found["changed"], _CHANGED_SECONDS),
        _calls(f"nothing to do with {count} functions, calls", found["nothing"], 1, 0),
        _seconds(f"nothing to do with {count} functions (s)", found["nothing"], None),
        _calls(f"all {count} changed, calls a function", found["all"], count, None),
        _seconds(f"all {count} changed (s)", found["all"], None),
        _calls(f"rollback of {count}, calls a function", found["back"], count, _BACK_CALLS),
        _seconds(f"rollback of {count} (s)", found["back"], None),
        _seconds(f"removal of {count} (s)", found["gone"], None),
    ]  # fmt: skip


def _throttled(options: Options) -> Sequence[Result]:
    count = max(options.size(100), 20)  # fewer would fit into the calls that are free at the start
    with cloud1_server() as url:
        shop = Cloud1Shop.of(WORK / "cloud1" / "shop", url, count)
        shop.account.throttle(per_second=_RATE)
        ran = shop.ran_on("deploy")
        answers = [status for name, status in shop.account.answers() if is_in_the_rate(name)]
    refused = answers.count(_TOO_MANY)
    # A second's worth of calls is free at the start.
    least = (len(answers) - refused) / _RATE - 1
    return [
        Result(
            f"first deploy of {count} functions at {_RATE:g} requests a second / the least time",
            f"{ran.seconds:.1f} s",
            f"{least:.1f} s",
            ran.seconds / least,
            _SLOWER,
        ),
        Result(
            "… share of throttled responses",
            str(refused),
            str(len(answers)),
            refused / len(answers),
            _REFUSED,
        ),
    ]


def _calls(claim: str, found: Sequence[RanCommand], share: int, bound: float | None) -> Result:
    calls = statistics.median(one.calls for one in found)
    return Result(claim, f"{calls:g}", f"{share}", calls / share, bound)


def _seconds(claim: str, found: Sequence[RanCommand], bound: float | None) -> Result:
    seconds = statistics.median(one.seconds for one in found)
    return Result(claim, f"{seconds:.2f} s", "-", seconds, bound)


def _stages(options: Options) -> Sequence[Result]:
    """Previews of two functions and an API each, and a promotion of many functions."""
    previews, count = options.size(50), options.size(200)
    found: dict[str, list[RanCommand]] = {}
    with cloud1_server() as url:
        shop = Cloud1Shop.of(WORK / "cloud1" / "previews", url, 2)
        for number in range(previews):
            shop.ran("deploy", "--preview", f"pr-{number}", "--expires", "1ms")
        things = sum(len(one) for one in shop.account.left().values())
        swept = shop.ran("sweep", "--yes")
        if left := shop.account.left():
            raise SystemExit(f"something is left: {left}")
        shop = Cloud1Shop.of(WORK / "cloud1" / "promoted", url, count)
        for number in range(min(3, options.rounds) + 1):
            for one in range(count):
                shop.write(one, f"edit {number}")
            found.setdefault("deploy", []).append(shop.ran("deploy"))
            found.setdefault("promote", []).append(shop.ran("promote", "dev", "prod"))
        shop.account.forget()
    # The first of each creates the functions.
    deployed, promoted = (found[name][1:] for name in ("deploy", "promote"))
    calls = statistics.median(one.calls for one in deployed)
    return [
        _calls(f"sweep of {previews} previews, calls a deleted thing", [swept], things, _SWEPT),
        _seconds(f"sweep of {previews} previews (s)", [swept], None),
        _calls(f"promotion of {count} changed / deploy, calls", promoted, int(calls), 1.0),
        _seconds(f"promotion of {count} changed (s)", promoted, None),
        _seconds(f"deploy of {count} changed (s)", deployed, None),
    ]


def _settings(options: Options) -> Sequence[Result]:
    """Functions with a role, a log group and settings each, and one changed setting of one."""
    count = options.size(200)
    changes = {
        "permission": {"permissions": [{"actions": "s3:PutObject", "resources": "*"}]},
        "trigger": {"triggers": [{"type": "cron", "schedule": "rate(1 hour)"}]},
        "tag": {"tags": {"team": "shop"}},
    }
    found: dict[str, list[RanCommand]] = {}
    with cloud1_server() as url:
        shop = Cloud1Shop.of(WORK / "cloud1" / "settings", url, count, has_routes=False)
        shop.configure(_FUNCTION_SETTINGS)
        found["first"] = [shop.ran("deploy")]
        changed: dict[str, object] = {}
        for kind, change in changes.items():
            changed |= change
            shop.configure(_FUNCTION_SETTINGS, changed)
            found[kind] = [shop.ran("deploy")]
        shop.account.forget()
    published = sum(found[kind][0].published for kind in changes)
    rows = [_calls(f"one {kind} of {count} changed, calls", found[kind], 1, _SETTING_CALLS)
            for kind in changes]  # fmt: skip
    return [
        _calls(f"first deploy of {count} with settings, calls a function", found["first"], count,
               _SETTINGS_CALLS),
        _seconds(f"first deploy of {count} with settings (s)", found["first"], None),
        *rows,
        Result("… versions published", f"{published}", "-", published, 0),
    ]  # fmt: skip


_FUNCTION_SETTINGS: dict[str, object] = {
    "permissions": [{"actions": "s3:GetObject", "resources": "*"}],
    "logs": {"retentionDays": 14},
    "tracing": "active",
    "async": {"maximumRetryAttempts": 1},
}


def _references(options: Options) -> Sequence[Result]:
    """A service with a stack, and with references, that is up to date."""
    found: dict[str, list[RanCommand]] = {}
    with cloud1_server() as url:
        shop = Cloud1Shop.of(WORK / "cloud1" / "references", url, 2)
        shop.add_references(100)
        found["many"] = [shop.ran("plan") for _ in range(options.rounds)]
        shop.add_references(1)
        shop.ran("deploy")
        found["nothing"] = [shop.ran("deploy") for _ in range(options.rounds)]
        shop.account.forget()
    return [
        _calls("plan with 100 parameters, calls", found["many"], 1, None),
        _seconds("plan with 100 parameters (s)", found["many"], None),
        _calls("nothing to do with a stack and references, calls", found["nothing"], 1,
               _REFERENCE_CALLS),
        _seconds("nothing to do with a stack and references (s)", found["nothing"],
                 _REFERENCE_SECONDS),
    ]  # fmt: skip


ROWS = (
    Row("cloud1-settings", "functions with roles and settings, one of which changes", _settings),
    Row("cloud1-references", "a stack and references, when nothing changed", _references),
    Row("cloud1-stages", "previews that are swept, and a stage that is promoted", _stages),
    Row("cloud1-life", "a service of 200 functions at cloud1, from first deploy to removal", _life),
    Row("cloud1-throttled", "a first deploy to an account that takes few requests", _throttled),
)
