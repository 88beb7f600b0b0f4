"""Configs as people write them, of every form that YAML has for them: made from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

NAMES = ("orders", "send-mail", "resize_images", "nightly", "a1", "Zahlung")
_REMARKS = (
    "# all of it",
    "#",
    "# functions: [not, these]",
    "#\ttabs\tin\there",
    "# — größer, 注文 🚚",
    "#functions:",
    "# - name: was-here",
)
_HEADS = ("", "# yaml-language-server: $schema=fabric.json\n", "---\n", "%YAML 1.2\n---\n", "\n\n")
_TAILS = ("", "", "", "# the end\n", "\n\n", "...\n", "...\n# after the end\n", "   \n")
_SCRIPTS = ("|", "|-", "|+", ">", ">-", "|2")
_FORMS = (
    "list",
    "flush",
    "deep",
    "flow",
    "flow lines",
    "flow comma",
    "map",
    "flow map",
    "map lines",
)
_EMPTY = ("missing", "null", "tilde", "brackets", "open brackets", "remarks")


@dataclass(frozen=True, slots=True)
class Chances:
    """What a seed decides, one question after the other."""

    random: Random

    def one(self, choices: Sequence[str]) -> str:
        return self.random.choice(choices)

    def often(self, share: float = 0.5) -> bool:
        return self.random.random() < share

    def remark(self, share: float = 0.3) -> str:
        """A comment at the end of a line, or nothing."""
        gap = self.one((" ", "  ", "\t", "      "))
        return gap + self.one(_REMARKS) if self.often(share) else ""

    def gap(self, indent: int) -> str:
        """Blank lines and lines of comment between others."""
        lines = [
            self.one(("", " " * indent + self.one(_REMARKS), self.one(_REMARKS), "  "))
            for _ in range(self.random.choice((0, 0, 0, 1, 2, 3)))
        ]
        return "".join(f"{line}\n" for line in lines)


def config_file(seed: int) -> bytes:
    """A whole config, with functions, resources and addons of any form or none."""
    chances = Chances(Random(seed))
    if chances.often(0.05):
        return _json(chances).encode()
    parts = ["service: shop" + chances.remark() + "\n", _provider(chances), _extras(chances)]
    parts += [_section(chances, name) for name in ("functions", "resources", "addons")]
    chances.random.shuffle(parts)
    text = chances.one(_HEADS) + "".join(part + chances.gap(0) for part in parts)
    text += chances.one(_TAILS)
    if chances.often(0.2):
        text = text.rstrip("\n ")
    text = text.replace("\n", chances.one(("\n", "\n", "\n", "\r\n")))
    return (b"\xef\xbb\xbf" if chances.often(0.05) else b"") + text.encode()


def _provider(chances: Chances) -> str:
    plain = "provider:\n    name: cloud1-lambda\n    runtime: 'nodejs20.x'"
    forms = (plain, "provider: {name: cloud1-lambda, runtime: nodejs20.x}", f"{plain}\n  # role")
    return chances.one(forms) + chances.remark() + "\n"


def _extras(chances: Chances) -> str:
    """Keys beside the sections: texts that look like keys, anchors, long lines, overlays."""
    script = chances.one(_SCRIPTS)
    text = "".join(
        f"    {line}\n" for line in ("functions:", "  - name: no", "", "# not a comment", "x: [")
    )
    extras = (
        f'env:\n  SCRIPT: {script}\n{text}  LAST: "a: b # c"\n',
        f"params:\n  SCRIPT: {script}\n{text}",
        "x-common: &common\n  memory: 256\n  env: {A: &a 'it''s', B: *a}\n",
        f"x-long: {'lang ' * 900}ende\n",
        'x-text: "two\n  lines"\n',
        "x-words: plain text\n  that goes on\n",
        "stages:\n  prod:\n    functions:\n      - name: orders\n        memory: 512\n",
        "? x-asked\n: - one\n  - two\n",
    )
    chosen = chances.random.sample(extras, chances.random.randint(0, 4))
    return "".join(part + chances.gap(0) for part in chosen)


def _section(chances: Chances, name: str) -> str:
    """A section in one of the ways to write it; functions mostly have entries."""
    if chances.often(0.15 if name == "functions" else 0.6):
        return _nothing(chances, name)
    form = chances.one(_FORMS)
    entries = [_entry(chances, name, one) for one in chances.random.sample(NAMES, 3)]
    entries = entries[: chances.random.randint(1, 3)]
    if "flow" in form or form == "map lines":
        return f"{name}: {_brackets(chances, form, entries)}{chances.remark()}\n"
    return f"{name}:{chances.remark()}\n{chances.gap(2)}{_block(chances, form, entries)}"


def _nothing(chances: Chances, name: str) -> str:
    form = chances.one(_EMPTY)
    written = {
        "missing": "",
        "null": f"{name}:{chances.remark()}\n",
        "tilde": f"{name}: {chances.one(('~', 'null'))}{chances.remark()}\n",
        "brackets": f"{name}: {chances.one(('[]', '{}', '[ ]'))}{chances.remark()}\n",
        "open brackets": f"{name}: [\n  # none yet\n]\n",
        "remarks": f"{name}:\n  # - name: later\n  # entry: later.ts\n",
    }
    return written[form]


Entry = tuple[str, dict[str, str]]


def _entry(chances: Chances, section: str, name: str) -> Entry:
    quote = chances.one(("", "'", '"'))
    if section == "functions":
        trigger = chances.one(
            ("{type: http, route: 'GET:/x/{id}'}", "{ type: cron, schedule: rate(1 day) }")
        )
        lists = chances.one((f"[{trigger}]", f"[ {trigger} ]", "[]"))
        fields = {"entry": f"{quote}src/{name}.ts{quote}", "triggers": lists}
    elif section == "resources":
        fields = {"type": f"{quote}database{quote}", "connectionEnv": "DB"}
    else:
        fields = {"version": chances.one(("'1.2'", "1.2", "3")), "options": "{a: [1, 2]}"}
    return name, fields


def _block(chances: Chances, form: str, entries: Sequence[Entry]) -> str:
    indent = {"list": 2, "flush": 0, "deep": 6, "map": chances.random.choice((1, 2, 4, 8))}[form]
    after = chances.random.choice((2, 2, 2, 4))
    gap = chances.gap(indent)
    return "".join(f"{_one(chances, form, (indent, after), entry)}{gap}" for entry in entries)


def _one(chances: Chances, form: str, widths: tuple[int, int], entry: Entry) -> str:
    (indent, after), (name, fields) = widths, entry
    head = " " * indent
    if form == "map":
        if chances.often(0.3):
            return f"{head}{name}: {_braces(fields)}{chances.remark()}\n"
        return f"{head}{name}:{chances.remark()}\n{_fields(chances, indent + after, fields)}"
    dash = head + "-".ljust(after)
    if chances.often(0.3):
        return f"{dash}{_braces({'name': name, **fields})}{chances.remark()}\n"
    rest = _fields(chances, indent + after, fields)
    return f"{dash}name: {name}{chances.remark()}\n{rest}"


def _braces(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}"


def _fields(chances: Chances, indent: int, fields: dict[str, str]) -> str:
    head = " " * indent
    lines = [f"{head}{key}: {value}{chances.remark()}\n" for key, value in fields.items()]
    if chances.often(0.2):
        script = chances.one(_SCRIPTS)
        lines.append(f"{head}x: {script}\n{head}  functions:\n{head}   - name: x\n\n")
    if chances.often(0.2):
        lines.append(f"{head}# about {indent}\n")
    return "".join(lines)


def _brackets(chances: Chances, form: str, entries: Sequence[Entry]) -> str:
    is_map = "map" in form
    items = [
        f"{name}: {_braces(fields)}" if is_map else _braces({"name": name, **fields})
        for name, fields in entries
    ]
    opening, closing = ("{", "}") if is_map else ("[", "]")
    if form in ("flow", "flow map"):
        pad = chances.one(("", " "))
        return f"{opening}{pad}{', '.join(items)}{pad}{closing}"
    comma = "," if form == "flow comma" or chances.often(0.3) else ""
    ends = [","] * (len(items) - 1) + [comma]
    lines = [f"  {item}{end}{chances.remark()}\n" for item, end in zip(items, ends, strict=True)]
    return f"{opening}{chances.remark()}\n{''.join(lines)}{closing}"


def _json(chances: Chances) -> str:
    functions = '[{"name": "a", "entry": "a.ts"}]'
    if chances.often():
        functions = (
            '[\n    {"name": "a", "entry": "a.ts"},\n    {"name": "b", "entry": "b.ts"}\n  ]'
        )
    gap = chances.one((" ", "\n  "))
    end = "\n" if "\n" in gap else ""
    provider = '{"name": "host1", "runtime": "nodejs"}'
    return (
        f'{{{gap}"service": "s",{gap}"provider": {provider},{gap}"functions": {functions}{end}}}\n'
    )
