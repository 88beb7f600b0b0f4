"""The front Worker of a service: its routes, and the Workers that they call."""

from fabric.model.records.record import Diversion
from fabric.providers.core.contract import LiveFunction
from fabric.providers.edge1.release import plan_gate, plan_tunnel_gate, route_keys
from tests.support.orders import address, trigger

DATE = "2026-01-01"
SITE = address("edge1-workers")
HELLO = LiveFunction(
    "hello",
    "shop-dev-hello",
    "1",
    triggers=(
        trigger("http", method="GET", path="/hello"),
        trigger("http", method="POST", path="/a"),
    ),
)
JOB = LiveFunction(
    "job", "shop-dev-job", "1", triggers=(trigger("cron", schedule="rate(5 minutes)"),)
)
ROOT = LiveFunction("root", "shop-dev-root", "1", triggers=(trigger("http"),))


def test_only_http_triggers_are_routes_and_they_have_defaults() -> None:
    assert route_keys([HELLO, JOB, ROOT]) == ("GET /", "GET /hello", "POST /a")


def test_a_service_without_routes_has_no_front_worker() -> None:
    assert plan_gate(SITE, [JOB], DATE).upload is None
    assert (
        plan_tunnel_gate(SITE, [JOB], Diversion("https://t.example", "m", ()), DATE).upload is None
    )


def test_the_order_of_functions_does_not_change_the_front_worker() -> None:
    first, second = (plan_gate(SITE, rows, DATE) for rows in ([HELLO, ROOT], [ROOT, HELLO]))
    assert first.upload
    assert second.upload
    assert (first.name, first.upload.tag) == (second.name, second.upload.tag)


def test_a_changed_route_or_date_is_another_version() -> None:
    tags = {
        upload.tag
        for upload in (
            plan_gate(SITE, [HELLO], DATE).upload,
            plan_gate(SITE, [HELLO, ROOT], DATE).upload,
            plan_gate(SITE, [HELLO], "2026-02-01").upload,
            plan_tunnel_gate(SITE, [HELLO], Diversion("https://t.example", "m", ()), DATE).upload,
        )
        if upload
    }
    assert len(tags) == 4
