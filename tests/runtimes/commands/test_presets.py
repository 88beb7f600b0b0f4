"""Presets with the real tools: archives that start, exact inputs, and equal bytes anywhere."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fabric.model.builds.build_presets import apply_preset
from fabric.model.problems import FabricError
from fabric.model.task_inputs import BuildInputs
from fabric.runtimes.build import Runtimes
from fabric.runtimes.contract import Built
from tests.support.corpus import MACHINE
from tests.support.language_tools import call_bootstrap, keep_go_cache, language_environment
from tests.support.npm_registry import package, serve_registry
from tests.support.runtimes_project import digests, names, unchanged, write

pytestmark = pytest.mark.slow

OTHER = "x86_64" if MACHINE == "arm64" else "arm64"
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.22\n",
    "cmd/hello/main.go": 'package main\n\nimport "example.com/shop/words"\n\n'
    "func main() { println(words.Hello) }\n",
    "words/words.go": 'package words\n\nimport _ "embed"\n\n//go:embed hello.txt\n'
    "var Hello string\n",
    "words/hello.txt": "hello",
    "unused/unused.go": "package unused\n",
}
RUST = {
    "Cargo.toml": '[package]\nname = "hello"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "hello"\nversion = "0.1.0"\n',
    "src/main.rs": 'mod words;\nfn main() { println!("{}", words::HELLO); }\n',
    "src/words.rs": 'pub const HELLO: &str = "hello";\n',
    "notes.rs": "",
}
_LOOP = """\
const host = HOST;
const base = `http://${host}/2018-06-01/runtime/invocation/`;
export async function serve(handle: (event: unknown) => unknown) {
  while (true) {
    const next = await fetch(base + "next");
    const id = next.headers.get("lambda-runtime-aws-request-id");
    const body = JSON.stringify(handle(await next.json()));
    await (await fetch(`${base}${id}/response`, { method: "POST", body })).text();
  }
}
"""
DENO = {
    "src/hello.ts": 'import { serve } from "./loop.ts";\nawait serve((event) => [event]);\n',
    "src/loop.ts": _LOOP.replace("HOST", 'Deno.env.get("AWS_LAMBDA_RUNTIME_API")'),
    "src/unused.ts": "",
}
BUN = {
    "src/hello.ts": 'import { serve } from "./loop";\nawait serve((event) => [event]);\n',
    "src/loop.ts": _LOOP.replace("HOST", "process.env.AWS_LAMBDA_RUNTIME_API"),
    "src/unused.ts": "",
}
JAVA = {
    "src/shop/Main.java": """\
package shop;
import java.net.URI;
import java.net.http.*;
public class Main {
  public static void main(String[] args) throws Exception {
    String base = "http://" + System.getenv("AWS_LAMBDA_RUNTIME_API")
        + "/2018-06-01/runtime/invocation/";
    HttpClient client = HttpClient.newHttpClient();
    while (true) {
      var next = client.send(HttpRequest.newBuilder(URI.create(base + "next")).build(),
          HttpResponse.BodyHandlers.ofString());
      String id = next.headers().firstValue("Lambda-Runtime-Aws-Request-Id").get();
      client.send(HttpRequest.newBuilder(URI.create(base + id + "/response"))
          .POST(HttpRequest.BodyPublishers.ofString(Words.around(next.body()))).build(),
          HttpResponse.BodyHandlers.discarding());
    }
  }
}
""",
    "src/shop/Words.java": "package shop;\npublic class Words {\n"
    '  static String around(String event) { return "[" + event + "]"; }\n'
    "  public java.util.Map<String, Object> handle(java.util.Map<String, Object> event) {\n"
    "    return event;\n  }\n}\n",
    "src/test/WordsTest.java": "not Java",
}


def inputs(preset: str, entry: str, **more: object) -> BuildInputs:
    own = {"architecture": MACHINE, **more}
    made = BuildInputs("shop", "hello", ".", entry, "provided.al2023", **own)  # type: ignore[arg-type]
    return apply_preset(preset, made, depfile=None)


def built(folder: Path, asked: BuildInputs, env: Mapping[str, str] | None = None) -> Built:
    runtimes = Runtimes(folder / "none", env or language_environment(), install=False)
    return runtimes.build(folder, asked)


def go_project(folder: Path) -> Path:
    keep_go_cache(write(folder, GO))
    return folder


def unpacked(made: Built, folder: Path) -> Path:
    for one in made.files:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.content)
        path.chmod(0o755 if one.executable else 0o644)
    return folder


def test_only_listed_files_and_their_directories_count_for_go(tmp_path: Path) -> None:
    made = built(go_project(tmp_path), inputs("go", "cmd/hello"))
    known = digests(tmp_path, made.seen)
    write(tmp_path, {"unused/unused.go": "package unused // 2\n", "README.md": "", "x/y.go": ""})
    assert unchanged(tmp_path, made.seen, known)
    write(tmp_path, {"words/words_test.go": "package words\n"})
    assert unchanged(tmp_path, made.seen, known)


@pytest.mark.parametrize(
    "edit",
    [
        {"words/words.go": GO["words/words.go"] + "// edited\n"},
        {"words/hello.txt": "bye"},
        {"words/more.go": "package words\n"},
        {"cmd/hello/more.go": "package main\n"},
        {"go.mod": GO["go.mod"] + "// edited\n"},
        {"go.work": "go 1.22\nuse .\n"},
        {"words/go.mod": "module example.com/words\n"},
    ],
)
@pytest.mark.sampled
def test_sources_new_files_of_packages_and_project_files_count_for_go(
    edit: dict[str, str], tmp_path: Path
) -> None:
    made = built(go_project(tmp_path), inputs("go", "cmd/hello"))
    known = digests(tmp_path, made.seen)
    write(tmp_path, edit)
    assert not unchanged(tmp_path, made.seen, known)


@pytest.mark.parametrize("entry", ["cmd/hello", "./cmd/hello", "cmd/hello/main.go"])
def test_an_entry_of_go_is_a_package_or_a_file(entry: str, tmp_path: Path) -> None:
    made = built(go_project(tmp_path), inputs("go", entry))
    assert (names(made), made.files[0].executable, made.handler) == (
        ["bootstrap"],
        True,
        "bootstrap",
    )


def test_go_builds_for_the_other_architecture(tmp_path: Path) -> None:
    [file] = built(go_project(tmp_path), inputs("go", "cmd/hello", architecture=OTHER)).files
    # The machine in the header of an ELF file.
    assert int.from_bytes(file.content[18:20], "little") == (183 if OTHER == "arm64" else 62)


def test_errors_of_a_compiler_are_shown(tmp_path: Path) -> None:
    write(go_project(tmp_path), {"words/words.go": "package words\n\nvar Hello int = true\n"})
    with pytest.raises(FabricError) as caught:
        built(tmp_path, inputs("go", "cmd/hello"))
    assert "the build with preset `go` exited with code 1" in caught.value.first.message
    assert "words/words.go:3" in caught.value.first.frame


def test_only_listed_files_count_for_rust(tmp_path: Path) -> None:
    made = built(write(tmp_path, RUST), inputs("rust", "."))
    known = digests(tmp_path, made.seen)
    write(tmp_path, {"notes.rs": "edited", "README.md": ""})
    assert unchanged(tmp_path, made.seen, known)
    write(tmp_path, {"src/words.rs": RUST["src/words.rs"] + "// edited\n"})
    assert not unchanged(tmp_path, made.seen, known)


@pytest.mark.skipif(shutil.which("rustup") is None, reason="apt's Rust has other targets")
def test_a_rust_target_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        built(write(tmp_path, RUST), inputs("rust", ".", architecture=OTHER))
    assert "run: rustup target add" in caught.value.first.frame


def test_java_has_its_runtime_in_the_archive_and_equal_bytes_anywhere(tmp_path: Path) -> None:
    made = built(write(tmp_path / "a", JAVA), inputs("java", "src/shop/Main.java"))
    kept = Path(".fabric", "cache", "tools")
    # jlink takes most of the time, and its result is kept.
    shutil.copytree(tmp_path / "a" / kept, tmp_path / "b" / kept, symlinks=True)
    again = built(write(tmp_path / "b", JAVA), inputs("java", "src/shop/Main.java"))
    assert again.files == made.files
    assert {"app.jar", "bootstrap", "jre/bin/java"} <= set(names(made))
    assert call_bootstrap(unpacked(made, tmp_path / "out"), [{"a": 1}]) == [[{"a": 1}]]


def test_managed_java_has_classes_and_the_handler_of_the_config(tmp_path: Path) -> None:
    asked = BuildInputs("shop", "hello", ".", "shop.Words::handle", "java17", architecture=OTHER)
    made = built(write(tmp_path, JAVA), apply_preset("java", asked, depfile=None))
    assert names(made) == ["shop/Main.class", "shop/Words.class"]
    assert made.handler == "shop.Words::handle"


RUBY = {
    "app/words.rb": "require_relative 'shared'\ndef handle(event:, context:) = HELLO\n",
    "app/shared.rb": "HELLO = 'hello'\n",
    "spec/words_spec.rb": "",
    "notes.txt": "",
}


def _build_ruby(folder: Path, files: dict[str, str]) -> Built:
    asked = BuildInputs("shop", "hello", ".", "app/words.handle", "ruby3.3", architecture=OTHER)
    return built(write(folder, files), apply_preset("ruby", asked, depfile=None))


def test_ruby_packs_its_files_and_needs_no_tool_without_gems(tmp_path: Path) -> None:
    made = _build_ruby(tmp_path, RUBY)
    assert names(made) == ["app/shared.rb", "app/words.rb"]
    assert made.handler == "app/words.handle"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"Gemfile": "gem 'rack'\n"}, "Gemfile has no Gemfile.lock"),
        ({"Gemfile": "", "Gemfile.lock": ""}, "gems for ruby3.3 require Ruby 3.3, found"),
    ],
)
def test_gems_require_a_lock_and_the_version_of_the_runtime(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(FabricError) as caught:
        _build_ruby(tmp_path, {**RUBY, **files})
    assert said in caught.value.first.frame


def test_jlink_makes_no_runtime_for_the_other_architecture(tmp_path: Path) -> None:
    with pytest.raises(FabricError) as caught:
        built(write(tmp_path, JAVA), inputs("java", "src/shop/Main.java", architecture=OTHER))
    assert "use runtime java21" in caught.value.first.frame


@pytest.mark.parametrize(("preset", "files"), [("bun", BUN), ("deno", DENO)])
def test_modules_that_are_imported_count_for_bun_and_deno(
    preset: str, files: dict[str, str], tmp_path: Path
) -> None:
    made = built(write(tmp_path / "a", files), inputs(preset, "src/hello.ts"))
    assert call_bootstrap(unpacked(made, tmp_path / "out"), [{"a": 1}]) == [[{"a": 1}]]
    assert {"src/hello.ts", "src/loop.ts"} <= set(made.seen.files)
    assert "src/unused.ts" not in made.seen.files


def test_the_configs_that_a_tsconfig_extends_count_for_bun(tmp_path: Path) -> None:
    paths = '{"compilerOptions": {"paths": {"loop": ["./src/%s.ts"]}}}'
    aliased = {
        "tsconfig.json": '{"extends": "./base.json"}',
        "base.json": paths % "loop",
        "src/hello.ts": BUN["src/hello.ts"].replace("./loop", "loop"),
    }
    made = built(write(tmp_path, {**BUN, **aliased}), inputs("bun", "src/hello.ts"))
    known = digests(tmp_path, made.seen)
    assert "src/loop.ts" in made.seen.files
    write(tmp_path, {"base.json": paths % "unused"})
    assert not unchanged(tmp_path, made.seen, known)


IMPORT_MAP = {
    "deno.json": '{\n  // in another file,\n  "importMap": "./maps/import_map.json",\n}\n',
    "maps/import_map.json": '{"imports": {"loop": "../src/loop.ts"}}',
    "src/hello.ts": DENO["src/hello.ts"].replace("./loop.ts", "loop"),
}


def test_the_import_map_of_deno_is_packed_and_counts(tmp_path: Path) -> None:
    write(tmp_path / "a", {**DENO, **IMPORT_MAP})
    made = built(tmp_path / "a", inputs("deno", "src/hello.ts"))
    assert call_bootstrap(unpacked(made, tmp_path / "out"), [{"a": 1}]) == [[{"a": 1}]]
    known = digests(tmp_path / "a", made.seen)
    write(tmp_path / "a", {"maps/import_map.json": IMPORT_MAP["maps/import_map.json"] + " "})
    assert not unchanged(tmp_path / "a", made.seen, known)


def test_an_import_map_of_deno_outside_of_the_service_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {f"a/{name}": text for name, text in DENO.items()})
    write(tmp_path, {"map.json": "{}", "a/deno.json": '{"importMap": "../map.json"}'})
    with pytest.raises(FabricError) as caught:
        built(tmp_path / "a", inputs("deno", "src/hello.ts"))
    assert "the import map ../map.json is not a file of the service" in caught.value.first.frame


NPM_DENO = {
    **DENO,
    "deno.json": "{}",
    "src/hello.ts": 'import name from "npm:outer@1";\nimport { serve } from "./loop.ts";\n'
    "await serve(() => name);\n",
}


def test_packages_of_npm_are_packed_for_deno_and_need_no_network(tmp_path: Path) -> None:
    packages = {
        "outer": {"1.0.0": package("outer", "1.0.0", {"@scope/inner": "^2.0.0"})},
        "@scope/inner": {"2.1.0": package("@scope/inner", "2.1.0", {})},
    }
    with serve_registry(packages) as registry:
        env = (("NPM_CONFIG_REGISTRY", registry.url),)
        asked = inputs("deno", "src/hello.ts", env=env)
        write(tmp_path / "a", NPM_DENO)
        with pytest.raises(FabricError) as caught:
            built(tmp_path / "a", asked)
        assert "npm: imports require a deno.lock" in caught.value.first.frame
        known = {**language_environment(), **dict(env), "DENO_DIR": str(tmp_path / "deno")}
        words = ["deno", "install", "--quiet", "--entrypoint", "src/hello.ts"]
        subprocess.run(words, cwd=tmp_path / "a", env=known, check=True)
        made = built(tmp_path / "a", asked)
        write(tmp_path / "a", {"src/hello.ts": NPM_DENO["src/hello.ts"].replace("@1", "@2")})
        with pytest.raises(FabricError):
            built(tmp_path / "a", asked)
    place = ".deno/npm/registry.npmjs.org"
    assert {f"{place}/outer/1.0.0/index.js", f"{place}/@scope/inner/2.1.0/index.js"} <= {
        *names(made)
    }
    assert "deno.lock" in made.seen.files
    found = call_bootstrap(unpacked(made, tmp_path / "out"), [{}])
    assert found == ["outer@1.0.0 @scope/inner@2.1.0 "]


SAMPLES = [
    ("go", "cmd/hello", GO),
    ("rust", "hello", RUST),
    ("bun", "src/hello.ts", BUN),
    ("deno", "src/hello.ts", DENO),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("preset", "entry", "files"), SAMPLES)
def test_equal_sources_give_equal_bytes_in_two_directories(
    preset: str, entry: str, files: dict[str, str], tmp_path: Path
) -> None:
    results = []
    for name in ("a", "another/place"):
        write(tmp_path / name, files)
        if preset == "go":
            keep_go_cache(tmp_path / name)
        results.append(built(tmp_path / name, inputs(preset, entry)).files)
    assert results[0] == results[1]


@pytest.mark.parametrize("preset", ["go", "rust", "java", "bun", "deno", "dotnet"])
def test_a_missing_sdk_is_reported_with_its_installation(preset: str, tmp_path: Path) -> None:
    write(tmp_path, {"src/x": ""})
    with pytest.raises(FabricError) as caught:
        Runtimes(tmp_path, {"PATH": str(tmp_path)}, install=False).toolchain(
            tmp_path, inputs(preset, "src")
        )
    assert caught.value.first.code == "runtime/tool-missing"
    assert caught.value.first.hint.startswith("install ")


FAKE_DOTNET = """\
#!/bin/sh
[ "$1" = publish ] || { echo 8.0.400; exit 0; }
echo "$@" > "$FABRIC_OUT_DIR/arguments"
: > "$FABRIC_OUT_DIR/bootstrap"
"""


@pytest.mark.parametrize(
    ("runtime", "entry", "words"),
    [
        ("dotnet8", "Shop::Shop.Words::Handle", "publish . -c Release --self-contained false"),
        ("provided.al2023", "src", "publish src -p:AssemblyName=bootstrap --self-contained true"),
    ],
)
def test_dotnet_publishes_for_the_runtime(
    runtime: str, entry: str, words: str, tmp_path: Path
) -> None:
    """The SDK is in no registry of tests: this shows the arguments that it gets."""
    write(tmp_path, {"bin/dotnet": FAKE_DOTNET, "src/shop.csproj": ""})
    (tmp_path / "bin" / "dotnet").chmod(0o755)
    asked = BuildInputs("shop", "hello", ".", entry, runtime, architecture="arm64")
    env = {"PATH": f"{tmp_path}/bin:{os.defpath}", "HOME": str(tmp_path)}
    made = built(tmp_path, apply_preset("dotnet", asked, depfile=None), env)
    told = next(one.content.decode() for one in made.files if one.path == "arguments")
    assert set(words.split()) <= set(told.split())
    assert "linux-arm64" in told


def custom(command: str, **more: object) -> BuildInputs:
    words = ("sh", "-c", command)
    return BuildInputs("shop", "hello", ".", "src", "provided.al2023", command=words, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "more", "message"),
    [
        ("true", {}, "wrote no file"),
        ("echo > $FABRIC_OUT_DIR/other", {}, "did not write `bootstrap`"),
        ("echo > $FABRIC_OUT_DIR/bootstrap", {"outputs": ("a/*.txt",)}, "did not write `a/*.txt`"),
        ("echo > $FABRIC_OUT_DIR/bootstrap", {"depfile": True}, "did not write $FABRIC_DEPFILE"),
        (
            "echo > $FABRIC_OUT_DIR/bootstrap; echo none > $FABRIC_DEPFILE",
            {"depfile": True},
            "listed no file",
        ),
    ],
)
def test_missing_outputs_are_errors(
    command: str, more: dict[str, object], message: str, tmp_path: Path
) -> None:
    write(tmp_path, {"src/x": ""})
    with pytest.raises(FabricError) as caught:
        built(tmp_path, custom(command, **more))
    assert message in caught.value.first.message
    assert caught.value.first.code == "build/failed"


def test_a_build_command_shows_both_streams_and_no_credentials(tmp_path: Path) -> None:
    write(tmp_path, {"src/x": ""})
    secret = "AKIA" + "B" * 16
    with pytest.raises(FabricError) as caught:
        built(tmp_path, custom(f"echo one {secret}; echo two >&2; exit 3"))
    assert "exited with code 3" in caught.value.first.message
    assert {"one", "two"} <= set(caught.value.first.frame.split())
    assert secret not in f"{caught.value}{caught.value.first}"


def test_inputs_limit_the_files_that_count(tmp_path: Path) -> None:
    write(tmp_path, {"src/a.c": "", "src/b.h": "", "docs/x.c": ""})
    asked = custom("echo > $FABRIC_OUT_DIR/bootstrap", inputs=("**/*.c", "!docs"))
    made = built(tmp_path, asked)
    known = digests(tmp_path, made.seen)
    write(tmp_path, {"src/b.h": "edited", "docs/x.c": "edited", "docs/y.c": ""})
    assert unchanged(tmp_path, made.seen, known)
    write(tmp_path, {"src/new.c": ""})
    assert not unchanged(tmp_path, made.seen, known)


def test_a_script_that_the_command_names_counts(tmp_path: Path) -> None:
    script = "echo > $FABRIC_OUT_DIR/bootstrap\n"
    write(tmp_path, {"src/x": "", "build.sh": script})
    asked = BuildInputs(
        "shop",
        "hello",
        ".",
        "src",
        "provided.al2023",
        command=("sh", "build.sh"),
        inputs=("src/**",),
    )
    made = built(tmp_path, asked)
    known = digests(tmp_path, made.seen)
    write(tmp_path, {"build.sh": f"{script}# edited\n"})
    assert not unchanged(tmp_path, made.seen, known)


def test_caches_are_kept_and_are_no_inputs(tmp_path: Path) -> None:
    write(tmp_path, {"src/x": ""})
    command = 'echo x >> "$KEPT/log"; cp "$KEPT/log" "$FABRIC_OUT_DIR/bootstrap"'
    asked = custom(command, caches=(("KEPT", "logs"),))
    first = built(tmp_path, asked)
    second = built(tmp_path, asked)
    assert [one.files[0].content for one in (first, second)] == [b"x\n", b"x\nx\n"]
    assert unchanged(tmp_path, first.seen, digests(tmp_path, first.seen))


def test_versions_of_tools_are_part_of_the_key(tmp_path: Path) -> None:
    asked = custom("true", tools=(("sh", "-c", "echo my compiler 1.2"),))
    runtimes = Runtimes(tmp_path, {"PATH": os.defpath}, install=False)
    assert "my compiler 1.2" in runtimes.toolchain(tmp_path, asked).identity
