"""Names of the values that a release stores for the next one."""

from fabric.model.problems import Problem
from fabric.model.records.record import Record
from fabric.providers.host2.resource_names import parse_version

SITE, DEPLOY = "site", "deploy"


def find_site_conflict(record: Record, site: str) -> Problem | None:
    """Return a problem if the record belongs to another site. A missing site is reported with the
    missing credentials."""
    noted = (parse_version(one.resource_id).site for one in record.functions)
    sites = {dict(record.kept).get(SITE, ""), *noted} - {"", site}
    if not sites or not site:
        return None
    then = min(sites)
    message = (
        f"refusing to change {record.ref.title}: it is deployed in the site `{then}`, and "
        f"`HOST2_SITE_ID` is `{site}`; nothing was changed"
    )
    hint = (
        f"set `HOST2_SITE_ID` to `{then}`, or run `fabric remove` there before you deploy elsewhere"
    )
    return Problem("deploy/other-place", message, hint)
