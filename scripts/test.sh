#!/bin/sh
# Everything: the checks, then all tests with coverage.
set -eu
cd "$(dirname "$0")/.."
sh scripts/check.sh
.venv/bin/python -m pytest -q "$@"
