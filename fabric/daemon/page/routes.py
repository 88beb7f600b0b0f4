"""The addresses of the dashboard."""

from collections.abc import Sequence

from fabric.daemon import answer_schemas as schemas
from fabric.daemon.http_types import ApiRoute, GoodAnswer, Right, RouteDocs
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
            method="GET",
            path="/",
            name="dashboard",
            right=Right.OPEN,
            answer=dashboard.page,
            docs=RouteDocs(
                about="The dashboard, or its sign-in form.",
                parameters=(STAGE,),
                good=(page, _UNCHANGED),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/dashboard/<file>",
            name="dashboard-file",
            right=Right.OPEN,
            answer=dashboard.file,
            is_free=True,
            docs=RouteDocs(
                about="A style sheet or a script of the dashboard.",
                good=(*files, _UNCHANGED),
                statuses=(404,),
            ),
        ),
        ApiRoute(
            method="GET",
            path="/dashboard/status",
            name="dashboard-status",
            right=Right.LOOK,
            answer=dashboard.status,
            docs=RouteDocs(
                about="The status of a stage of the project of the daemon.",
                parameters=(STAGE,),
                good=(GoodAnswer(schemas.STATUS),),
                statuses=(409, 502),
            ),
        ),
    )
    return (*own, *(_build_session_routes(dashboard) if has_keys else ()))


def _build_session_routes(dashboard: Dashboard) -> Sequence[ApiRoute]:
    return (
        ApiRoute(
            method="POST",
            path="/session",
            name="sign-in",
            right=Right.LOOK,
            answer=dashboard.sign_in,
            docs=RouteDocs(
                about="Start a browser session with an API key. The response sets a cookie.",
                good=(_DONE,),
            ),
        ),
        ApiRoute(
            method="DELETE",
            path="/session",
            name="sign-out",
            right=Right.OPEN,
            answer=dashboard.sign_out,
            docs=RouteDocs(about="End the browser session of the cookie.", good=(_DONE,)),
        ),
    )
