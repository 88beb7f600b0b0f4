"""Containers as processes of this machine: volumes laid out, variables set, the command run."""

import base64
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.bundler_cache import ENVIRONMENT
from tests.support.servers.process import free_port
from tests.support.servers.pulled_images import NotThereError, pull

_PROGRAMS = {"node": "node", "python": sys.executable}
Look = Callable[[str, str], Mapping[str, Any] | None]
# The port of this machine at which a Service is.
PortOf = Callable[[str], int]
_SERVICE_URL = re.compile(r"http://([a-z0-9-]+):80(?!\d)")


class CannotStartError(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


def _stamp(at: int) -> str:
    whole = datetime.fromtimestamp(at // 1_000_000_000, tz=UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{at % 1_000_000_000:09d}Z"


def container_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = spec["containers"][0]
    return found


@dataclass
class PodProcess:
    """One container; `look` finds objects by kind and name."""

    folder: Path
    spec: Mapping[str, Any]
    look: Look
    port_of: PortOf
    port: int = field(default_factory=free_port)
    restarts: int = 0
    reason: str = ""
    message: str = ""
    was_ready: bool = False
    child: subprocess.Popen[bytes] | None = None
    stamps: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Nothing is raised: what went wrong is the pod's state."""
        try:
            self.child = self._started()
        except CannotStartError as error:
            self.reason, self.message = error.reason, error.message

    def _started(self) -> subprocess.Popen[bytes]:
        container = container_of(self.spec)
        layers: dict[str, str] = {}
        image = container["image"].split(":")[0].rpartition("/")[2]
        if "@" in container["image"]:
            layers = self._pulled(container["image"])
        elif image not in _PROGRAMS:
            raise CannotStartError("ErrImagePull", f'cannot pull "{container["image"]}"')
        folders = {one["name"]: self._volume(one) for one in self.spec.get("volumes", [])}
        mounts = layers | {
            one["mountPath"]: str(folders[one["name"]]) for one in container.get("volumeMounts", [])
        }
        words = [_swapped(one, mounts) for one in container["command"]]
        env = {"PATH": ENVIRONMENT["PATH"], "PORT": str(self.port), **self._environment(mounts)}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [_PROGRAMS.get(words[0], words[0]), *words[1:]],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _pulled(self, image: str) -> dict[str, str]:
        """The task of an image, laid out where the container would have it."""
        top = self.folder / "image"
        try:
            files = list(pull(image).files("var/task"))
        except NotThereError as error:
            raise CannotStartError("ErrImagePull", f'cannot pull "{image}"') from error
        for one in files:
            path = top / one.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.content)
        return {"/var/task": str(top)}

    def _environment(self, mounts: Mapping[str, str]) -> dict[str, str]:
        container = container_of(self.spec)
        env: dict[str, str] = {}
        for one in container.get("envFrom", []):
            ((kind, reference),) = one.items()
            env |= self._texts(kind, reference["name"])
        for one in container.get("env", []):
            if "valueFrom" in one:
                ((kind, reference),) = one["valueFrom"].items()
                found = self._texts(kind.replace("Key", ""), reference["name"])
                if reference["key"] not in found:
                    why = f"couldn't find key {reference['key']} in {reference['name']}"
                    raise CannotStartError("CreateContainerConfigError", why)
                env[one["name"]] = found[reference["key"]]
            else:
                env[one["name"]] = _swapped(one["value"], mounts)
        return env

    def _texts(self, kind: str, name: str) -> dict[str, str]:
        """Those of a Secret or a ConfigMap that a container refers to."""
        found = self.look("Secret" if kind == "secretRef" else "ConfigMap", name)
        if found is None:
            word = kind.removesuffix("Ref").lower()
            raise CannotStartError("CreateContainerConfigError", f'{word} "{name}" not found')
        if kind == "configMapRef":
            return dict(found["data"])
        return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}

    def _volume(self, volume: Mapping[str, Any]) -> Path:
        target = Path(self.folder, "volumes", volume["name"])
        target.mkdir(parents=True, exist_ok=True)
        for source in volume.get("projected", {}).get("sources", [volume]):
            if "configMap" in source:
                self._lay_out(source["configMap"], target)
        return target

    def _lay_out(self, source: Mapping[str, Any], target: Path) -> None:
        found = self.look("ConfigMap", source["name"])
        if found is None:
            raise CannotStartError("ContainerCreating", f'configmap "{source["name"]}" not found')
        texts = found.get("data", {}).items()
        plain = {name: self._addressed(text).encode() for name, text in texts}
        plain |= {k: base64.b64decode(v) for k, v in found.get("binaryData", {}).items()}
        for item in source["items"]:
            file = target / item["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(plain[item["key"]])

    def _addressed(self, text: str) -> str:
        """Services as they are met on this machine."""
        return _SERVICE_URL.sub(lambda found: f"http://127.0.0.1:{self.port_of(found[1])}", text)

    def look_after(self) -> None:
        """What a node does in the meantime: a container that ended is started again."""
        if self.child is not None and self.child.poll() is not None:
            self.restarts += 1
            self.reason, self.was_ready = "CrashLoopBackOff", False
            if self.restarts < 3:
                self.start()
        self.was_ready = self.was_ready or self._answers()
        if self.was_ready:
            self.reason = ""

    def _answers(self) -> bool:
        probe = container_of(self.spec).get("readinessProbe", {}).get("httpGet")
        if probe is None or self.child is None:
            return self.child is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", probe["path"])
            return connection.getresponse().status < 400
        except OSError:
            return False
        finally:
            connection.close()

    @property
    def log(self) -> str:
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def stamped_log(self, since: str) -> str:
        """Each line with the time of the last one that was there when it was first looked at."""
        lines, file = self.log.splitlines(), self.folder / "log"
        at = file.stat().st_mtime_ns if file.exists() else 0
        fresh = len(lines) - len(self.stamps)
        self.stamps += [at - fresh + number for number in range(fresh)]
        rows = ((_stamp(at), line) for at, line in zip(self.stamps, lines, strict=False))
        return "".join(f"{at} {line}\n" for at, line in rows if at >= since)

    def stop(self) -> None:
        """At once: how a container ends by itself is another test's."""
        if self.child is not None:
            if self.child.poll() is None:
                os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _swapped(text: str, mounts: Mapping[str, str]) -> str:
    """Paths of a container as they are here, each once."""
    if not mounts:
        return text
    longest_first = sorted(mounts, key=len, reverse=True)
    pattern = "|".join(f"(?<![^=]){re.escape(one)}(?![^/])" for one in longest_first)
    return re.sub(pattern, lambda found: mounts[found[0]], text)
