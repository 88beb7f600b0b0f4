"""A project at a provider: what a user has, runs, and is answered."""

import json
from dataclasses import dataclass, field
from subprocess import Popen

from fabric.model.catalog import find_provider_facts
from tests.support.project import Done, Project
from tests.support.service_site import ServiceSite, asked

EVERY_HOUR = "{type: cron, schedule: rate(1 hour)}"
EVERY_DAY = "{type: cron, schedule: rate(1 day)}"


@dataclass
class ProviderShop:
    """`more` are lines of the config, `region` is what it says of one. What is answered ends with
    the variable MOOD."""

    site: ServiceSite
    project: Project
    functions: dict[str, list[str]] = field(default_factory=dict)
    more: str = ""
    region: str = ""
    _urls: dict[str, str] = field(default_factory=dict)

    def has(self, name: str, word: str, *triggers: str, path: str = "") -> None:
        """At an address of its own, besides."""
        clocks = triggers if self.site.supports_schedules else ()
        self.functions[name] = [f"{{type: http, path: '{path or '/' + name}'}}", *clocks]
        answer = f'{{ statusCode: 200, body: "{word}" + (process.env.MOOD ?? "") }}'
        text = f"export const handler = async () => ({answer});\n"
        self.project.write({f"src/{name}.ts": text})

    def run(self, *words: str) -> Done:
        self.write()
        return self.project.json(*words, env=self.env)

    def start(self, *words: str) -> Popen[str]:
        """In a process of its own."""
        self.write()
        return self.project.start(*words, env=self.env)

    def write(self) -> None:
        rows = [
            f"  - {{name: {name}, entry: src/{name}.ts, triggers: [{', '.join(triggers)}]}}\n"
            for name, triggers in self.functions.items()
        ]
        place = f", region: {self.region}" if self.region else ""
        head = f"service: shop\nprovider: {{name: {self.site.provider}, runtime: nodejs{place}}}\n"
        own = {self.site.provider: self.site.settings}
        has_own = self.site.settings and "extensions:" not in self.more
        end = f"extensions: {json.dumps(own)}\n" if has_own else ""
        text = f"{head}{self.more}functions:\n{''.join(rows)}{end}"
        self.project.write({"fabric.yml": text})

    @property
    def env(self) -> dict[str, str]:
        facts = find_provider_facts(self.site.provider)
        assert facts is not None
        return {**self.site.environment, facts.real_deploy_variable: "1"}

    def ran(self, *words: str) -> int:
        """How many changing calls a success took."""
        self.site.reset()
        done = self.run(*words)
        assert done.code == 0, done.out + done.err
        return self.site.changes()

    def said(self, name: str) -> str:
        """What users are answered where the function is, or was, or would be by its name."""
        outputs = self.run("outputs").result["services"][0]["outputs"]
        self._urls |= {one: outputs[one] for one in outputs if one.startswith("url_")}
        url = self._urls.get(f"url_{name}") or f"{outputs['url']}/{name}"
        answer = asked("GET", url)
        return answer.text if answer.status == 200 else str(answer.status)
