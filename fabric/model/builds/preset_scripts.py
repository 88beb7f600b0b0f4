"""The shell scripts of build presets.

Each runs in the service directory with the variables of `build.command` and FABRIC_ARCHITECTURE
(`x86_64` or `arm64`). Flags remove times and paths of the machine, so that equal sources give equal
bytes in any directory.
"""

_GO_FILES = (
    "GoFiles CgoFiles CFiles CXXFiles MFiles HFiles FFiles SFiles SysoFiles EmbedFiles "
    "IgnoredGoFiles IgnoredOtherFiles"
).split()
_GO_ROWS = "".join(
    f'{{{{range .{name}}}}}F {{{{$d}}}}/{{{{.}}}}{{{{"\\n"}}}}{{{{end}}}}' for name in _GO_FILES
)
# The files of all packages except the standard library, and the patterns of embedded directories.
_GO_TEMPLATE = (
    "{{if not .Standard}}{{$d := .Dir}}"
    + _GO_ROWS
    + '{{range .EmbedPatterns}}E {{$d}}/{{.}}{{"\\n"}}{{end}}{{end}}'
)

GO = (
    r"""
case $FABRIC_ARCHITECTURE in arm64) GOARCH=arm64 ;; *) GOARCH=amd64 ;; esac
export GOARCH GOOS=linux
case $FABRIC_ENTRY in /* | ./* | ../*) target=$FABRIC_ENTRY ;; *) target=./$FABRIC_ENTRY ;; esac
go build -trimpath -buildvcs=false -ldflags='-s -w -buildid=' \
    -o "$FABRIC_OUT_DIR/bootstrap" "$target"
[ -n "${FABRIC_DEPFILE:-}" ] || exit 0
go list -deps -f '"""
    + _GO_TEMPLATE
    + r"""' "$target" >"$TMPDIR/files"
modules=$(go env GOMODCACHE)/
sed 's|^E \(.*\)/all:|E \1/|; /^E /{s|/[^/]*[*?[].*$||}' "$TMPDIR/files" |
    while read -r kind path; do
        case $path in "$modules"*) continue ;; esac
        if [ "$kind" = F ]; then echo "$path"; elif [ -d "$path" ]; then echo "$path/"; fi
    done | sed 's/[\\ #]/\\&/g; s/\$/$$/g; s/^/bootstrap: /' >"$FABRIC_DEPFILE"
"""
)

RUST = r"""
case $FABRIC_ARCHITECTURE in arm64) machine=aarch64 ;; *) machine=x86_64 ;; esac
target=$machine-unknown-linux-gnu
if ! [ -d "$(rustc --print target-libdir --target "$target")" ]; then
    echo "the Rust target $target is not installed; run: rustup target add $target" >&2
    exit 1
fi
if [ "$(uname -m)" != "$machine" ] && command -v "$machine-linux-gnu-gcc" >/dev/null; then
    name=$(echo "CARGO_TARGET_${target}_LINKER" | tr 'a-z-' 'A-Z_')
    export "$name=$machine-linux-gnu-gcc"
fi
if [ -d "$FABRIC_ENTRY" ]; then
    set -- --manifest-path "$FABRIC_ENTRY/Cargo.toml"
else
    set -- --bin "$FABRIC_ENTRY"
fi
home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static -C strip=symbols \
-C codegen-units=1 --remap-path-prefix=$home=/cargo --remap-path-prefix=$PWD=/src"
cargo build --release --target "$target" --message-format=json-render-diagnostics "$@" \
    >"$TMPDIR/messages"
sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$TMPDIR/messages" >"$TMPDIR/programs"
if [ "$(wc -l <"$TMPDIR/programs")" != 1 ]; then
    echo "the package has several programs or none: set \`entry\` to the name of one" >&2
    exit 1
fi
program=$(cat "$TMPDIR/programs")
cp "$program" "$FABRIC_OUT_DIR/bootstrap"
[ -z "${FABRIC_DEPFILE:-}" ] || cp "$program.d" "$FABRIC_DEPFILE"
"""

JAVA = r"""
libraries=$(find lib -maxdepth 1 -name '*.jar' 2>/dev/null | sort | tr '\n' ':')
if [ -n "$libraries" ]; then mkdir "$FABRIC_OUT_DIR/lib" && cp lib/*.jar "$FABRIC_OUT_DIR/lib"; fi
classes=$TMPDIR/classes
mkdir "$classes"
if [ -d src/main/resources ]; then cp -R src/main/resources/. "$classes"; fi
set -- -proc:none -encoding UTF-8 -d "$classes" -cp "$libraries"
list_sources() {
    find "$1" -name '*.java' -not -path '*/.*/*' -not -path '*/src/test/*' \
        -not -path './target/*' -not -path './build/*' | sort
}
if [ "${FABRIC_RUNTIME#java}" != "$FABRIC_RUNTIME" ]; then
    list_sources . | sed 's/.*/"&"/' >"$TMPDIR/sources"
    javac "$@" --release "${FABRIC_RUNTIME#java}" "@$TMPDIR/sources"
    cp -R "$classes/." "$FABRIC_OUT_DIR"
    exit 0
fi
case $(uname -m) in aarch64) here=arm64 ;; *) here=x86_64 ;; esac
if [ "$FABRIC_ARCHITECTURE" != "$here" ]; then
    echo "jlink on $here cannot make a Java runtime for $FABRIC_ARCHITECTURE:" \
        "use runtime java21, or build on a machine with that architecture" >&2
    exit 1
fi
if [ -d "$FABRIC_ENTRY" ]; then
    main=$(list_sources "$FABRIC_ENTRY" | tr '\n' '\0' |
        xargs -0 grep -lE '\bstatic +void +main *\(' || true)
    if [ "$(echo "$main" | wc -l)" != 1 ] || [ -z "$main" ]; then
        echo "the directory has several main methods or none: set \`entry\` to one file" >&2
        exit 1
    fi
else
    main=$FABRIC_ENTRY
fi
package=$(sed -n 's/^ *package  *\([A-Za-z0-9_.]*\) *;.*/\1/p' "$main" | head -1)
class=$(basename "$main" .java)
root=$(dirname "$main")
if [ -n "$package" ]; then
    folder=$(echo "$package" | tr . /)
    case /$root in */"$folder") root=${root%"$folder"} && root=${root%/} ;; esac
    class=$package.$class
fi
[ -n "$root" ] || root=.
if [ -d "$FABRIC_ENTRY" ]; then
    list_sources "$FABRIC_ENTRY" | sed 's/.*/"&"/' >"$TMPDIR/sources"
    javac "$@" "@$TMPDIR/sources"
else
    javac "$@" -sourcepath "$root" "$main"
fi
jar --create --date=2020-01-01T00:00:00Z --file "$FABRIC_OUT_DIR/app.jar" -C "$classes" .
modules=$(jdeps --multi-release base --ignore-missing-deps --print-module-deps \
    ${libraries:+--class-path "$libraries"} "$FABRIC_OUT_DIR/app.jar") ||
    { echo "$modules" >&2 && exit 1; }
facts="$modules $(jlink --version) $(command -v jlink)"
kept=$FABRIC_JAVA_RUNTIMES/$(echo "$facts" | cksum | tr ' ' -)
if ! [ -d "$kept" ]; then
    jlink --add-modules "$modules" --strip-java-debug-attributes --no-man-pages \
        --no-header-files --output "$TMPDIR/jre"
    cp -RL "$TMPDIR/jre" "$kept.$$"
    mv -T "$kept.$$" "$kept" 2>/dev/null || rm -rf "$kept.$$"
fi
cp -R "$kept" "$FABRIC_OUT_DIR/jre"
cat >"$FABRIC_OUT_DIR/bootstrap" <<END
#!/bin/sh
cd "\$(dirname "\$0")"
exec jre/bin/java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp 'app.jar:lib/*' $class
END
"""

BUN = r"""
case $FABRIC_ARCHITECTURE in arm64) target=bun-linux-arm64 ;; *) target=bun-linux-x64 ;; esac
case $FABRIC_ENTRY in /* | ./* | ../*) entry=$FABRIC_ENTRY ;; *) entry=./$FABRIC_ENTRY ;; esac
bun build --compile "--target=$target" "--metafile=$TMPDIR/meta.json" \
    "--outfile=$TMPDIR/bootstrap" "$entry"
mv "$TMPDIR/bootstrap" "$FABRIC_OUT_DIR/bootstrap"
[ -n "${FABRIC_DEPFILE:-}" ] || exit 0
bun -e '
const { inputs } = await Bun.file(process.env.TMPDIR + "/meta.json").json();
const escaped = Object.keys(inputs).map((path) =>
  path.replace(/[\\ #]/g, "\\$&").replaceAll("$", "$$$$"));
await Bun.write(process.env.FABRIC_DEPFILE, escaped.map((path) => `bootstrap: ${path}\n`).join(""));
'
"""

DENO = r"""
case $(uname -m) in aarch64) here=arm64 ;; *) here=x86_64 ;; esac
if [ "$FABRIC_ARCHITECTURE" != "$here" ]; then
    echo "the preset packs the deno of this machine ($here), not one for $FABRIC_ARCHITECTURE:" \
        "build on a machine with that architecture" >&2
    exit 1
fi
export DENO_NO_UPDATE_CHECK=1 NO_COLOR=1
export DENO_TLS_CA_STORE="${DENO_TLS_CA_STORE:-system,mozilla}"
# Packages of npm are in the directory of Deno, which is packed, and not in node_modules.
packages=--node-modules-dir=none
deno info --json --no-npm $packages "$FABRIC_ENTRY" >"$TMPDIR/modules.json"
if grep -q '"specifier": "npm:' "$TMPDIR/modules.json"; then
    if [ ! -f deno.lock ]; then
        echo "npm: imports require a deno.lock in the service directory. Create a deno.json," \
            "and run: deno install --entrypoint $FABRIC_ENTRY" >&2
        exit 1
    fi
    # Downloads the versions of the lock, and checks their hashes.
    deno cache --quiet --frozen $packages "$FABRIC_ENTRY"
    deno info --json $packages "$FABRIC_ENTRY" >"$TMPDIR/modules.json"
fi
cat >"$TMPDIR/pack.js" <<'END'
const env = (name) => Deno.env.get(name) ?? "";
const found = JSON.parse(Deno.readTextFileSync(env("TMPDIR") + "/modules.json"));
const { modules, npmPackages = {} } = found;
const root = Deno.realPathSync(".") + "/";
const failed = modules.find((one) => one.error);
if (failed) fail(failed.error);
const used = modules.filter(
  (one) => !["node", "npm"].includes(one.kind) && !one.specifier.startsWith("node:"),
);
// At run time, Deno requires all packages of the lock, except for those of other systems.
const npm = Object.values(npmPackages).filter((one) => isFile(`${one.localPath}/package.json`));
const paths = used.map((one) => {
  if (!one.local?.startsWith(root)) {
    fail(`${one.specifier} is not a file of the service: set "vendor": true in deno.json`);
  }
  return one.local.slice(root.length);
});
paths.push(...["deno.json", "deno.jsonc", "deno.lock"].filter(isFile));
if (npm.length && isFile("package.json")) paths.push("package.json");
const config = ["deno.json", "deno.jsonc"].find(isFile);
const { imports, scopes, importMap } = config ? readJsonc(config) : {};
if (importMap && !imports && !scopes) {
  const map = isFile(importMap) ? Deno.realPathSync(importMap) : "";
  if (!map.startsWith(root)) {
    fail(`the import map ${importMap} is not a file of the service: copy it there`);
  }
  paths.push(map.slice(root.length));
}
for (const path of paths) {
  const target = `${env("FABRIC_OUT_DIR")}/${path}`;
  Deno.mkdirSync(target.slice(0, target.lastIndexOf("/")), { recursive: true });
  Deno.copyFileSync(path, target);
  Deno.chmodSync(target, 0o644);
}
for (const { localPath, name, version } of npm) {
  const end = `/${name}/${version}`;
  const [, below] = localPath.split(`${env("DENO_DIR")}/npm/`);
  // At run time it is looked up below the public registry, whatever registry it came from.
  const place = localPath.endsWith(end) ? `registry.npmjs.org${end}` : below;
  copyFolder(localPath, `${env("FABRIC_OUT_DIR")}/.deno/npm/${place}`);
}
const rows = paths.map((path) => path.replace(/[\\ #]/g, "\\$&").replaceAll("$", "$$$$"));
const listed = rows.map((path) => `bootstrap: ${path}\n`).join("");
if (env("FABRIC_DEPFILE")) Deno.writeTextFileSync(env("FABRIC_DEPFILE"), listed);
Deno.copyFileSync(Deno.execPath(), env("FABRIC_OUT_DIR") + "/deno");
function copyFolder(from, to) {
  Deno.mkdirSync(to, { recursive: true });
  for (const one of Deno.readDirSync(from)) {
    const [source, target] = [`${from}/${one.name}`, `${to}/${one.name}`];
    if (one.isDirectory) copyFolder(source, target);
    if (!one.isFile) continue;
    Deno.copyFileSync(source, target);
    Deno.chmodSync(target, 0o644);
  }
}
function isFile(path) {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
function readJsonc(path) {
  const comments = /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g;
  const commas = /("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g;
  const keepText = (_, text) => text ?? " ";
  const bare = Deno.readTextFileSync(path).replace(comments, keepText);
  return JSON.parse(bare.replace(commas, keepText));
}
function fail(message) {
  console.error(message);
  Deno.exit(1);
}
END
deno run --allow-all --no-config --no-lock "$TMPDIR/pack.js"
cat >"$FABRIC_OUT_DIR/bootstrap" <<END
#!/bin/sh
cd "\$(dirname "\$0")"
export DENO_DIR="\${DENO_DIR:-/tmp/deno}" DENO_NO_UPDATE_CHECK=1
if [ -d .deno ]; then DENO_DIR=\$PWD/.deno; fi
exec ./deno run --allow-all --cached-only $packages '$FABRIC_ENTRY'
END
"""

DOTNET = r"""
case $FABRIC_ARCHITECTURE in arm64) target=linux-arm64 ;; *) target=linux-x64 ;; esac
case $FABRIC_ENTRY in *::*) project=. ;; *) project=$FABRIC_ENTRY ;; esac
set -- -c Release -r "$target" --artifacts-path "$TMPDIR/artifacts" -o "$FABRIC_OUT_DIR" \
    -p:Deterministic=true -p:ContinuousIntegrationBuild=true "-p:PathMap=$PWD=/src" \
    -p:DebugType=none -p:GenerateDocumentationFile=false
if [ "${FABRIC_RUNTIME#dotnet}" != "$FABRIC_RUNTIME" ]; then
    set -- "$@" --self-contained false -p:GenerateRuntimeConfigurationFiles=true
else
    set -- "$@" --self-contained true -p:PublishSingleFile=true -p:AssemblyName=bootstrap \
        -p:InvariantGlobalization=true
fi
dotnet publish "$project" "$@"
"""

RUBY = r"""
find . -name '*.rb' -not -path './vendor/*' -not -path '*/.*/*' -not -path '*/spec/*' \
    -not -path '*/test/*' | while read -r path; do
    mkdir -p "$FABRIC_OUT_DIR/$(dirname "$path")"
    cp "$path" "$FABRIC_OUT_DIR/$path"
done
[ -f Gemfile ] || exit 0
if ! [ -f Gemfile.lock ]; then
    echo "Gemfile has no Gemfile.lock; run: bundle lock" >&2
    exit 1
fi
wanted=${FABRIC_RUNTIME#ruby}
found=$(ruby -e 'print RUBY_VERSION[/\d+\.\d+/]') || found=none
if [ "$found" != "$wanted" ]; then
    echo "gems for ${FABRIC_RUNTIME} require Ruby $wanted, found $found" >&2
    exit 1
fi
cp Gemfile Gemfile.lock "$FABRIC_OUT_DIR"
cd "$FABRIC_OUT_DIR"
export BUNDLE_APP_CONFIG="$TMPDIR/bundle" BUNDLE_PATH=vendor/bundle BUNDLE_FROZEN=true
export BUNDLE_WITHOUT=development:test BUNDLE_CACHE_ALL=false
bundle install --quiet
rm -rf vendor/bundle/ruby/*/cache
"""
