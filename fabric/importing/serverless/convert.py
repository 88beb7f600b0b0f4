"""A config of the Serverless Framework to a config of fabric."""

import re
from collections.abc import Iterator

from fabric.config.yaml.nodes import Mapping, Node, Scalar
from fabric.importing.aws_settings import choose_runtime, put_runtime
from fabric.importing.context import Context, choose_stand_in
from fabric.importing.credentials import Credentials, is_secret_parameter
from fabric.importing.draft import Fields, Imported, NewFile
from fabric.importing.event_target import EventTarget
from fabric.importing.function_resources import find_function_resources
from fabric.importing.intrinsics import LogicalNames
from fabric.importing.packaging import put_build, put_entry, put_package
from fabric.importing.rules import (
    Rules,
    apply_rules,
    carry,
    copy_as,
    is_false,
    lose_because,
    share,
)
from fabric.importing.serverless.api import PAYLOAD_CHANGES, convert_api
from fabric.importing.serverless.events import convert_events
from fabric.importing.serverless.functions import (
    PROVIDER_RULES,
    convert_function,
    convert_layers,
    convert_permissions,
    note_ignored_statements,
    put_role,
    shorten,
)
from fabric.importing.serverless.images import put_image
from fabric.importing.serverless.lift import expand_constructs
from fabric.importing.serverless.other_providers import (
    AZURE,
    GOOGLE,
    convert_azure_events,
    convert_google_events,
    put_google_entry,
)
from fabric.importing.serverless.plugins import convert_plugins, convert_state_machines
from fabric.importing.serverless.stacks import build_stacks
from fabric.importing.serverless.variables import Variables, find_default_stage
from fabric.importing.serverless.wsgi import WSGI_HANDLERS, put_wsgi_application
from fabric.importing.source import At, Ledger
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.functions import choose_service
from fabric.model.problems import FabricError, Place, Problem

_PROVIDERS = {
    "aws": "cloud1-lambda",
    "google": "cloud2-functions",
    "azure": "cloud3-functions",
    "cloudflare": "edge1-workers",
    "openwhisk": "cloud6-functions",
    "aliyun": "cloud4-fc",
}
_ACCOUNT = "settings of an account of Serverless Inc."
_OLD_TOOL = "used only by the Serverless Framework"
_ROOT_DROPPED = {
    **share(("app", "org", "tenant", "console", "dashboard", "licenseKey"), _ACCOUNT),
    **share(("frameworkVersion", "configValidationMode", "projectDir", "outputs"), _OLD_TOOL),
    **share(("deprecationNotificationMode", "variablesResolutionMode"), _OLD_TOOL),
    "useDotenv": "fabric reads .env itself",
}
_PROVIDER_DROPPED = {
    **share(("rollbackConfiguration", "disableRollback"), _OLD_TOOL),
    **share(("deploymentMethod", "deploymentPrefix", "profile", "versionFunctions"), _OLD_TOOL),
    **share(("lambdaHashingVersion", "apiName", "eventBridge", "credentials"), _OLD_TOOL),
    **share(("websocketsApiName", "websocketsDescription"), "WebSocket APIs are not supported"),
}
_ROLE_KEYS = (
    *("statements", "name", "path", "permissionsBoundary", "permissionBoundary"),
    *("managedPolicies", "tags"),
)
_GENERATED = (
    *("ApiGatewayRestApi", "HttpApi", "HttpApiStage", "IamRoleLambdaExecution"),
    *("ServerlessDeploymentBucket", "WebsocketsApi"),
)


_VARIABLE = re.compile(r"\$\{env:([A-Za-z0-9_]+)\}")


def convert_serverless(root: Node, surroundings: Surroundings, file: str) -> Imported:
    """Convert a config. Each key of the source ends in the ledger."""
    ledger = Ledger()
    credentials = Credentials(ledger)
    root = credentials.replace(root)
    if not isinstance(root, Mapping):
        message = "the file is not a map, such as `service: shop`"
        raise FabricError(Problem("import/unreadable", message, where=Place(file)))
    variables = Variables(root, surroundings, credentials, ledger)
    resolved = _resolve(At(root), root, variables)
    source = resolved._replace(node=expand_constructs(resolved.node, ledger))
    service = _find_service(source, surroundings)
    context = Context(_collect_names(source, service), credentials, ledger, surroundings)
    return _Conversion(source, context, variables).run()


def _resolve(at: At, root: Mapping, variables: Variables) -> At:
    """Resolve all sections, except `custom`, whose values are resolved where they are used."""
    entries = (
        entry
        if entry.key == "custom"
        else entry._replace(value=variables.resolve(at.get(entry.key)).node or entry.value)
        for entry in root.entries
    )
    return at._replace(node=root._replace(entries=tuple(entries)))


def _find_service(source: At, surroundings: Surroundings) -> str:
    name = source.get("service")
    text = (name.get("name") if name.is_map else name).text or surroundings.folder_name
    return choose_service(text)


def build_logical_id(name: str) -> str:
    """Return the logical id that the Serverless Framework gives a function."""
    found = name.replace("-", "Dash").replace("_", "Underscore")
    return re.sub(r"[^A-Za-z0-9]", "", found[:1].upper() + found[1:]) + "LambdaFunction"


def _list_parts(source: At) -> tuple[At, ...]:
    """List the parts of `resources`, which is a map or a list of maps."""
    section = source.get("resources")
    return section.list_items() if section.is_list else (section,)


def _list_apis(source: At) -> frozenset[str]:
    """Return the id of the API of the service. Routes of both kinds join the HTTP API."""
    events = (
        one.text or entry.key
        for function in source.get("functions").list_entries()
        for one in function.get("events").list_items()
        for entry in one.list_entries() or (one,)
    )
    kinds = {"httpApi": "HttpApi", "http": "ApiGatewayRestApi"}
    found = {kinds[one] for one in events if one in kinds}
    return frozenset(sorted(found, reverse=True)[:1])


def _collect_names(source: At, service: str) -> LogicalNames:
    functions = source.get("functions").list_entries()
    parts = _list_parts(source)
    names = LogicalNames(
        service=service,
        functions={build_logical_id(one.key): shorten(service, one.key) for one in functions},
        generated=set(_GENERATED),
        apis=_list_apis(source),
        parameters={
            one.key: _get_parameter_text(one)
            for part in parts
            for one in part.get("Parameters").list_entries()
        },
        conditions=frozenset(
            one.key for part in parts for one in part.get("Conditions").list_entries()
        ),
        resources={
            one.key: one.node
            for part in parts
            for one in part.get("Resources").list_entries()
            if one.node is not None
        },
    )
    for key in (*names.functions, *names.generated):
        names.resources.pop(key, None)
    for one in functions:
        if not (one.get("url").is_missing or is_false(one.get("url"))):
            logical = build_logical_id(one.key)
            names.add_url(f"{logical}Url", names.functions[logical])
    given = {build_logical_id(one.key): one.get("name") for one in functions}
    find_function_resources(names, given, "LambdaFunction")
    return names


def _get_parameter_text(at: At) -> str:
    """Return the text for a parameter. A secret is read from its variable."""
    default = at.get("Default").text
    variable = _VARIABLE.fullmatch(default)
    if not is_secret_parameter(at) or ("${" in default and not variable):
        return f"${{param:{at.key}}}"
    return f"${{secret:{variable[1] if variable else at.key}}}"


class _Conversion:
    """One conversion: sections of the source, in order, to sections of the config."""

    def __init__(self, source: At, context: Context, variables: Variables) -> None:
        self._source = source
        self._context = context
        self._ledger = context.ledger
        self._variables = variables
        self._config = Fields()
        self._extension = Fields()
        self._target = EventTarget(self._extension.child("http"))
        buckets = source.get("provider", "s3").list_entries()
        self._target.buckets = {one.key: one for one in buckets}
        self._files: dict[str, NewFile] = {}

    def run(self) -> Imported:
        self._convert_service()
        self._convert_provider()
        convert_plugins(self._context, self._source, self._variables, self._config, self._extension)
        put_build(self._context, self._source.get("build"), self._config)
        convert_layers(self._context, self._source.get("layers"), self._config)
        self._convert_functions()
        put_package(self._context, self._source.get("package"), self._config.child("defaults"))
        convert_state_machines(self._context, self._source, self._config, self._target)
        if _PROVIDERS[self._provider] == "cloud1-lambda":
            convert_api(self._context, self._source, self._config, self._target)
        self._config.child("extensions").put("cloud1-lambda", self._extension)
        stacks = build_stacks(self._context, self._source, self._target, self._config)
        self._convert_stack_settings([one.phase for one in stacks])
        self._convert_params()
        return Imported(
            config=self._config.build_config(self._context.requests.lost),
            ledger=self._ledger,
            stacks=stacks,
            files=tuple(self._files.values()),
        )

    @property
    def _defaults(self) -> Fields:
        return self._config.child("defaults")

    def _convert_service(self) -> None:
        at, chosen = self._source.get("service"), self._context.names.service
        name = at.get("name") if at.is_map else at
        self._config.put("service", chosen, at)
        if name.text == chosen:
            self._ledger.carry(name)
        else:
            reason = "names of services have letters, digits, `_` and `-`, and start with a letter"
            self._ledger.change(name, reason, chosen)
        self._context.copy(at.get("awsKmsKeyArn"), self._defaults, "kmsKey")
        for key, reason in _ROOT_DROPPED.items():
            self._ledger.drop(self._source.get(key), reason)

    def _convert_provider(self) -> None:
        at = self._source.get("provider")
        name = at.get("name") if at.is_map else at
        provider = _PROVIDERS.get(self._provider)
        if provider is None:
            message = f"fabric cannot import services for the provider `{name.text}`"
            raise FabricError(Problem("import/unreadable", message))
        target = self._config.child("provider", at)
        target.put("name", provider, name)
        self._ledger.carry(name)
        self._put_service_runtime(at, target)
        self._put_region(at.get("region"), target)
        self._note_stage(at.get("stage"))
        apply_rules(self._context, at, PROVIDER_RULES, self._defaults)
        self._context.copy_environment(at.get("environment"), self._config, "env")
        if self._provider == GOOGLE:
            project = at.get("project")
            if not project.is_missing:
                reason = "fabric reads the project from the environment"
                self._ledger.change(project, reason, "CLOUD2_PROJECT_ID")
        if provider == "cloud1-lambda":
            if self._source.get("functions").list_entries():
                self._put_hidden_defaults(at)
            self._convert_roles(at)
            self._put_bucket(at.get("deploymentBucket"))
        self._note_old_settings(at)

    def _note_old_settings(self, at: At) -> None:
        """Note the settings of the provider for the old tool and its stack."""
        for key, reason in _PROVIDER_DROPPED.items():
            self._ledger.drop(at.get(key), reason)
        if not at.get("stackName").is_missing:
            own = f"{self._context.names.service}-<stage>"
            reason = "the stacks of fabric have other names, also in `AWS::StackName`"
            self._ledger.change(at.get("stackName"), reason, own)
        for key, own in (("stackPolicy", "policy"), ("stackParameters", "parameters")):
            hint = f"set `{own}` of the stack in fabric.yml"
            self._ledger.lose(at.get(key), "the old stack had this setting", hint)

    def _put_service_runtime(self, at: At, target: Fields) -> None:
        """Put the runtime of the service, or of its first function."""
        if not at.get("runtime").is_missing:
            put_runtime(self._context, at.get("runtime"), target)
        if target.has("runtime"):
            return
        functions = self._source.get("functions").list_entries()
        found = (choose_runtime(one.get("runtime").text) for one in functions)
        known = next((one for one in found if one), "")
        target.put("runtime", known or "nodejs22.x")
        if not known:
            self._ledger.change(at, "the runtime is not set", "nodejs22.x")

    def _put_region(self, at: At, target: Fields) -> None:
        if at.text.startswith("${aws:"):
            reason = "the region is not set in the file; fabric uses AWS_REGION"
            self._ledger.change(at, reason)
        else:
            self._context.copy(at, target, "region")

    def _note_stage(self, at: At) -> None:
        stage = find_default_stage(self._variables.root)
        if stage == "dev":
            self._ledger.carry(at)
        else:
            reason = f"the default stage of fabric is `dev`; set FABRIC_STAGE={stage}"
            self._ledger.change(at, reason, "dev")

    def _put_bucket(self, at: At) -> None:
        name = at.get("name") if at.is_map else at
        self._context.copy(name, self._extension, "artifactBucket")
        for one in at.list_entries():
            if one.key != "name":
                self._ledger.drop(one, _OLD_TOOL)

    def _put_hidden_defaults(self, at: At) -> None:
        """Write the defaults of the Serverless Framework, which differ from those of AWS."""
        for key, name, value in (("memorySize", "memory", 1024), ("timeout", "timeout", 6)):
            if at.get(key).is_missing:
                self._defaults.put(name, value)
                reason = f"{key} is not set (default of the Serverless Framework)"
                self._ledger.change(at.get(key), reason, str(value))

    def _convert_roles(self, at: At) -> None:
        """Use the role of the service, or let each function have its own."""
        iam = at.get("iam", "role")
        has_settings = any(not iam.get(key).is_missing for key in _ROLE_KEYS)
        role = at.get("role") if has_settings or iam.is_missing else iam
        put_role("roleArn")(self._context, role, self._extension)
        boundary = copy_as("boundary")
        rules: Rules = {
            "path": copy_as("path"),
            **share(("permissionsBoundary", "permissionBoundary"), boundary),
            **share(("name", "tags"), lose_because("fabric names and tags its roles itself")),
            **share(("statements", "managedPolicies"), carry),
        }
        if has_settings:
            apply_rules(self._context, iam, rules, self._extension.child("iam"))
        if not at.get("rolePermissionsBoundary").is_missing:
            boundary(self._context, at.get("rolePermissionsBoundary"), self._extension.child("iam"))
        self._ledger.lose(
            at.get("iam", "deploymentRole"), "fabric deploys with the credentials of the user"
        )
        if not self._extension.has("roleArn"):
            convert_permissions(self._context, at, self._defaults)

    def _convert_stack_settings(self, phases: list[str]) -> None:
        """Put the settings of the stack on each stack that fabric deploys, and note unused ones."""
        at, stacks = self._source.get("provider"), self._extension.child("stack")
        tags, role, topics = (at.get(one) for one in ("stackTags", "cfnRole", "notificationArns"))
        for phase in phases:
            stack = stacks.child(phase)
            self._context.copy_map(tags, stack, "tags")
            self._context.copy(role, stack, "roleArn")
            if not topics.is_missing:
                self._context.put(topics, stack, "notifications", self._context.read_texts(topics))
        for name, one in self._target.buckets.items():
            if name not in self._target.used_buckets:
                self._ledger.drop(one, "no event uses the bucket")
        reason = "fabric sets these tags on its stacks, and not on functions"
        if phases:
            if not tags.is_missing:
                self._ledger.remark(tags, reason, "stack.before.tags")
            return
        reason = "the service has no stack for these tags"
        self._ledger.lose(tags, reason, "add the tags to `defaults.tags`")
        for one in (role, topics):
            self._ledger.drop(one, "the service has no stack")

    def _convert_functions(self) -> None:
        if not self._source.get("functions").list_entries():
            self._config.put("functions", [])
            self._config.remove("defaults")
        settings = self._source.get("custom", "serverless-iam-roles-per-function")
        inherits = settings.get("defaultInherit").text == "true"
        for at in self._source.get("functions").list_entries():
            name = shorten(self._context.names.service, at.key)
            function = self._target.function = Fields(at)
            function.put("name", name)
            if name != at.key:
                reason = "names have letters, digits, `_`, `-`, at most 64 with service and stage"
                self._ledger.remark(at, reason, name)
            self._put_code(at, function)
            if not function.has_code:
                self._ledger.lose(at, "the function has no code in the project")
                continue
            convert_function(self._context, at, function, self._defaults, inherits=inherits)
            note_ignored_statements(self._context, at, self._source.get("plugins"))
            self._convert_events(at)
            self._config.add("functions", function, self._source.get("functions"))
        if self._target.is_rest and self._target.is_http:
            reason = "a service has one API in fabric: routes of the REST API join the HTTP API"
            self._ledger.remark(self._source.get("functions"), reason, "http.kind: http")
            if self._source.get("provider", "httpApi", "payload").text != "1.0":
                new = "http.payload: 2.0"
                self._ledger.remark(self._source.get("functions"), PAYLOAD_CHANGES, new)

    def _convert_events(self, at: At) -> None:
        if self._provider == AZURE:
            convert_azure_events(self._context, at, self._target)
        elif self._provider == GOOGLE:
            others = convert_google_events(self._context, at.get("events"), self._target)
            for one in others:
                convert_events(self._context, one, self._target)
        else:
            convert_events(self._context, at.get("events"), self._target)

    def _put_code(self, at: At, function: Fields) -> None:
        """Put the entry of a function: a file, an image, or an application of a plugin."""
        if not at.get("image").is_missing:
            images = self._source.get("provider", "ecr", "images")
            put_image(self._context, at.get("image"), images, function)
        elif at.get("handler").text in WSGI_HANDLERS:
            settings = self._variables.resolve(self._source.get("custom", "wsgi"))
            made = put_wsgi_application(self._context, at.get("handler"), settings, function)
            self._files |= {one.path: one for one in made}
        elif self._provider != GOOGLE or not self._put_google_code(at, function):
            put_entry(self._context, at, self._source, function)

    def _put_google_code(self, at: At, function: Fields) -> bool:
        runtime = at.get("runtime").text or self._source.get("provider", "runtime").text
        return put_google_entry(self._context, at.get("handler"), runtime, function)

    @property
    def _provider(self) -> str:
        """The name of the provider in the source."""
        at = self._source.get("provider")
        return (at.get("name") if at.is_map else at).text

    def _open_params(self, stage: str) -> Fields:
        """Return the parameters of a stage, or those of all stages."""
        target = self._config if stage == "default" else self._config.child("stages").child(stage)
        return target.child("params")

    def _convert_params(self) -> None:
        stages = self._config.child("stages")
        given = {one.key: one for one in self._source.get("params").list_entries()}
        given |= {one.key: one.get("params") for one in self._source.get("stages").list_entries()}
        for stage, at in given.items():
            for one in at.list_entries():
                self._context.copy(one, self._open_params(stage), one.key)
        for stage_name, values in self._variables.stage_params.items():
            for name, text in values.items():
                stages.child(stage_name).child("params").put(name, text)
        params = self._config.child("params")
        for name, text in (*self._variables.params.items(), *self._list_stand_ins()):
            if not params.has(name):
                params.put(name, text)

    def _list_stand_ins(self) -> Iterator[tuple[str, str]]:
        """List values for options and parameters of the template."""
        yield from ((name, choose_stand_in(name)) for name in sorted(self._variables.options))
        for part in _list_parts(self._source):
            for one in part.get("Parameters").list_entries():
                self._ledger.carry(one)
                default, text = one.get("Default"), self._context.names.parameters[one.key]
                if text.startswith("${secret:"):
                    if default.is_missing:
                        reason = "the secret has no default; set the variable in .env"
                        self._ledger.change(one, reason, text)
                    continue
                if not isinstance(default.node, Scalar):
                    reason = "the parameter has no default; set it in `params`"
                    self._ledger.change(one, reason, choose_stand_in(one.key))
                yield one.key, default.text or choose_stand_in(one.key)
