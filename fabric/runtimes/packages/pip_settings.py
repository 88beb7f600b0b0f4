"""pip's settings, read from its files and variables, as settings of uv.

uv reads neither. Asking pip for them takes longer than all of uv's work.
"""

import configparser
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from fabric.runtimes.packages.requirements import VARIABLE, list_index_lines

_FILE = "PIP_CONFIG_FILE"
_ENABLED = frozenset({"1", "true", "yes", "y", "on", "t"})
# What these change has no effect on the selected packages, or on the way to them.
_WITHOUT_EFFECT = frozenset(
    {
        "break-system-packages", "cache-dir", "config-file", "disable-pip-version-check",
        "log", "no-color", "no-input", "no-python-version-warning", "no-warn-script-location",
        "progress-bar", "quiet", "require-virtualenv", "root-user-action", "user", "verbose",
    }
)  # fmt: skip
# Settings with one value, and with several.
_SINGLE = {
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "default-timeout": ("UV_HTTP_TIMEOUT",),
    "index-url": ("UV_DEFAULT_INDEX",),
    "proxy": ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"),
    "retries": ("UV_HTTP_RETRIES",),
    "timeout": ("UV_HTTP_TIMEOUT",),
}
_SEVERAL = {
    "constraint": ("UV_CONSTRAINT", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
}
_SWITCHES = {"no-index": "UV_NO_INDEX", "pre": "UV_PRERELEASE"}
_OPTION = re.compile(
    r"(?:-i|--index-url)[ =]\s*(?P<index>\S+)|--extra-index-url[ =]\s*(?P<extra>\S+)|"
    r"(?:-f|--find-links)[ =]\s*(?P<links>\S+)"
)
# Variables of uv that do not select packages. All others are removed.
_KEPT = frozenset({"UV_CACHE_DIR", "UV_SYSTEM_CERTS", "UV_NATIVE_TLS"})


def read_pip_settings(environment: Mapping[str, str], command: str) -> dict[str, str]:
    """Return the settings of a command of pip, by their names in its files."""
    shared, own = dict[str, str](), dict[str, str]()
    for file in _list_config_files(environment):
        found = configparser.RawConfigParser()
        found.read(file, encoding="utf-8")
        for section, settings in (("global", shared), (command, own)):
            if found.has_section(section):
                settings.update((_normalize(name), text) for name, text in found.items(section))
    variables = {
        _normalize(name.removeprefix("PIP_")): text
        for name, text in environment.items()
        if name.startswith("PIP_") and text
    }
    return {**shared, **own, **variables}


def _normalize(name: str) -> str:
    return name.lower().replace("_", "-")


def _list_config_files(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the files that pip reads, the most general first."""
    own = environment.get(_FILE, "")
    if own == os.devnull:
        return
    home = Path(environment.get("HOME") or Path.home())
    for folder in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep):
        yield Path(folder, "pip", "pip.conf")
    yield Path("/etc/pip.conf")
    if not (own and Path(own).exists()):
        yield home / ".pip" / "pip.conf"
        yield Path(environment.get("XDG_CONFIG_HOME") or home / ".config", "pip", "pip.conf")
    yield Path(sys.prefix, "pip.conf")
    if own:
        yield Path(own)


def build_uv_environment(
    environment: Mapping[str, str], command: str, text: str
) -> dict[str, str] | None:
    """Return the environment of uv for requirements and pip's settings; None if a setting has no
    counterpart. Passwords of indexes are only here."""
    if sys.platform != "linux":
        return None  # pip has other files there
    settings = read_pip_settings(environment, command)
    if not _add_index_options(settings, text, environment):
        return None
    translated = _translate_settings(settings)
    if translated is None:
        return None
    passed = {
        name: value
        for name, value in environment.items()
        if name != "PYTHONPATH" and (not name.startswith("UV_") or name in _KEPT)
    }
    # pip takes the best file of all indexes, so uv does the same.
    return {**passed, "UV_INDEX_STRATEGY": "unsafe-best-match", **translated}


def _add_index_options(settings: dict[str, str], text: str, environment: Mapping[str, str]) -> bool:
    """Add the index options of requirements, as pip does. Return whether all are known."""
    for line in list_index_lines(text):
        expanded = VARIABLE.sub(lambda name: environment.get(name[1], name[0]), line)
        match = _OPTION.fullmatch(expanded)
        if match is None:
            return False
        if match["index"]:
            settings["index-url"] = match["index"]
        for name, value in (("extra-index-url", match["extra"]), ("find-links", match["links"])):
            settings[name] = f"{settings.get(name, '')} {value or ''}".strip()
    return True


def _translate_settings(settings: Mapping[str, str]) -> dict[str, str] | None:
    translated: dict[str, str] = {}
    for name, text in settings.items():
        if name in _WITHOUT_EFFECT or not text.strip():
            continue
        if name in _SINGLE:
            translated |= dict.fromkeys(_SINGLE[name], text.strip())
        elif name in _SEVERAL:
            variable, separator = _SEVERAL[name]
            if any(not _is_transferable(name, value, separator) for value in text.split()):
                return None
            translated[variable] = separator.join(text.split())
        elif name in _SWITCHES:
            if text.lower() in _ENABLED:
                translated[_SWITCHES[name]] = "allow" if name == "pre" else "1"
        else:
            return None
    return translated


def _is_transferable(name: str, value: str, separator: str) -> bool:
    return separator not in value and not (name == "constraint" and "://" in value)
