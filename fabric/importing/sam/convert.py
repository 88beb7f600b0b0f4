"""A template of AWS SAM to a config of fabric."""

import re
from collections.abc import Iterator

from fabric.config.yaml.nodes import EMPTY, Node, Scalar, Sequence
from fabric.importing.aws_settings import choose_runtime
from fabric.importing.context import Context, choose_stand_in
from fabric.importing.credentials import Credentials, is_credential, is_secret_parameter
from fabric.importing.draft import Fields, Imported, NewFile, StackDraft
from fabric.importing.event_target import EventTarget
from fabric.importing.function_resources import find_function_resources
from fabric.importing.intrinsics import SSM_VALUE, LogicalNames
from fabric.importing.rules import apply_rules
from fabric.importing.sam.api import convert_apis
from fabric.importing.sam.conditions import resolve_conditions
from fabric.importing.sam.config import CONFIG_FILE, DeploySettings, read_deploy_settings
from fabric.importing.sam.documents import (
    HTTP,
    REST,
    build_permission,
    convert_document_api,
    find_documents,
)
from fabric.importing.sam.events import WORKFLOW_EVENTS, convert_sam_events
from fabric.importing.sam.functions import FUNCTION_RULES, convert_function
from fabric.importing.sam.resources import convert_layer, convert_table
from fabric.importing.serverless.functions import shorten
from fabric.importing.serverless.stacks import SECTIONS, list_new_resources, put_stacks
from fabric.importing.source import At, Ledger
from fabric.importing.state_machines import convert_state_machine
from fabric.importing.surroundings import Surroundings
from fabric.importing.web.functions import choose_service
from fabric.model.problems import FabricError, Place, Problem
from fabric.model.secrets.secrecy import is_secret_name

_SAM = "AWS::Serverless::"
_FUNCTION, _LAYER = f"{_SAM}Function", f"{_SAM}LayerVersion"
_MACHINE, _TABLE = f"{_SAM}StateMachine", f"{_SAM}SimpleTable"
_PARAMETER = re.compile(r"\$\{param:([A-Za-z0-9]+)\}")
_LISTS = ("CommaDelimitedList", "List<")
_HEAD = ("AWSTemplateFormatVersion", "Transform", "Description", "Metadata")
_OF_CLOUDFORMATION = (
    *("Description", "DependsOn", "Metadata", "DeletionPolicy"),
    "UpdateReplacePolicy",
)


def convert_sam(root: Node, surroundings: Surroundings, file: str) -> Imported:
    """Convert a template. Each key of the source ends in the ledger."""
    if not At(root).get("Resources").is_map:
        message = "the file has no `Resources`"
        raise FabricError(Problem("import/unreadable", message, where=Place(file)))
    deploy = read_deploy_settings(surroundings.read_text(CONFIG_FILE))
    ledger = Ledger()
    credentials = Credentials(ledger)
    root, deploy = resolve_conditions(credentials.replace(root), deploy, ledger)
    replaced = At(root)
    source = replaced._replace(node=_rewrite_references(replaced, _list_rewrites(replaced)))
    service = choose_service(deploy.stack_name or surroundings.folder_name)
    context = Context(_collect_names(source, service), credentials, ledger, surroundings)
    return _Conversion(source, context, deploy).run()


def _list_rewrites(source: At) -> dict[str, str]:
    """Map patterns of references that only SAM knows to those of CloudFormation and fabric. The
    ARN of a function already has the alias, which is always `live`."""
    found: dict[str, str] = {}
    for at in source.get("Resources").list_entries():
        alias, name = at.get("Properties", "AutoPublishAlias").text, re.escape(at.key)
        if at.get("Type").text == _FUNCTION and alias:
            end = rf":{re.escape(alias)}(?![A-Za-z0-9_-])"
            found[rf"\$\{{{name}\.Arn\}}{end}"] = f"${{{at.key}.Arn}}"
            found[rf"\$\{{{name}\}}{end}"] = f"${{{at.key}}}:live"
    for api in find_documents(source):
        for kind in ("Stage", "Deployment"):
            found[rf"(?:(?<=\$\{{)|^){re.escape(api)}\.{kind}(?=\}}|$)"] = f"{api}{kind}"
    return found


def _rewrite_references(at: At, rewrites: dict[str, str], *, is_reference: bool = False) -> Node:
    """Replace such references in `Ref` and `Fn::Sub`."""
    node = at.node if at.node is not None else EMPTY
    if isinstance(node, Scalar):
        text = node.text
        for pattern, new in (
            rewrites.items() if is_reference and isinstance(node.value, str) else ()
        ):
            text = re.sub(pattern, new, text)
        return node if text == node.text else node._replace(value=text, text=text)
    if isinstance(node, Sequence):
        items = (
            _rewrite_references(one, rewrites, is_reference=is_reference) for one in at.list_items()
        )
        return node._replace(items=tuple(items))
    entries = (
        entry._replace(
            value=_rewrite_references(one, rewrites, is_reference=entry.key in ("Ref", "Fn::Sub"))
        )
        for entry, one in zip(node.entries, at.list_entries(), strict=True)
    )
    return node._replace(entries=tuple(entries))


def _collect_names(source: At, service: str) -> LogicalNames:
    names = LogicalNames(
        service=service,
        functions={},
        parameters={
            one.key: _get_parameter_text(one) for one in source.get("Parameters").list_entries()
        },
        conditions=frozenset(one.key for one in source.get("Conditions").list_entries()),
    )
    for one in source.get("Parameters").list_entries():
        if one.get("Default").text and not one.get("Type").text.startswith(SSM_VALUE):
            names.defaults[one.key] = one.get("Default").text
        if one.get("Type").text.startswith(_LISTS) and one.get("Default").text:
            items = one.get("Default").text.split(",")
            names.lists[one.key] = [item.strip() for item in items]
        if one.get("Type").text.startswith(SSM_VALUE):
            names.named[one.key] = "" if one.get("Default").text else _name_ssm_param(one, names)
    documents = find_documents(source)
    names.generated.update(("ServerlessRestApi", "ServerlessHttpApi"))
    for at in source.get("Resources").list_entries():
        _collect_name(at, names, documents)
    shared = source.get("Globals", "Function", "FunctionUrlConfig")
    for key, name in names.functions.items():
        own = source.get("Resources", key, "Properties", "FunctionUrlConfig")
        if not (own.is_missing and shared.is_missing):
            names.add_url(f"{key}Url", name)
    functions = (source.get("Resources", one) for one in names.functions)
    find_function_resources(
        names, {one.key: one.get("Properties", "FunctionName") for one in functions}
    )
    return names


def _collect_name(at: At, names: LogicalNames, documents: frozenset[str]) -> None:
    """Add the ids of a resource, and those of the resources that SAM creates for it."""
    kind, name, service = at.get("Type").text, at.key, names.service
    if kind == _FUNCTION:
        names.functions[name] = shorten(service, name)
        names.generated.add(f"{name}Role")
        alias = at.get("Properties", "AutoPublishAlias").text
        for one in (
            f"{name}.Alias",
            f"{name}.Alias.Arn",
            *((f"{name}Alias{alias}",) if alias else ()),
        ):
            names.texts[one] = f"${{function:{names.functions[name]}.arn}}"
    elif kind == _LAYER:
        names.texts[name] = f"layer:{name}"
    elif kind == _MACHINE:
        names.texts[name] = names.texts[f"{name}.Arn"] = f"${{workflow:{name}.arn}}"
        names.texts[f"{name}.Name"] = f"{service}-${{stage}}-{name}"
        names.generated.add(f"{name}Role")
    elif kind in (REST, HTTP) and name not in documents:
        names.generated.update((name, f"{name}.Stage"))
    elif at.node is not None:
        names.resources[name] = at.node
        if name in documents:
            names.resources[f"{name}Stage"] = at.node


def _name_ssm_param(at: At, names: LogicalNames) -> str:
    """Name the parameter that contains the name of an SSM parameter. Names in references cannot be
    secret, so it is not named like a secret."""
    name = f"SsmParameter{len(names.named) + 1}" if is_secret_name(at.key) else at.key
    names.parameters[at.key] = f"${{ssm:${{param:{name}}}}}"
    return f"${{param:{name}}}"


def _get_parameter_text(at: At) -> str:
    kind, default = at.get("Type").text, at.get("Default").text
    if kind.startswith(SSM_VALUE) and default:
        return f"${{ssm:{default}}}"
    return f"${{{'secret' if is_secret_parameter(at) else 'param'}:{at.key}}}"


class _Conversion:
    """One conversion: sections of the template, in order, to sections of the config."""

    def __init__(self, source: At, context: Context, deploy: DeploySettings) -> None:
        self._source = source
        self._context = context
        self._ledger = context.ledger
        self._deploy = deploy
        self._config = Fields()
        self._extension = Fields()
        self._files: list[NewFile] = []
        self._target = EventTarget(self._extension.child("http"))
        self._target.documents = find_documents(source)

    def run(self) -> Imported:
        self._config.put("service", self._context.names.service)
        self._convert_head()
        self._convert_globals()
        listed = self._source.get("Resources").list_entries()
        resources = [made for one in listed for made in self._convert_resource(one)]
        resources += [build_permission(*one) for one in sorted(self._target.permissions)]
        convert_apis(self._context, self._source, self._config, self._target)
        self._config.child("extensions").put("cloud1-lambda", self._extension)
        stacks = self._build_stacks([*resources, *list_new_resources(self._target)])
        if self._config.has("workflows") and not self._config.has("functions"):
            self._config.put("functions", [])
            self._config.remove("defaults")
        self._convert_parameters()
        for name in sorted(self._context.names.aliased):
            at = self._source.get("Resources", name)
            reason = "references to its ARN contain the alias, which callers should use"
            arn = f"${{function:{self._context.names.functions[name]}.arn}}"
            self._ledger.remark(at, reason, arn)
        return Imported(
            config=self._config.build_config(self._context.requests.lost),
            ledger=self._ledger,
            stacks=stacks,
            files=tuple(self._files),
        )

    def _convert_head(self) -> None:
        for key in _HEAD:
            at = self._source.get(key)
            if any(one.text == "AWS::LanguageExtensions" for one in at.list_items()):
                self._ledger.lose(at, "AWS::LanguageExtensions is not supported")
            else:
                self._ledger.drop(at, "used only by CloudFormation")
        self._ledger.lose(self._source.get("Rules"), "rules of parameters are not supported")
        provider = self._config.child("provider")
        provider.put("name", "cloud1-lambda")
        provider.put("runtime", self._choose_runtime())
        if self._deploy.stack_name:
            at = At(EMPTY, (CONFIG_FILE, "default", "stack_name"), 1, 1)
            reason = "the stacks of fabric have other names, also in `AWS::StackName`"
            own = f"{self._context.names.service}-<stage>"
            self._ledger.remark(at, reason, own)
        if self._deploy.region:
            provider.put("region", self._deploy.region)
        for stage, region in self._deploy.regions.items():
            if region != self._deploy.region:
                inner = self._config.child("stages").child(stage).child("provider")
                inner.put("region", region)
        for name in self._deploy.unknown:
            at = At(EMPTY, (CONFIG_FILE, *name.split(".", 1)), 1, 1)
            self._ledger.lose(at, "the setting of `sam deploy` has no equivalent")

    def _choose_runtime(self) -> str:
        """Choose the runtime of most functions."""
        given = [self._source.get("Globals", "Function", "Runtime").text]
        given += [
            one.get("Properties", "Runtime").text
            for one in self._source.get("Resources").list_entries()
            if one.get("Type").text == _FUNCTION
        ]
        known = [new for one in given if one and "${" not in (new := choose_runtime(one)) and new]
        return max(known, key=known.count) if known else "nodejs22.x"

    def _convert_globals(self) -> None:
        at = self._source.get("Globals", "Function")
        defaults = self._config.child("defaults", at)
        apply_rules(self._context, at, FUNCTION_RULES, defaults)
        self._drop_common_runtime(defaults)
        env = defaults.get("env")
        if isinstance(env, Fields):
            defaults.remove("env")
            self._config.put("env", env, at.get("Environment", "Variables"))
        defaults.put("permissions", [])
        for key in ("SimpleTable", "StateMachine", "LayerVersion", "CapacityProvider"):
            shared = self._source.get("Globals", key)
            self._ledger.lose(shared, f"defaults of {key} are not supported")

    def _drop_common_runtime(self, fields: Fields) -> None:
        if fields.get("runtime") == self._config.child("provider").get("runtime"):
            fields.remove("runtime")

    def _convert_resource(self, at: At) -> list[At]:
        """Convert a resource of SAM, or return the resources for a stack."""
        kind = at.get("Type").text
        if kind == _TABLE:
            return [convert_table(at)]
        if at.key in self._target.documents:
            globals_key = "Api" if kind == REST else "HttpApi"
            shared = self._source.get("Globals", globals_key)
            return convert_document_api(self._context, at, shared)
        if not kind.startswith(_SAM):
            return [at]
        self._ledger.carry(at.get("Type"))
        self._convert_own(at, kind)
        if kind in (_LAYER, _MACHINE, REST, HTTP):
            reason = "the condition has no effect: fabric creates it in each stage"
            self._ledger.lose(at.get("Condition"), reason)
        for key in _OF_CLOUDFORMATION:
            if kind != _FUNCTION or key == "Description":
                self._ledger.drop(at.get(key), "used only by CloudFormation")
        return []

    def _convert_own(self, at: At, kind: str) -> None:
        """Convert a resource of SAM that becomes a part of the config."""
        if kind == _FUNCTION:
            self._convert_function(at)
        elif kind == _LAYER:
            convert_layer(self._context, at, self._config)
        elif kind == _MACHINE:
            convert_state_machine(
                self._context, at.get("Properties"), at.key, self._config, self._target
            )
            convert_sam_events(
                self._context, at.get("Properties", "Events"), self._target, WORKFLOW_EVENTS
            )
        elif kind not in (REST, HTTP):
            self._ledger.lose(at, f"resources of type `{kind}` are not supported")

    def _convert_function(self, at: At) -> None:
        name = self._context.names.functions[at.key]
        function = self._target.function = Fields(at)
        function.put("name", name)
        if name != at.key:
            reason = "names have 64 characters with service and stage"
            self._ledger.change(at.get("Type"), reason, name)
        self._files += convert_function(self._context, at, self._source, self._target)
        self._drop_common_runtime(function)
        if function.has_code:
            self._config.add("functions", function)

    def _build_stacks(self, resources: list[At]) -> tuple[StackDraft, ...]:
        outputs = list(self._source.get("Outputs").list_entries())
        sections = [self._source.get(name) for name in SECTIONS]
        return put_stacks(self._context, resources, outputs, sections, self._config)

    def _convert_parameters(self) -> None:
        for at in self._source.get("Parameters").list_entries():
            self._ledger.carry(at)
            text = self._context.names.parameters[at.key]
            if text.startswith("${secret:"):
                self._ledger.lose(
                    at.get("Default"), "secrets are not copied", f"set the variable {at.key}"
                )
            elif "${param:" in text:
                self._put_param(at)
        for stage, values in self._deploy.overrides.items():
            for name, value in values.items():
                self._put_override(stage, name, value)

    def _put_override(self, stage: str, name: str, value: str) -> None:
        """Put a value of samconfig.toml for a stage."""
        text = self._context.names.parameters.get(name, "")
        if not text:
            reason = f"samconfig.toml sets `{name}` for `{stage}`, which the template does not have"
            self._ledger.remark(At(EMPTY, (CONFIG_FILE, stage, name), 1, 1), reason)
        elif text.startswith("${ssm:") and not self._context.names.named[name]:
            if value != self._source.get("Parameters", name, "Default").text:
                reason = f"samconfig.toml sets `{name}` for `{stage}`; the default is used"
                at = At(EMPTY, (CONFIG_FILE, stage, name), 1, 1)
                self._ledger.remark(at, reason, text)
        elif text.startswith("${secret:"):
            reason = f"samconfig.toml sets `{name}` for `{stage}`; secrets are not copied"
            at = At(EMPTY, (CONFIG_FILE, stage, name), 1, 1)
            self._ledger.remark(at, reason, f"set the variable {name}")
        elif stage != "default":
            text = self._hide(name, value, f"{stage}_{name}")
            stages = self._config.child("stages")
            stages.child(stage).child("params").put(self._name_param(name), text)

    def _name_param(self, name: str) -> str:
        found = _PARAMETER.search(self._context.names.parameters[name])
        return found[1] if found else name

    def _hide(self, name: str, value: str, variable: str) -> str:
        """Replace a credential among the values of samconfig.toml. The name of an SSM parameter is
        not one."""
        at = self._source.get("Parameters", name)
        is_hidden = name not in self._context.names.named and is_credential(value, name)
        return self._context.credentials.hide(at, variable, value) if is_hidden else value

    def _put_param(self, at: At) -> None:
        default = at.get("Default")
        given = self._deploy.overrides.get("default", {}).get(at.key)
        params, name = self._config.child("params"), self._name_param(at.key)
        if given is not None:
            params.put(name, self._hide(at.key, given, at.key), at)
        elif default.node is not None and not default.is_missing:
            params.put(name, default.node, at)
        else:
            value = next(_list_accepted(at), choose_stand_in(at.key))
            params.put(name, value, at)
            reason = "the parameter has no default; set it in `params`"
            self._ledger.change(at, reason, value if name == at.key else f"{name}: {value}")


def _list_accepted(at: At) -> Iterator[str]:
    """List values that a parameter without a default accepts."""
    yield from (one.text for one in at.get("AllowedValues").list_items() if one.text)
    if at.get("Type").text == "Number":
        yield at.get("MinValue").text or "1"
