#!/bin/sh
# Deploy an example to a real account at Azure, change it, roll it back and remove it. Azure charges for it.
#
# ACCEPT_COSTS=yes CLOUD3_TENANT_ID=... CLOUD3_CLIENT_ID=... CLOUD3_CLIENT_SECRET=... \
#   CLOUD3_SUBSCRIPTION_ID=... CLOUD3_RESOURCE_GROUP=... sh scripts/acceptance/cloud3-functions.sh
#
# The resource group must exist.
set -eu

if [ "${ACCEPT_COSTS:-}" != yes ]; then
  echo "set ACCEPT_COSTS=yes: this script creates a function app that costs money" >&2
  exit 64
fi
for name in CLOUD3_TENANT_ID CLOUD3_CLIENT_ID CLOUD3_CLIENT_SECRET CLOUD3_SUBSCRIPTION_ID CLOUD3_RESOURCE_GROUP; do
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
export FABRIC_CLOUD3_REAL_DEPLOY=1

cat > fabric.yml <<'YAML'
service: acceptance
provider: {name: cloud3-functions, runtime: nodejs22.x}
env: {MODE: plain}
functions:
  - {name: hello, entry: hello.ts, triggers: [{type: http, path: /hello}, {type: cron, schedule: rate(1 hour)}]}
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
