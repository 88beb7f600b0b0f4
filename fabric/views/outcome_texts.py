"""The words for each kind of outcome but a build's."""

import json
from collections.abc import Callable, Mapping

from fabric.model.outcomes import deployed, looked_up, planned
from fabric.model.outcomes.json_struct import JsonStruct
from fabric.views import cache_text, deploy_text, listing_text, plan_text
from fabric.views.doctor_text import doctor_text
from fabric.views.style import Style


def _invoke_text(called: looked_up.InvokeOutcome, _style: Style) -> str:
    return json.dumps(called.response)


def _plain_text(plain: looked_up.Plain, _style: Style) -> str:
    return plain.words


TEXTS: Mapping[type[JsonStruct], Callable[..., str]] = {
    planned.PlanOutcome: plan_text.plan_text,
    planned.ExplainOutcome: plan_text.explain_text,
    deployed.DeployOutcome: deploy_text.deploy_text,
    deployed.RemoveOutcome: deploy_text.removal_text,
    deployed.RollbackOutcome: deploy_text.rollback_text,
    deployed.ReleasesOutcome: deploy_text.releases_text,
    deployed.OutputsOutcome: deploy_text.outputs_text,
    looked_up.ServicesOutcome: listing_text.services_text,
    looked_up.InvokeOutcome: _invoke_text,
    looked_up.DoctorOutcome: doctor_text,
    looked_up.RunsOutcome: listing_text.runs_text,
    looked_up.RunOutcome: listing_text.run_text,
    looked_up.CacheStatsOutcome: cache_text.stats_text,
    looked_up.CacheVerifyOutcome: cache_text.verify_text,
    looked_up.CachePruneOutcome: cache_text.prune_text,
    looked_up.Plain: _plain_text,
}
