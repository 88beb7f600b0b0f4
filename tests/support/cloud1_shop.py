"""A project at a strict cloud1: what a user has, runs, and is answered."""

from dataclasses import dataclass, field
from subprocess import Popen

from tests.support.project import Done, Project
from tests.support.servers.strict_cloud1.client import StrictCloud1

EVERY_HOUR = "{type: cron, schedule: rate(1 hour)}"
FROM_QUEUE = "{type: queue, queue: work}"


@dataclass
class Shop:
    """A project of functions with their triggers."""

    cloud1: StrictCloud1
    project: Project
    functions: dict[str, list[str]] = field(default_factory=dict)
    role: str = ""
    service: str = "shop"
    region: str = "us-east-1"
    more: str = ""
    # What stands below the functions.
    tail: str = ""

    def __post_init__(self) -> None:
        self.role = self.role or self.cloud1.role()

    def has(self, name: str, word: str, *triggers: str) -> None:
        """At an address of its own, besides."""
        self.functions[name] = [f"{{type: http, path: /{name}}}", *triggers]
        answer = {"statusCode": 200, "body": word}
        text = f"def handler(event, context):\n    return {answer!r}\n"
        self.project.write({f"{name}.py": text})

    def write(self) -> None:
        rows = [
            f"  - {{name: {name}, entry: {name}.py{self.more}, triggers: [{', '.join(each)}]}}\n"
            for name, each in self.functions.items()
        ]
        functions = f"functions:\n{''.join(rows)}" if rows else "functions: []\n"
        self.project.write({"fabric.yml": f"{self.head}{functions}{self.tail}"})

    @property
    def head(self) -> str:
        provider = f"{{name: cloud1-lambda, runtime: python3.11, region: {self.region}}}"
        return f"service: {self.service}\nprovider: {provider}\n"

    @property
    def env(self) -> dict[str, str]:
        return {
            **self.cloud1.environment,
            "FABRIC_CLOUD1_REAL_DEPLOY": "1",
            "FABRIC_CLOUD1_LAMBDA_ROLE_ARN": self.role,
        }

    def run(self, *words: str) -> Done:
        self.write()
        return self.project.json(*words, env=self.env)

    def start(self, *words: str) -> Popen[str]:
        """In a process of its own."""
        self.write()
        return self.project.start(*words, env=self.env)

    def ran(self, *words: str) -> dict[str, int]:
        """The calls that a success took."""
        self.cloud1.reset()
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return self.cloud1.calls()

    def said(self, name: str) -> str:
        """What users are answered."""
        done = self.run("outputs")
        url = done.result["services"][0]["outputs"]["url"]
        answer = self.cloud1.http_get(f"{url}/{name}")
        return answer.text if answer.status == 200 else str(answer.status)
