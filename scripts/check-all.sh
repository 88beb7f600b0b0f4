#!/bin/sh
# The checks and all fast tests, beside each other, for every commit. Prints one after the other.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .stamp
sh scripts/check.sh >.stamp/check.txt 2>&1 &
checks=$!
trap 'kill $checks 2>/dev/null || :' EXIT
failed=0
# Many of these tests wait for threads, so there are more workers than cores.
.venv/bin/python -m pytest -q -n $((2 * $(getconf _NPROCESSORS_ONLN))) --hypothesis-profile=quick \
    -m "not slow and not command and not flow and not network and not server" || failed=1
wait $checks || failed=1
trap - EXIT
cat .stamp/check.txt
exit $failed
