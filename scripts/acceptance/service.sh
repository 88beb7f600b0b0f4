#!/bin/sh
# Deploy an example to a real account, change it, roll it back and remove it. Read by the script of
# each provider, which sets `provider`, `triggers`, `variables` and `costs`.
set -eu

if [ "${ACCEPT_COSTS:-}" != yes ]; then
  echo "set ACCEPT_COSTS=yes: this script $costs" >&2
  exit 64
fi
for name in $variables; do
  eval "value=\${$name:-}"
  if [ -z "$value" ]; then
    echo "set $name" >&2
    exit 64
  fi
done

FABRIC=${FABRIC:-fabric}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
prefix=$(echo "$provider" | cut -d- -f1 | tr a-z A-Z)
export "FABRIC_${prefix}_REAL_DEPLOY=1"

# Settings of the provider for this account, as JSON.
extensions=${EXTENSIONS:-}
cat > fabric.yml <<YAML
service: acceptance
provider: {name: $provider, runtime: ${runtime:-nodejs22.x}}
extensions: {$provider: ${extensions:-{\}}}
env: {MODE: plain}
functions:
  - {name: hello, entry: hello.ts, triggers: [{type: http, path: /hello}$triggers]}
  - {name: bye, entry: bye.ts, triggers: [{type: http, path: /bye}]}
YAML

write() {
  echo "export const handler = async () => ({ statusCode: 200, body: \"$2 \" + process.env.MODE });" > "$1.ts"
}

# A new address needs time until it resolves.
expect() {
  "$FABRIC" outputs --json | WAIT="${WAIT:-120}" python3 -c '
import json, os, sys, time, urllib.error, urllib.request

function, wanted = sys.argv[1:]
outputs = json.load(sys.stdin)["result"]["services"][0]["outputs"]
url = outputs.get("url_" + function) or outputs["url"]
url = url if url.endswith("/" + function) else url.rstrip("/") + "/" + function
end = time.monotonic() + float(os.environ["WAIT"])
while True:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            found = answer.read().decode()
    except (OSError, urllib.error.HTTPError) as error:
        found = str(error)
    if found == wanted:
        sys.exit(print("ok:", url, "answers:", found))
    if time.monotonic() > end:
        sys.exit("failed: " + url + " answers: " + found + ", expected: " + wanted)
    time.sleep(2)
' "$1" "$2"
}

remove() {
  "$FABRIC" remove --yes
}

write hello one
write bye bye
"$FABRIC" doctor
trap 'remove || true; rm -rf "$folder"' EXIT
"$FABRIC" deploy
expect hello "one plain"
expect bye "bye plain"
write hello two
"$FABRIC" deploy
expect hello "two plain"
"$FABRIC" deploy
"$FABRIC" rollback
expect hello "one plain"
remove
trap 'rm -rf "$folder"' EXIT
remove
echo "ok: all steps passed, and the service was removed"
