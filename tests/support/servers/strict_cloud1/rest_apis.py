"""REST APIs as they are kept: a document that can change, deployments that cannot, and stages."""

from dataclasses import dataclass, field

from tests.support.servers.strict_cloud1.constraints import Fields
from tests.support.servers.strict_cloud1.rest_documents import Document


@dataclass
class Deployment:
    shown: Fields
    document: Document


@dataclass
class RestApi:
    shown: Fields
    document: Document | None = None
    deployments: dict[str, Deployment] = field(default_factory=dict)
    stages: dict[str, Fields] = field(default_factory=dict)

    def staged(self, name: str) -> tuple[Fields, Deployment] | None:
        """A stage with the deployment that it points at."""
        stage = self.stages.get(name)
        return (stage, self.deployments[stage["deploymentId"]]) if stage else None


@dataclass
class RestPlans:
    """The keys and usage plans of a region. The plan of a key is a row of its own."""

    keys: dict[str, Fields] = field(default_factory=dict)
    plans: dict[str, Fields] = field(default_factory=dict)
    attached: set[tuple[str, str]] = field(default_factory=set)
    log_role: str = ""

    def plan_of(self, value: str, label: str) -> Fields | None:
        """The plan by which a value of a key opens a stage."""
        for plan, key in self.attached:
            row = self.plans[plan]
            labels = {f"{one['apiId']}:{one['stage']}" for one in row["apiStages"]}
            if self.keys[key]["value"] == value and label in labels:
                return row
        return None
