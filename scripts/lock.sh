#!/bin/sh
# Writes the newest allowed versions of the packages that tests and checks use.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 5 \
    --editable '.[node,dev]'
{
    echo "# Versions of the packages that checks and tests use. Updated by: make lock"
    "$folder/bin/python" -m pip freeze --exclude-editable
} >requirements-dev.lock
