"""The endpoints: call the app layer and encode its report as JSON."""

import json
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from fabric.app.deploy.deploy import DeployOptions, deploy
from fabric.app.deploy.remove import RemoveOptions, remove
from fabric.app.deploy.rollback import report_releases
from fabric.app.plan import PlanOptions, plan
from fabric.app.project.files import find_config_in
from fabric.app.project.project import open_project, read_given
from fabric.app.request import Request, Where
from fabric.app.router.dns_updates import make_dns_factory
from fabric.app.settings import Settings
from fabric.app.validate import show_config, validate
from fabric.config.yaml.read import encode_canonical
from fabric.daemon.changes import WorldChange, WorldChanges
from fabric.daemon.http_types import ApiAnswer, ApiCall
from fabric.daemon.options import ServerKind, ServerOptions
from fabric.daemon.parameters import CONFIRM, FUNCTION, PROVIDER, STAGE, WAIT
from fabric.daemon.statuses import ACCEPTED, OK
from fabric.engine.bus import MakeListeners
from fabric.engine.compute_slots import ComputeSlots
from fabric.model.bindable import EVERYTHING, Bindable, SecretUse
from fabric.model.names import Verb
from fabric.model.outcomes.deployed import DeployOutcome
from fabric.model.outcomes.json_struct import JsonObject
from fabric.model.problems import FabricError, Problem
from fabric.model.report import Report, encode_problem
from fabric.system.files.disk import read_bytes
from fabric.views.report_json import encode_outcome

# Plans and lists of releases that are made at a time. Each asks the disk a hundred times, and the
# more threads want the interpreter back after that, the more of its time goes into handing it on.
_LOOKS_AT_ONCE = 2
_AS_URGENT_AS_ANY = (0.0, False)


class RequestedConfig(Struct, frozen=True):
    """A request to the app layer, with the environment that its sender can use."""

    where: Where
    settings: Settings


class ConfigEndpoints:
    """Endpoints about configs. They only call the app layer."""

    def __init__(self, options: ServerOptions, settings: Settings, *, has_keys: bool) -> None:
        self._settings = replace(settings, cwd=find_served_workspace(options, settings))
        self._options = options
        self._has_keys = has_keys

    def validate(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, SecretUse.HIDDEN)
        validate(asked.where, asked.settings)
        return ApiAnswer(OK, {"ok": True})

    def resolve(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, SecretUse.HIDDEN)
        found = _list_fields(show_config(asked.where, asked.settings))
        return ApiAnswer(OK, {"ok": True, "stage": found["stage"], "config": found["config"]})

    def stage_of(self, call: ApiCall) -> str | None:
        """Return the stage; None if its name is invalid."""
        try:
            return self._settings.stage(call.query.one(STAGE) or self._options.project.stage)
        except FabricError:
            return None

    def own_body(self) -> bytes:
        """Return the text of the server's own config for an empty body; empty if unreadable."""
        path = find_config_in(self._settings.cwd / self._options.project.config)
        try:
            return read_bytes(path)
        except OSError:
            return b""

    @property
    def _secrets(self) -> SecretUse:
        return SecretUse.READ if self._has_keys else SecretUse.REFUSED

    def _parse_call(self, call: ApiCall, use: SecretUse) -> RequestedConfig:
        """Parse a call. An empty body means the server's own project; other bodies are
        untrusted."""
        project = self._options.project
        stage = call.query.one(STAGE) or project.stage
        where = Where(project.config, stage=stage, provider=call.query.one(PROVIDER))
        if not call.body.strip():
            self._require_own()
            return RequestedConfig(where, replace(self._settings, bindable=EVERYTHING))
        own = self._read_own_backend(where) if b"backend" in call.body else ""
        settings = replace(self._settings, bindable=self._build_bindable(use, own))
        return RequestedConfig(where.with_text(call.body), settings)

    def _read_own_backend(self, where: Where) -> str:
        """Return the server's backend section; empty without a readable config, which allows only
        local state."""
        own = replace(self._settings, bindable=EVERYTHING)
        try:
            project = open_project(replace(where, provider="").for_records(), own)
        except FabricError:
            return ""
        resolved = json.loads(project.units[0].config.document.resolved)
        return encode_canonical(resolved["backend"]) if "backend" in resolved else ""

    def _build_bindable(self, use: SecretUse, own_backend: str) -> Bindable:
        trust = self._options.trust
        return Bindable(
            is_own=False,
            is_trusted=trust.is_full,
            prefixes=trust.prefixes,
            secrets=use,
            backend=own_backend,
            hidden=trust.hidden,
        )

    def _require_own(self) -> None:
        path = find_config_in(self._settings.cwd / self._options.project.config)
        if self._options.kind is not ServerKind.DAEMON or not path.is_file():
            message = "the request body is empty, and the server has no config"
            hint = "send the text of a fabric.yml as the body"
            raise FabricError(Problem("input/no-config", message, hint))


class Endpoints(ConfigEndpoints):
    """Endpoints about deployed services too. `changes` runs deploys and removals."""

    def __init__(
        self, options: ServerOptions, settings: Settings, changes: WorldChanges, *, has_keys: bool
    ) -> None:
        super().__init__(options, settings, has_keys=has_keys)
        self._changes = changes
        self._looks = ComputeSlots(_LOOKS_AT_ONCE)

    def plan(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, SecretUse.HIDDEN)
        request = Request(Verb.DEPLOY, "plan", asked.where, call.query.all(FUNCTION))
        with self._looks.turn(_AS_URGENT_AS_ANY):
            report = plan(request, PlanOptions(), asked.settings)
        found = _list_fields(report)
        warnings = [encode_problem(one) for one in report.warnings]
        return ApiAnswer(
            OK, {"ok": True, "stage": found["stage"], "plan": found, "warnings": warnings}
        )

    def releases(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, SecretUse.HIDDEN)
        request = Request(Verb.DEPLOY, "releases", asked.where)
        with self._looks.turn(_AS_URGENT_AS_ANY):
            found = _list_fields(report_releases(request, asked.settings))
        return ApiAnswer(
            OK, {"ok": True, "service": found["service"], "releases": found["releases"]}
        )

    def deploy(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, self._secrets)
        request = Request(Verb.DEPLOY, "deploy", asked.where, call.query.all(FUNCTION))
        options = DeployOptions(ask=_make_confirmation(call), names=make_dns_factory)

        def work(listeners: MakeListeners) -> Report:
            return deploy(request, asked.settings, options, listeners)

        return self._perform_change(
            call, asked, WorldChange("deploy", work, encode_deploy_report, call.origin)
        )

    def remove(self, call: ApiCall) -> ApiAnswer:
        asked = self._parse_call(call, SecretUse.HIDDEN)
        request = Request(Verb.DEPLOY, "remove", asked.where, call.query.all(FUNCTION))
        options = RemoveOptions(0.0, lambda _: True, _make_confirmation(call))

        def work(listeners: MakeListeners) -> Report:
            return remove(request, asked.settings, options, listeners)

        return self._perform_change(
            call, asked, WorldChange("remove", work, encode_remove_report, call.origin)
        )

    def _perform_change(
        self, call: ApiCall, asked: RequestedConfig, change: WorldChange
    ) -> ApiAnswer:
        """Run a change. The service is determined before the run is queued."""
        service, stage = find_service(asked), asked.settings.stage(asked.where.stage)
        if call.query.one(WAIT) == "0":
            run = self._changes.begin(change, service, stage)
            return ApiAnswer(ACCEPTED, {"ok": True, "run": run}, {"Location": f"/runs/{run}"})
        return self._changes.carry_out(change, service, stage)


def find_service(asked: RequestedConfig) -> str:
    """Return the service of the run."""
    if asked.where.reading.text is not None:
        return read_given(asked.where.without_secrets(), asked.settings).service
    found = show_config(asked.where, asked.settings)
    return str(_list_fields(found)["service"])


def encode_deploy_report(report: Report) -> JsonObject:
    if report.outcome is None:
        return {}
    outcome = report.outcome
    modes = [one.mode for one in outcome.deployments] if isinstance(outcome, DeployOutcome) else []
    found = _list_fields(report)
    return {
        "stage": found["stage"],
        "mode": modes[0] if modes else "",
        "deployments": found["deployments"],
        "warnings": [encode_problem(one) for one in report.warnings],
    }


def encode_remove_report(report: Report) -> JsonObject:
    if report.outcome is None:
        return {}
    found = _list_fields(report)
    warnings = [encode_problem(one) for one in report.warnings]
    return {"stage": found["stage"], "removed": found["removed"], "warnings": warnings}


def _list_fields(report: Report) -> JsonObject:
    assert report.outcome is not None  # noqa: S101 - reports of these have one
    return encode_outcome(report.outcome)  # type: ignore[return-value]


def _make_confirmation(call: ApiCall) -> Callable[[str], str]:
    said = call.query.one(CONFIRM)
    return lambda _question: said


def find_served_workspace(options: ServerOptions, settings: Settings) -> Path:
    return (settings.cwd / options.project.workspace).resolve()
