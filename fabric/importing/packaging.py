"""Handlers, builds and packages of a source to entries and builds of fabric."""

import json
import posixpath
import re
from pathlib import PurePosixPath

from fabric.importing.aws_settings import choose_runtime
from fabric.importing.context import Context
from fabric.importing.credential_names import is_credential_name
from fabric.importing.draft import Fields
from fabric.importing.rules import (
    Rules,
    apply_rules,
    copy_as,
    drop_because,
    is_false,
    is_true,
    share,
)
from fabric.importing.source import At
from fabric.importing.surroundings import Surroundings, is_outside

NODE_SUFFIXES = (".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".tsx", ".jsx")
_CODE_SUFFIXES = (*NODE_SUFFIXES, ".py", ".map", ".go", ".rb", ".java", ".cs")
_GO_FOLDERS = ("", "cmd/", "src/", "functions/", "handlers/", "lambda/", "internal/")
_GO_BUILD = re.compile(
    r"^[^\S\n]*(?:cd\s+(?P<folder>[\w./-]+)\s*&&)?[^\n&#]*\bgo\s+build\b[^\n&]*?"
    r"\s-o\s+(?P<output>[\w./-]+)(?:\s+(?P<source>[\w./-]+))?",
    re.MULTILINE,
)
_VARIABLE = re.compile(r"\$\{(?:env|param|secret|ssm|secretsmanager):([^},]+)")
_WRAPPERS = {"rack_adapter.handler": "serverless-rack"}
# Bindings that are filled before a build.
_KNOWN_BEFORE = re.compile(r"\$\{(?:stage|(?:env|param):[^{}]*)\}")
_USED_ONLY = "fabric packs only the files that a function uses"


def put_entry(context: Context, at: At, source: At, function: Fields) -> None:
    """Put the entry of a function, with the build of languages that have no built-in one."""
    handler = at.get("handler")
    if handler.is_missing:
        return
    text = context.read_text(handler)
    if not text:
        return
    runtime = at.get("runtime").text or source.get("provider", "runtime").text
    artifact = at.get("package", "artifact")
    if artifact.is_missing:
        artifact = source.get("package", "artifact")
    if text in _WRAPPERS:
        context.ledger.lose(handler, f"the plugin {_WRAPPERS[text]} writes `{text}` when it builds")
    elif not artifact.is_missing:
        function.put("entry", text, handler)
        put_artifact(context, artifact, function)
        context.ledger.carry(handler)
    else:
        _put_code(context, handler, runtime, function)


def _put_code(context: Context, at: At, runtime: str, function: Fields) -> None:
    """Put the code of a function by its runtime."""
    text, kind = context.read_text(at), choose_runtime(runtime) or runtime
    if runtime == "rust":
        function.put("entry", text.rpartition(".")[2], at)
        function.child("build").put("preset", "rust")
        context.ledger.carry(at)
    elif kind.startswith("provided"):
        _put_program(context, at, text, function)
    else:
        put_file_entry(context, at, text, function)
        if kind.startswith("ruby"):
            function.child("build").put("preset", "ruby")


def put_artifact(context: Context, at: At, function: Fields) -> None:
    """Unpack an archive that other tools build."""
    path = context.surroundings.place(context.read_text(at))
    if not path or "${" in _KNOWN_BEFORE.sub("", path):
        context.ledger.lose(at, "the path of the archive is not known")
        return
    build = function.child("build", at)
    build.put(
        "command", ["sh", "-c", f'python3 -m zipfile -e {json.dumps(path)} "$FABRIC_OUT_DIR"']
    )
    build.put("inputs", [path])
    context.ledger.carry(at)


def put_file_entry(context: Context, at: At, text: str, function: Fields, root: str = "") -> None:
    """Put an entry that names a file and an export."""
    own = join_path(root, text)
    path = context.surroundings.place(own)
    function.put("entry", path, at)
    if is_outside(path):
        _lose_outside(context, at, f"the code `{path}`")
    elif find_handler_file(context.surroundings, own) is None:
        reason = f"no file found for the handler `{own}`"
        context.ledger.lose(at, reason, "build the file first, or set `entry` to its source")
    elif path != text:
        context.ledger.change(at, "paths are relative to fabric.yml", path)
    else:
        context.ledger.carry(at)


def _lose_outside(context: Context, at: At, what: str) -> None:
    reason = f"{what} is not below the directory of fabric.yml"
    context.ledger.lose(at, reason, "use --out to write fabric.yml to a directory above")


def check_layer_path(context: Context, at: At, path: str) -> None:
    """Report a layer whose content is not in the workspace."""
    if context.surroundings.leaves_workspace(path):
        _lose_outside(context, at, f"the content `{path}` of the layer")


def join_path(root: str, path: str) -> str:
    joined = PurePosixPath(root.removeprefix("./")) / path.removeprefix("./")
    return str(joined)


def find_handler_file(surroundings: Surroundings, handler: str) -> str | None:
    """Find the source of `src/file.export`, or of a dotted Python module."""
    stem = handler.rpartition(".")[0]
    candidates = [
        *(f"{stem}{suffix}" for suffix in (*NODE_SUFFIXES, ".py", ".rb")),
        handler,
        f"{stem.replace('.', '/')}.py",
    ]
    return next((one for one in candidates if surroundings.is_file(one)), None)


def _put_program(context: Context, at: At, text: str, function: Fields) -> None:
    """Put the package of a Go program, which the other tool finds compiled."""
    folder = _find_go_package(context.surroundings, text)
    if folder is None:
        function.put("entry", text, at)
        reason = f"no Go package found for the program `{text}`"
        context.ledger.lose(at, reason, "set `entry` to the package, or use `build.command`")
        return
    folder = context.surroundings.place(folder)
    function.put("entry", folder, at)
    function.child("build").put("preset", "go")
    context.ledger.change(at, "fabric compiles the package itself", folder)


def _find_go_package(surroundings: Surroundings, program: str) -> str | None:
    path = PurePosixPath(program)
    built = _find_built_source(surroundings, program)
    if built:
        return built
    names = [path.name, *([path.parent.name] if path.name in ("bootstrap", "main") else [])]
    for name in names:
        for parent in _GO_FOLDERS:
            folder = f"{parent}{name}"
            if any(one.endswith(".go") for one in surroundings.list_names(folder)):
                return folder
    files = [one for one in surroundings.list_names(".") if one.endswith(".go")]
    return "." if "main.go" in files else None


def _find_built_source(surroundings: Surroundings, program: str) -> str | None:
    """Find the source of a program in the Makefile, which often names it for `go build`."""
    makefile = surroundings.read_text("Makefile") or ""
    for found in _GO_BUILD.finditer(makefile):
        folder = found["folder"] or "."
        output = posixpath.normpath(posixpath.join(folder, found["output"]))
        source = posixpath.normpath(posixpath.join(folder, found["source"] or "."))
        is_there = surroundings.is_file(source) or surroundings.is_folder(source)
        if output == posixpath.normpath(program) and is_there:
            return source
    return None


def put_package(context: Context, at: At, fields: Fields) -> None:
    """Convert the file patterns of archives, of a function or of all functions."""
    apply_rules(context, at, _PACKAGE_RULES, fields)


def _put_patterns(context: Context, at: At, fields: Fields) -> None:
    kept = []
    for one in at.list_items():
        text = context.read_text(one)
        if text.startswith("!") or _names_code(text) or ".." in text.split("/"):
            context.ledger.drop(one, _USED_ONLY)
            continue
        kept.append(context.surroundings.place(text))
        context.ledger.carry(one)
    if kept:
        fields.put("include", kept, at)


def list_copied_data(surroundings: Surroundings, paths: list[str]) -> list[str]:
    """List patterns of copied files and directories that are not code."""
    return [
        surroundings.place(f"{one}/**" if surroundings.is_folder(one) else one)
        for one in paths
        if one != "." and not _names_code(one)
    ]


def _names_code(pattern: str) -> bool:
    """Return whether a pattern names code, which fabric packs if a function uses it."""
    name = PurePosixPath(pattern).name
    return (
        pattern in ("", "**", "**/*", "*", "./**")
        or "node_modules" in pattern
        or PurePosixPath(name).suffix in _CODE_SUFFIXES
        or name in ("package.json", "package-lock.json", "requirements.txt", "bootstrap")
        or pattern.startswith(("bin/", "./bin/", "vendor/"))
    )


_PACKAGE_RULES: Rules = {
    **share(("patterns", "include"), _put_patterns),
    **share(("exclude", "excludeDevDependencies"), drop_because(_USED_ONLY)),
    "individually": drop_because("fabric packs each function into its own archive"),
    **share(
        ("path", "excludeProviderFolder", "outputFolder"),
        drop_because("used only by the Serverless Framework"),
    ),
}


def put_build_step(context: Context, at: At, command: str, config: Fields) -> None:
    """Put a command that runs before functions are built. fabric runs commands without a shell."""
    step = Fields(at)
    step.put("name", "build")
    step.put("command", ["sh", "-c", command], at)
    config.child("build", at).add("before", step)
    reason = "the command runs again when a file of the service changes; set `inputs`"
    context.ledger.change(at, reason, "build.before")


def put_build(context: Context, at: At, config: Fields) -> None:
    """Convert `build.esbuild` of version 4."""
    esbuild = at.get("esbuild")
    if esbuild.is_map:
        put_esbuild(context, esbuild, config.child("build", at))
    context.ledger.carry(esbuild)


def put_esbuild(context: Context, at: At, build: Fields) -> None:
    for one in at.list_entries():
        rule = _ESBUILD_RULES.get(one.key)
        if rule is None:
            context.ledger.lose(one, f"the option `{one.key}` of esbuild is not supported")
        else:
            rule(context, one, build)


def _put_target(context: Context, at: At, build: Fields) -> None:
    context.put(at, build, "target", next(iter(context.read_texts(at)), ""))


def _put_source_map(context: Context, at: At, build: Fields) -> None:
    build.put_flag("sourcemap", at, value=not is_false(at))
    if is_true(at) or is_false(at):
        context.ledger.carry(at)
    else:
        context.ledger.change(at, "fabric writes source maps to separate files", "true")


def _put_external(context: Context, at: At, build: Fields) -> None:
    """Put packages that are not bundled. AWS has its SDK, which fabric knows."""
    texts = [one for one in context.read_texts(at) if not one.startswith(("aws-sdk", "@aws-sdk"))]
    known = build.get("external")
    merged = dict.fromkeys([*(known if isinstance(known, list) else []), *texts])
    context.put(at, build, "external", list(merged))
    context.ledger.carry(at)


def _put_format(context: Context, at: At, build: Fields) -> None:
    context.put(at, build, "format", "esm" if at.text == "esm" else "cjs")


def put_define(context: Context, at: At, build: Fields) -> None:
    """Copy constants of bundles. A bundle would contain a credential."""
    for one in at.list_entries():
        if _is_public(context, one, one.key, context.read_text(one)):
            context.copy(one, build.child("define", at), one.key)
    # AWS SAM also has a list of texts, such as `NAME=1`.
    for one in (item for item in at.list_items() if item.text):
        name, is_pair, text = context.read_text(one).partition("=")
        if context.credentials.is_hidden(name):
            _is_public(context, one, "", name)
        elif not is_pair:
            context.ledger.lose(one, "the constant has no value", "write it into `build.define`")
        elif _is_public(context, one, name, text):
            context.put(one, build.child("define", at), name, text)


def _is_public(context: Context, at: At, name: str, text: str) -> bool:
    """Return whether a constant can be in a bundle. A credential is reported."""
    names = [name.rpartition(".")[2], *_VARIABLE.findall(text)]
    is_secret = context.credentials.is_hidden(text) or any(map(is_credential_name, names))
    if is_secret:
        context.ledger.lose(at, "a credential in a bundle is public", "read it from `env`")
    return not is_secret


def _put_banner(context: Context, at: At, build: Fields) -> None:
    context.copy(at.get("js"), build, "banner")


_ESBUILD_RULES: Rules = {
    **{key: copy_as(key) for key in ("minify", "keepNames", "loader", "tsconfig")},
    "define": put_define,
    "target": _put_target,
    **share(("sourcemap", "sourceMap"), _put_source_map),
    **share(("external", "exclude"), _put_external),
    "format": _put_format,
    "banner": _put_banner,
    **share(
        (
            *("bundle", "platform", "concurrency", "zipConcurrency", "buildConcurrency"),
            *("packager", "packagerOptions", "installExtraArgs", "disableIncremental"),
            *("outputWorkFolder", "outputBuildFolder", "nodeExternals", "skipBuild"),
            *("watch", "logLevel"),
        ),
        drop_because("default of fabric"),
    ),
}
