#!/bin/sh
# Everything: the checks, all tests, and once more what builds, plans and deploys without shortcuts.
set -eu
cd "$(dirname "$0")/.."
sh scripts/check.sh
.venv/bin/python -m pytest -q --durations=20 "$@"
# Stored answers, kept graphs and the last run make things quick, and nothing else.
FABRIC_NO_SHORTCUTS=1 .venv/bin/python -m pytest -q \
    tests/flow/test_build.py tests/flow/test_compose.py tests/flow/test_deploy.py tests/flow/test_plan.py
