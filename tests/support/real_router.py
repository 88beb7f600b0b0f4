"""A service behind a name that PowerDNS really answers for."""

from pathlib import Path

from tests.support.project import Done, project
from tests.support.router_project import LABELS, SOURCES, commands, config_of
from tests.support.servers.pdns import PdnsSite

_HOSTS = {
    "CLOUD1": "https://one.shop.example",
    "CLOUD2": "https://two.shop.example",
    "HOST3": "https://three.shop.example",
}
OF_LABEL = dict(
    zip(LABELS, ("one.shop.example.", "two.shop.example.", "three.shop.example."), strict=True)
)


class RealRouter:
    """A project whose targets are deployed by commands, and whose name PowerDNS keeps."""

    def __init__(self, folder: Path, pdns: PdnsSite, service: str = "shop") -> None:
        self.pdns = pdns
        self.name = f"api.{pdns.zone}"
        router = f"{{hostname: {self.name.rstrip('.')}, provider: pdns}}"
        text = config_of(router).replace("service: shop", f"service: {service}")
        self.project = project(folder, text, SOURCES)
        self.env = {**pdns.environment, **commands(_HOSTS)}

    def json(self, *words: str) -> Done:
        return self.project.json("router", *words, env=self.env)

    def shift(self, label: str, percent: int) -> Done:
        return self.json("dns-shift", "--provider", label, "--percent", str(percent))
