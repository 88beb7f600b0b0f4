"""Redirects, headers and rewrites of vercel.json as routes of a build output. No effects.

The result equals that of `getTransformedRoutes` in Vercel's own package.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from fabric.model.outcomes.json_struct import JsonObject
from fabric.providers.core.contract import Unsupported
from fabric.providers.core.limits import unsupported_setting
from fabric.providers.core.static_files import NO_FILES, StaticFolder

_EXTENSION = ("extensions", "host1")
_PERMANENT, _TEMPORARY = 308, 307
_NAME = re.compile(r"[0-9A-Za-z_]+")
_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9_]*)>")
_SPECIAL = re.compile(r"([.+*?=^!:${}()[\]|/\\])")
_ANYTHING = r"[^\/]+?"
_PREFIXES = "./"


class Condition(Struct, frozen=True, omit_defaults=True):
    """A condition of a rule: a header, cookie, query parameter or host."""

    type: str
    key: str = ""
    value: str = ""

    def build(self) -> JsonObject:
        key = self.key.lower() if self.type == "header" else self.key
        named = {"key": key} if key else {}
        return {"type": self.type, **named, **({"value": self.value} if self.value else {})}

    def list_names(self) -> Iterator[str]:
        """Yield the names that a destination can use."""
        if not self.value:
            yield from (self.key,) if self.key else ()
            return
        yield from (found[1] for found in _NAMED_GROUP.finditer(self.value))
        if self.type == "host":
            yield "host"


class Rule(Struct, frozen=True, kw_only=True):
    source: str
    has: tuple[Condition, ...] = ()
    missing: tuple[Condition, ...] = ()

    @property
    def pattern(self) -> "Pattern":
        return parse_pattern(self.source)

    def build_conditions(self) -> JsonObject:
        both = {"has": self.has, "missing": self.missing}
        return {name: [one.build() for one in rows] for name, rows in both.items() if rows}

    @property
    def values(self) -> dict[str, str]:
        """The parameters of the path and of the conditions, as routes refer to them."""
        names = [name for one in self.has for name in one.list_names()]
        return {**self.pattern.values, **{name: f"${name}" for name in names}}


class Redirect(Rule, frozen=True, kw_only=True, rename="camel"):
    destination: str
    permanent: bool | None = None
    status_code: int = 0

    def build(self) -> JsonObject:
        status = self.status_code or _PERMANENT
        if self.permanent is not None:
            status = _PERMANENT if self.permanent else _TEMPORARY
        place = {"Location": fill_names(self.destination, self.values)}
        return {
            "src": self.pattern.expression,
            "headers": place,
            "status": status,
            **self.build_conditions(),
        }


class Rewrite(Rule, frozen=True, kw_only=True, rename="camel"):
    destination: str
    status_code: int = 0

    def build(self) -> JsonObject:
        status = {"status": self.status_code} if self.status_code else {}
        return {
            "src": self.pattern.expression,
            "dest": self._build_destination(),
            "check": True,
            **self.build_conditions(),
            **status,
        }

    def _build_destination(self) -> str:
        """Fill in parameters. If the path uses none, all of them become query parameters."""
        values = self.values
        path, mark, query = self.destination.partition("?")
        given = {part.partition("=")[0] for part in query.split("&")} if mark else set()
        if not find_names(path) & values.keys():
            more = [f"{name}={text}" for name, text in values.items() if name not in given]
            query = "&".join(filter(None, (query, *more)))
        whole = fill_names(path, values)
        return f"{whole}?{fill_names(query, values)}" if query else whole


class HeaderPair(Struct, frozen=True):
    key: str
    value: str


class HeaderRule(Rule, frozen=True, kw_only=True):
    headers: tuple[HeaderPair, ...] = ()

    def build(self) -> JsonObject:
        values = self.values
        pairs = {fill_names(one.key, values): fill_names(one.value, values) for one in self.headers}
        return {
            "src": self.pattern.expression,
            "headers": pairs,
            "continue": True,
            **self.build_conditions(),
        }


class PathRules(Struct, frozen=True):
    """The settings of this provider's config section."""

    redirects: tuple[Redirect, ...] = ()
    headers: tuple[HeaderRule, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    static: StaticFolder = NO_FILES

    def build_first(self) -> list[JsonObject]:
        """Build the routes that come before those of functions, and static files."""
        moved = [one.build() for one in self.redirects]
        files: list[JsonObject] = [{"handle": "filesystem"}] if self.static.path else []
        return [*moved, *(one.build() for one in self.headers), *files]

    def build_last(self) -> list[JsonObject]:
        """Build the routes of requests that no function receives."""
        rows = [one.build() for one in self.rewrites]
        is_later = rows and not self.static.path
        return [{"handle": "filesystem"}, *rows] if is_later else rows


class Pattern(Struct, frozen=True):
    """The pattern of a path. `values` are its named parameters, as routes refer to them."""

    expression: str
    values: Mapping[str, str] = field(default_factory=dict)


class _Token(Struct, frozen=True):
    kind: str
    text: str


def parse_pattern(source: str) -> Pattern:
    """Convert a path such as `/docs/:path*` to an expression.

    Raises a ValueError if the syntax is invalid.
    """
    expression, values, groups = "", dict[str, str](), 0
    left = deque(_split_tokens(source))
    while left:
        token, after = left[0], left[1] if len(left) > 1 else None
        has_prefix = token.kind == "char" and token.text in _PREFIXES
        if token.kind == "modifier":
            raise ValueError(f"`{token.text}` follows no parameter")
        if has_prefix and after is not None and after.kind in _GROUPS:
            left.popleft()
        elif token.kind not in _GROUPS:
            expression += _escape(left.popleft().text)
            continue
        groups += 1
        name = _take(left, "name")
        if name:
            values[name] = f"${groups}"
        inner = _take(left, "pattern") or _ANYTHING
        prefix = _escape(token.text) if has_prefix else ""
        expression += _build_group(prefix, inner, _take(left, "modifier"))
    whole = f"^{expression}$".replace("\\/", "/")
    _check_expression(whole)
    return Pattern(whole, values)


_GROUPS = ("name", "pattern")


def _take(left: deque[_Token], kind: str) -> str:
    """Take the next token if it has this kind. Otherwise return an empty text."""
    return left.popleft().text if left and left[0].kind == kind else ""


def _build_group(prefix: str, inner: str, modifier: str) -> str:
    if not prefix:
        return f"({inner}){modifier}"
    if modifier in ("+", "*"):
        optional = "?" if modifier == "*" else ""
        return f"(?:{prefix}((?:{inner})(?:{prefix}(?:{inner}))*)){optional}"
    return f"(?:{prefix}({inner})){modifier}"


def _check_expression(expression: str) -> None:
    try:
        re.compile(_NAMED_GROUP.sub(r"(?P<\1>", expression))
    except re.error as error:
        raise ValueError(str(error)) from error


def _split_tokens(source: str) -> Iterator[_Token]:
    at = 0
    while at < len(source):
        sign = source[at]
        if sign == "\\" and at + 1 < len(source):
            yield _Token("text", source[at + 1])
            at += 2
        elif sign in "*+?":
            yield _Token("modifier", sign)
            at += 1
        elif sign in "{}":
            raise ValueError("braces are not supported")
        elif sign == ":":
            found = _NAME.match(source, at + 1)
            if found is None:
                raise ValueError(f"a parameter at character {at + 1} has no name")
            yield _Token("name", found[0])
            at = found.end()
        elif sign == "(":
            text = _read_group(source, at)
            yield _Token("pattern", text)
            at += len(text) + 2
        else:
            yield _Token("char", sign)
            at += 1


def _read_group(source: str, begin: int) -> str:
    """Return the text between parentheses, which can contain groups that do not capture."""
    depth, at = 1, begin + 1
    if source.startswith("?", at):
        raise ValueError("a pattern starts with `?`")
    while at < len(source):
        sign = source[at]
        if sign == "\\":
            at += 1
        elif sign == "(":
            depth += 1
            if not source.startswith("?", at + 1):
                raise ValueError("a pattern contains a capturing group")
        elif sign == ")":
            depth -= 1
            if not depth:
                return source[begin + 1 : at]
        at += 1
    raise ValueError("parentheses are not balanced")


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


_PARAMETER = re.compile(r"(?<!\\):([A-Za-z_][0-9A-Za-z_]*)[*+]?")


def find_names(text: str) -> frozenset[str]:
    return frozenset(_PARAMETER.findall(text))


def fill_names(text: str, values: Mapping[str, str]) -> str:
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)


def find_rule_problems(own: PathRules) -> Iterator[Unsupported]:
    for kind, rules in (
        ("redirects", own.redirects),
        ("headers", own.headers),
        ("rewrites", own.rewrites),
    ):
        for rule in rules:
            why, hint = _explain(rule, has_files=bool(own.static.path))
            if why:
                yield unsupported_setting(_EXTENSION, kind, why, hint)


def _explain(rule: Rule, *, has_files: bool) -> tuple[str, str]:
    try:
        values = rule.values
    except ValueError as error:
        return f"set with the invalid source `{rule.source}`: {error}", "correct the pattern"
    is_url = isinstance(rule, Rewrite) and rule.destination.startswith(("https://", "http://"))
    if isinstance(rule, Rewrite) and not is_url and not has_files:
        why = f"set with the destination `{rule.destination}`, which is not a URL"
        return why, "add an http trigger with that path to the function that answers"
    target = rule.destination if isinstance(rule, Redirect | Rewrite) else ""
    unknown = sorted(find_names(target.partition("://")[2] or target) - values.keys())
    if unknown:
        why = f"set with `:{unknown[0]}` in a destination, which `{rule.source}` does not have"
        return why, "use a parameter of the source"
    return "", ""
