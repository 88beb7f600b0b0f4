"""The `resources` of a source to stacks of the service."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from fabric.config.yaml.nodes import KeyValue, Mapping, Node
from fabric.importing.context import Context
from fabric.importing.draft import Fields, StackDraft
from fabric.importing.event_target import EventTarget, drop_late_triggers
from fabric.importing.function_resources import put_function_resources
from fabric.importing.intrinsics import LogicalNames, is_extension, list_ids, list_names
from fabric.importing.serverless.api import put_gateway_responses
from fabric.importing.source import At
from fabric.importing.stacks import StackTemplate, TemplateBuilder, split_resources
from fabric.model.outcomes.json_struct import Json
from fabric.scaffold.yaml_text import build_tree

BEFORE_FILE, AFTER_FILE = "resources.yml", "resources-after.yml"
SECTIONS = ("Parameters", "Mappings", "Conditions")


class _Parts(Struct, frozen=True):
    """The sections of a source, and the resources of the stack that is deployed before."""

    sections: Mapping
    others: frozenset[str] | None = None


class _Built:
    """A template, and the outputs of the other stack that it requires."""

    def __init__(self, template: StackTemplate, requests: dict[str, Node]) -> None:
        self.template = template
        self.requests = requests

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.key for one in At(self.template.root).get("Resources").list_entries())


def build_stacks(
    context: Context, source: At, target: EventTarget, config: Fields
) -> tuple[StackDraft, ...]:
    """Build both stacks from the section of a Serverless Framework config."""
    parts = (
        [source.get("resources")]
        if source.get("resources").is_map
        else list(source.get("resources").list_items())
    )
    for part in parts:
        for at in part.list_entries():
            if at.key == "extensions":
                context.ledger.lose(
                    at, "changes of resources that the Serverless Framework creates"
                )
            elif at.key in ("Description", "AWSTemplateFormatVersion", "Metadata"):
                context.ledger.drop(at, "fabric writes the head of templates itself")
    resources = [one for part in parts for one in part.get("Resources").list_entries()]
    resources = _drop_overrides(context, put_gateway_responses(context, resources, target))
    resources += list_new_resources(target)
    outputs = [one for part in parts for one in part.get("Outputs").list_entries()]
    sections = [part.get(name) for part in parts for name in SECTIONS]
    return put_stacks(context, resources, outputs, sections, config)


def _drop_overrides(context: Context, resources: list[At]) -> list[At]:
    """Report the resources that change those of the Serverless Framework."""
    names = context.names
    made = names.functions.keys() | names.generated
    for one in resources:
        if one.key in made:
            context.ledger.lose(one, "changes a resource that fabric creates in another way")
    return [one for one in resources if one.key not in made]


def list_new_resources(target: EventTarget) -> list[At]:
    """List the resources that the other tool creates for events."""
    return [
        At(build_tree(body), ("resources", "", name)) for name, body in target.new_resources.items()
    ]


def _drop_loops(context: Context, values: Iterable[At]) -> list[At]:
    """Report the loops among the entries of a section."""
    kept: list[At] = []
    for one in values:
        if is_extension(one.key):
            reason = "`Fn::ForEach` needs the transform AWS::LanguageExtensions"
            context.ledger.lose(one, reason, "write out what the loop creates")
        else:
            kept.append(one)
    return kept


def _merge(context: Context, sections: Iterable[At]) -> Mapping:
    """Merge the sections of several parts by their names."""
    merged: dict[str, list[KeyValue]] = {}
    for section in sections:
        for one in _drop_loops(context, section.list_entries()):
            if one.node is not None:
                entry = KeyValue(one.key, one.line, one.column, one.node)
                merged.setdefault(section.key, []).append(entry)
    entries = (KeyValue(name, 0, 0, Mapping(tuple(one), 0, 0)) for name, one in merged.items())
    return Mapping(tuple(entries), 0, 0)


def put_stacks(
    context: Context,
    resources: list[At],
    outputs: list[At],
    sections: Sequence[At],
    config: Fields,
) -> tuple[StackDraft, ...]:
    """Split resources into stacks, put both into the config, and return their templates."""
    resources = put_function_resources(context, resources, config)
    drop_late_triggers(context, config)
    context.requests.drop_unused((config.build(), *(one.node for one in resources if one.node)))
    resources, outputs = _drop_loops(context, resources), _drop_loops(context, outputs)
    head = _merge(context, sections)
    split = split_resources(resources, context.names, _list_used(context))
    after = _keep_known(context, [one for one in resources if one.key in split.after], resources)
    before = [one for one in resources if one.key in split.before]
    first = _build(context, before, {}, outputs, _Parts(head))
    # An output without a resource fits both stacks, and an export must exist once.
    taken = set(_list_output_names(first.template.root)) if first else set[str]()
    rest = [one for one in outputs if one.key not in taken]
    late = _build(context, after, {}, rest, _Parts(head, first.names if first else frozenset()))
    requested = dict(context.requests.outputs) | (late.requests if late else {})
    early = _build(context, before, requested, outputs, _Parts(head))
    stacks = config.child("extensions").child("cloud1-lambda").child("stack")
    found = (("before", BEFORE_FILE, early), ("after", AFTER_FILE, late))
    made = [
        _put_stack(stacks.child(phase), StackDraft(phase, path, one.template.root), one.template)
        for phase, path, one in found
        if one is not None
    ]
    _note_lost_outputs(context, made)
    _note_conditional_outputs(context, made)
    _note_outputs(
        context, outputs, {one for draft in made for one in _list_output_names(draft.root)}
    )
    _note_sections(context, sections, {entry.key for one in made for entry in one.root.entries})
    return tuple(made)


def _put_stack(stack: Fields, draft: StackDraft, template: StackTemplate) -> StackDraft:
    stack.put("template", draft.path)
    if template.parameters:
        stack.put("parameters", dict(sorted(template.parameters.items())))
    if template.capabilities:
        stack.put("capabilities", list(template.capabilities))
    return draft


def _note_sections(context: Context, sections: Iterable[At], used: set[str]) -> None:
    for one in sections:
        if one.key in used:
            context.ledger.carry(one)
        elif one.key != "Parameters":
            context.ledger.drop(one, "no resource of the stacks uses it")


def _note_lost_outputs(context: Context, made: Iterable[StackDraft]) -> None:
    """Report the values that use an output which no stack has."""
    known = {name for one in made if one.phase == "before" for name in _list_output_names(one.root)}
    for name, users in context.requests.users.items():
        if name not in known:
            context.requests.lost.add(name)
            for at in users:
                context.ledger.lose(at, f"it uses `{name}`, which the stack does not have")


def _note_conditional_outputs(context: Context, made: Iterable[StackDraft]) -> None:
    """Report the values that use an output which the stack has only under a condition."""
    roots = [At(one.root) for one in made if one.phase == "before"]
    for output in (one for root in roots for one in root.get("Outputs").list_entries()):
        condition = output.get("Condition").text
        for at in context.requests.users.get(output.key, ()) if condition else ():
            reason = f"the stack has `{output.key}` only if `{condition}` is true"
            context.ledger.remark(at, reason, "set the value of other stages in `stages`")


def _list_output_names(root: Mapping) -> Iterable[str]:
    return (one.key for one in At(root).get("Outputs").list_entries())


# A template without a resource is invalid.
_NO_RESOURCE: dict[str, Json] = {"Type": "AWS::CloudFormation::WaitConditionHandle"}


def _is_known(context: Context, node: Node, own: frozenset[str]) -> bool:
    names = list_names(node) - context.names.parameters.keys()
    return all(one in own or one.startswith("AWS::") for one in names)


def _build(
    context: Context,
    resources: list[At],
    outputs: dict[str, Node],
    kept: list[At],
    parts: _Parts,
) -> _Built | None:
    """Build one template. Without a resource that cannot be carried, it is built again."""
    is_late = parts.others is not None
    if not resources and (outputs or (is_late and _has_export(context, kept))):
        resources = [At(build_tree(_NO_RESOURCE), ("Resources", "NoResource"))]
    while resources:
        own = frozenset(one.key for one in resources)
        builder = TemplateBuilder(context.names, context.ledger, own, parts.others, parts.sections)
        known = {name: node for name, node in outputs.items() if _is_known(context, node, own)}
        template = builder.build(resources, known, kept)
        made = (
            {one.key for one in At(template.root).get("Resources").list_entries()}
            if template
            else set[str]()
        )
        if template is not None and made == own:
            if own == {"NoResource"} and At(template.root).get("Outputs").is_missing:
                return None
            return _Built(template, builder.requests.outputs)
        resources = [one for one in resources if one.key in made]
        resources = _drop_users(context, resources, own - made)
    return None


def _has_export(context: Context, outputs: Iterable[At]) -> bool:
    """Return whether an output with a value that only fabric knows is exported."""
    names = context.names
    own = names.functions.keys() | names.apis | _list_own(names)
    return any(
        not at.get("Export").is_missing and at.node is not None and list_ids(at.node) & own
        for at in outputs
    )


def _list_own(names: LogicalNames) -> frozenset[str]:
    """List the workflows of the source, and others that fabric has an address of."""
    return frozenset(
        key.partition(".")[0] for key, text in names.texts.items() if text.startswith("${")
    )


def _list_used(context: Context) -> frozenset[str]:
    """List the resources of which functions need an output."""
    return frozenset(one for node in context.requests.outputs.values() for one in list_names(node))


def _keep_known(context: Context, resources: list[At], every: list[At]) -> list[At]:
    """Drop resources that functions use although they name a function, with all that name them."""
    lost = _list_used(context) & {one.key for one in resources}
    for at in resources:
        if at.key in lost:
            reason = "a function uses this resource, which itself names a function"
            context.ledger.lose(at, reason, "write it into one of the stacks by hand")
    gone = context.names.resources.keys() - ({one.key for one in every} - lost)
    return _drop_users(context, [one for one in resources if one.key not in lost], gone)


def _drop_users(context: Context, resources: list[At], gone: Iterable[str]) -> list[At]:
    """Drop resources that name a lost resource, and in turn the resources that name them."""
    users: dict[str, list[At]] = {}
    for at in resources:
        for name in list_names(at.node) if at.node is not None else ():
            users.setdefault(name, []).append(at)
    waiting, dropped = sorted(gone), set[str]()
    for name in waiting:
        for at in users.get(name, ()):
            if at.key not in dropped:
                dropped.add(at.key)
                waiting.append(at.key)
                context.ledger.lose(at, f"`{name}`, which it names, is not carried")
    return [one for one in resources if one.key not in dropped]


def _note_outputs(context: Context, outputs: Iterable[At], made: set[str]) -> None:
    """Note each output of the source: in a stack, printed by fabric, or lost."""
    names = context.names
    own = names.functions.keys() | names.generated | _list_own(names)
    for at in outputs:
        used = list_names(at.node) if at.node is not None else frozenset[str]()
        versions = {one for one in used if one.endswith(".Version")}
        used = frozenset(one.removesuffix(".Alias") for one in used)
        if at.key in made:
            context.ledger.carry(at)
        elif versions or not used & own:
            lost = ", ".join(f"`{one}`" for one in sorted(versions or used - names.conditions))
            context.ledger.lose(at, f"the output names {lost}, which no stack has")
        elif not at.get("Export").is_missing:
            reason = "an export of a function or an API has no equivalent"
            hint = "write the output into the stack `after`"
            context.ledger.lose(at, reason, hint)
        else:
            reason = "fabric prints addresses and ARNs of functions with `fabric outputs`"
            context.ledger.drop(at, reason)
