"""Figures as collectors read them: known names, few labels, sums that fit."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fabric.daemon.metrics import Gauge, Metrics
from tests.support.live_server import live_server, order_of
from tests.support.use_cases import Workplace

_LINE = re.compile(r'[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)+\})? [0-9.e+-]+|# (HELP|TYPE) .+')
CONFIG = """\
service: shop
provider: {name: cloud1-lambda, runtime: python3.11}
functions:
  - {name: hello, entry: src/hello.py, triggers: [{type: http, path: /hello}]}
"""


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 100)), max_size=40))
def test_buckets_only_grow_and_the_last_one_has_all(answers: list[tuple[str, float]]) -> None:
    metrics = Metrics()
    for route, seconds in answers:
        metrics.count_response(route, 200, seconds)
    text = metrics.text()
    for route in {one for one, _ in answers}:
        found = [
            int(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith(f'fabric_http_request_seconds_bucket{{route="{route}"')
        ]
        assert found == sorted(found)
        assert found[-1] == sum(one == route for one, _ in answers)


def test_values_of_labels_cannot_break_out() -> None:
    metrics = Metrics((Gauge("fabric_streams_open", "Open.", lambda: 3),))
    metrics.count("fabric_tasks_total", outcome='x"} 1\nfabric_fake 1')
    assert all(_LINE.fullmatch(line) for line in metrics.text().splitlines())
    assert "fabric_streams_open 3" in metrics.text()


def test_server_metrics_are_labelled_by_route_not_by_path(tmp_path: Path) -> None:
    shop = Workplace(tmp_path)
    shop.write({"src/hello.py": "def handler(event, context):\n    return 1\n"})
    settings = shop.settings
    with live_server(settings, order_of(settings)) as server, server.client() as http:
        http.post("/deploy", content=CONFIG)
        http.post("/deploy", content=CONFIG.replace("hello.py", "gone.py"))
        for number in range(5):
            http.get(f"/nothing/{number}")
        answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert all(_LINE.fullmatch(line) for line in lines)
    assert 'fabric_http_requests_total{route="deploy",status="200"} 1' in lines
    assert 'fabric_http_requests_total{route="deploy",status="400"} 1' in lines
    assert 'fabric_http_requests_total{route="unknown",status="404"} 5' in lines
    assert 'fabric_tasks_total{outcome="ran"} 4' in lines
    assert 'fabric_runs_total{outcome="succeeded"} 1' in lines
    assert 'fabric_runs_total{outcome="failed"} 1' in lines
    assert not [line for line in lines if "/nothing" in line]
