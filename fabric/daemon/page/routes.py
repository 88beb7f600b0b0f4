"""The addresses of the dashboard."""

from collections.abc import Sequence

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.http_types import ApiRoute, GoodAnswer, Right
from fabric.daemon.page.assets import FILE_TYPES
from fabric.daemon.page.dashboard import Dashboard
from fabric.daemon.parameters import STAGE

_UNCHANGED = GoodAnswer({}, 304)
_DONE = GoodAnswer({}, 204)


def build_dashboard_routes(dashboard: Dashboard, *, has_keys: bool) -> Sequence[ApiRoute]:
    """Build the routes. Without keys there is no sign-in."""
    page = GoodAnswer(schemas.TEXT, content="text/html")
    files = tuple(GoodAnswer(schemas.TEXT, content=one) for one in FILE_TYPES)
    own = (
        ApiRoute(
            "GET", "/", "dashboard", Right.OPEN, dashboard.page,
            "The dashboard, or its sign-in form.", (STAGE,), (page, _UNCHANGED),
        ),
        ApiRoute(
            "GET", "/dashboard/<file>", "dashboard-file", Right.OPEN, dashboard.file,
            "A style sheet or a script of the dashboard.", good=(*files, _UNCHANGED),
            statuses=(404,), is_free=True,
        ),
        ApiRoute(
            "GET", "/dashboard/status", "dashboard-status", Right.LOOK, dashboard.status,
            "The status of a stage of the project of the daemon.", (STAGE,),
            (GoodAnswer(schemas.STATUS),), (409, 502),
        ),
    )  # fmt: skip
    return (*own, *(_build_session_routes(dashboard) if has_keys else ()))


def _build_session_routes(dashboard: Dashboard) -> Sequence[ApiRoute]:
    return (
        ApiRoute(
            "POST", "/session", "sign-in", Right.LOOK, dashboard.sign_in,
            "Start a browser session with an API key. The response sets a cookie.", good=(_DONE,),
        ),
        ApiRoute(
            "DELETE", "/session", "sign-out", Right.OPEN, dashboard.sign_out,
            "End the browser session of the cookie.", good=(_DONE,),
        ),
    )  # fmt: skip
