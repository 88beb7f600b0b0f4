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
export FABRIC_REAL_DEPLOY=1

cat > fabric.yml <<YAML
service: acceptance
provider: {name: $provider, runtime: nodejs22.x}
env: {MODE: plain}
functions:
  - {name: hello, entry: hello.ts, triggers: [{type: http, path: /hello}$triggers]}
  - {name: bye, entry: bye.ts, triggers: [{type: http, path: /bye}]}
YAML

write() {
  echo "export const handler = async () => ({ statusCode: 200, body: \"$2 \" + process.env.MODE });" > "$1.ts"
}

expect() {
  url=$("$FABRIC" outputs --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["result"]["services"][0]["outputs"]["url"])')
  # A new address needs time until it resolves.
  for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
    found=$(curl -sS --max-time 20 "$url/$1" || true)
    if [ "$found" = "$2" ]; then
      echo "ok: /$1 answers: $2"
      return
    fi
    sleep 10
  done
  echo "failed: /$1 answers: $found, expected: $2 (try $try)" >&2
  exit 1
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
