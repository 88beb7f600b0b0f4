#!/bin/sh
# The main job on the example monorepo: plan, build, edit one file, build, deploy, deploy again.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/fabric-demo-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
cp -R "$root/examples/shop" "$work/shop"
cd "$work/shop"

step() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

step fabric compose plan --for package
step fabric compose plan --for package --graph tree
step fabric compose build
step fabric compose build
printf '\n\033[1m# one shared file is edited: only what imports it is built again\033[0m\n'
edited=libs/shared/money.ts
printf '\nexport const editedByDemo = true;\n' >> "$edited"
echo "edited $edited"
step fabric compose plan --for build
step fabric explain build:checkout/place -f .
step fabric compose build
printf '\n\033[1m# deployed, simulated: every endpoint, and then nothing to do\033[0m\n'
step fabric compose deploy
step fabric compose deploy
step fabric compose outputs --service checkout
