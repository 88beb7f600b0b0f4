"""Redaction: names that look like credentials, and passwords in URLs."""

import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator

from fabric.model.backends import BACK_ENDS
from fabric.model.catalog import PROVIDERS

REDACTED = "[REDACTED]"
# Files and folders of tools that hold credentials: a wildcard does not mean them.
PRIVATE_NAMES = (
    ".npmrc", ".netrc", ".pypirc", ".git-credentials", ".aws", ".ssh", ".gnupg", ".docker", ".kube",
    ".azure", ".cargo", ".pgpass", ".vault-token", ".dev.vars", ".envrc", ".terraformrc",
    ".yarnrc.yml", "terraform.tfstate", "id_rsa", "id_ed25519", "id_ecdsa", "cache.key",
    "application_default_credentials.json",
)  # fmt: skip

_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY", re.IGNORECASE)
_KEY = re.compile(
    r"(?:access|private|signing|encryption|shared|master|auth|webhook|session)_?key(?:_?pem)?$"
    r"|pass(?:phrase)?$|pwd$|(?:^|_)(?:pat|jwt|bearer|dsn|cookie)$|(?-i:[a-z](?:Pat|Jwt|Bearer|Dsn)$)",
    re.IGNORECASE,
)
# Bounded and possessive: a long line without a blank must not take quadratic time.
_ASSIGNED = re.compile(
    r"""((?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|_KEY(?![A-Z])|API_?KEY|ACCESS_?KEY)"""
    r"""[\w.-]{0,64}+["']?+[ \t]{0,4}+[:=][ \t]{0,4}+)"""
    r"""("[^"\n]{0,4096}+"?|'[^'\n]{0,4096}+'?|[^\s,;}]{1,4096}+)""",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"""(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bBasic )[A-Za-z0-9+/=]{8,}"""
    r"""|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[a-z]_\w{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"""
    r"""|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\b[sr]k_live_\w{8,}|\bsk-(?:proj|ant)-[\w-]{16,}"""
    r"""|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bwhsec_\w{16,}"""
    r"""|(?<=hooks\.slack\.com/services/)[\w/]{8,}"""
    r"""|-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----[^-]{0,16384}+(?:-----END [A-Z ]{0,32}-----)?"""
)
# White space, as it is or escaped.
_GAP = r"(?:\s|\\+(?:[nrtfv]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}))+"
# What has more backslashes before it the more often it was quoted. A run of them is one: nothing
# may be looked through in more than one way.
_MARK = re.compile(r"""\\*(["'])|\\+""")
_SHORTEST_FOLDED = 4
_USERINFO = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*@")


@functools.lru_cache(4096)  # every call of a provider looks through the same environment
def is_secret_name(name: str) -> bool:
    """Whether a variable of this name most likely holds a credential."""
    return _NAME.search(name) is not None


def is_secret_key(key: str) -> bool:
    """Whether a key of a config most likely holds a credential, in any spelling."""
    return is_secret_name(key) or _KEY.search(key) is not None


def is_arn(value: object) -> bool:
    """Return whether a value is an ARN, such as that of a secret."""
    return isinstance(value, str) and value.startswith("arn:")


def redact_shapes(text: str) -> str:
    """Redact credentials that have a known form, and passwords in URLs."""
    return redact_userinfo(_SHAPES.sub(REDACTED, text))


def redact_userinfo(text: str) -> str:
    """The text with `user:password@` of every URL in it hidden."""
    return _USERINFO.sub(f"{REDACTED}@", text) if "://" in text else text


def remove_userinfo(text: str) -> str:
    """Remove `user:password@` from every URL in a text."""
    return _USERINFO.sub("", text)


def redact_credentials(text: str) -> str:
    """Redact credentials in a foreign tool's text, by name or by form."""
    named = _ASSIGNED.sub(rf"\g<1>{REDACTED}", _SHAPES.sub(REDACTED, text))
    return redact_userinfo(named)


def redact_values(text: str, values: Collection[str]) -> str:
    """Redact each value, also within JSON and with other white space, because tools wrap lines."""
    parts: list[str] = []
    end = 0
    for start, stop in _merge_spans(_find_spans(text, values)):
        parts += (text[end:start], REDACTED)
        end = stop
    return "".join((*parts, text[end:]))


def redact_cut_off_value(text: str, values: Collection[str], least: int) -> str:
    """Redact the beginning of a value at the end of a truncated text."""
    once = {form for value in values for form in (value, *_list_quoted_forms(value))}
    forms = {form for one in once for form in (one, *_list_quoted_forms(one))}
    forms |= {" ".join(form.split()) for form in forms}
    cut = min((_find_cut_off_start(text, form, least) for form in forms), default=len(text))
    return text if cut == len(text) else text[:cut] + REDACTED


def _find_cut_off_start(text: str, form: str, least: int) -> int:
    """Find where the text ends with at least this much of a value's beginning; otherwise its
    length."""
    head = form[:least]
    at = text.find(head, max(0, len(text) - len(form))) if len(head) == least else -1
    while at >= 0 and not form.startswith(text[at:]):
        at = text.find(head, at + 1)
    return at if at >= 0 else len(text)


def _find_spans(text: str, values: Collection[str]) -> Iterator[tuple[int, int]]:
    for value in values:
        for form in {value, *_list_quoted_forms(value)} if value else ():
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = text.find(form, at + len(form))
            folded = _build_folded_pattern(form)
            if folded is not None:
                yield from (found.span() for found in folded.finditer(text))


def _merge_spans(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge overlapping spans, because one secret can be part of another."""
    begin = end = 0
    for start, stop in sorted(spans):
        if start >= end:
            if end:
                yield begin, end
            begin, end = start, stop
        end = max(end, stop)
    if end:
        yield begin, end


def _build_folded_pattern(form: str) -> re.Pattern[str] | None:
    """Build a pattern for wrapped forms. Returns None if wrapping changes nothing, or too little
    text remains."""
    words = form.split()
    is_plain = words == [form] and not _MARK.search(form)
    if is_plain or sum(map(len, words)) < _SHORTEST_FOLDED:
        return None
    return re.compile(_GAP.join(map(_strip_quotes, words)))


def _strip_quotes(word: str) -> str:
    found: list[str] = []
    end = 0
    for mark in _MARK.finditer(word):
        found += (re.escape(word[end : mark.start()]), rf"\\*{mark[1]}" if mark[1] else r"\\+")
        end = mark.end()
    return "".join((*found, re.escape(word[end:])))


def _list_quoted_forms(value: str) -> tuple[str, ...]:
    """List the quoted forms in JSON, with and without escaped non-ASCII, and in Python."""
    spelled = (json.dumps(value, ensure_ascii=False), json.dumps(value), repr(value))
    return tuple(one[1:-1] for one in spelled)


# The variables of a project's `.env` that provider clients and child processes receive.
# A `.env` comes with a checkout. Variables that control code loading, such as LD_PRELOAD or
# NODE_OPTIONS, would execute code of the checkout.


_PREFIXES = tuple(
    dict.fromkeys(
        (
            *(f"{facts.prefix}_" for facts in PROVIDERS),
            *(prefix for facts in BACK_ENDS for prefix in facts.client.prefixes),
            "PDNS_",
        )
    )
)
# Not those that name files: a profile of AWS can name a program to run.
_AWS = re.compile(
    "AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|REGION|DEFAULT_REGION|PROFILE|ENDPOINT_URL.*)"
)
_LOADING = re.compile(
    "PATH|HOME|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|PS4|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NODE_.*|NPM_.*"
    "|PYTHON.*|PIP_.*|UV_.*|PERL.*|RUBY.*|GEM_.*|JAVA_.*|_JAVA_OPTIONS|JDK_.*|CLASSPATH|GIT_.*"
    "|XDG_.*|TMPDIR|EDITOR|PAGER|KUBECONFIG|AWS_CONFIG_FILE|AWS_SHARED_CREDENTIALS_FILE|SSL_.*"
    "|OPENSSL_.*|DOTNET_.*|BUN_.*|DENO_.*|HELM_.*|KUBE_.*|GLIBC_.*|MALLOC_.*|BASHOPTS|PROMPT_COMMAND"
    "|ZDOTDIR|FPATH|PSMODULEPATH|CURL_HOME|WGETRC|CLOUDSDK_.*|DOCKER_(HOST|CONFIG|CONTEXT)|TERMINFO"
    "|.*_PROXY|.*_PRELOAD|.*_PLUGINS?|.*_STARTUP_HOOKS",
    re.IGNORECASE,
)


def is_passed_to_children(name: str, declared: Collection[str] = ()) -> bool:
    """Return whether a `.env` variable is used beyond bindings: read by a provider or backend, or
    declared by the config."""
    if name.startswith(_PREFIXES) or _AWS.fullmatch(name):
        return True
    return name in declared and not _LOADING.fullmatch(name)
