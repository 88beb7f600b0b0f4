#!/bin/sh
# Everything: the checks, all tests and how much of the code they ran, and once more what builds,
# plans and deploys without shortcuts. With words for pytest, its tests alone.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
sh scripts/check.sh
if [ $# -gt 0 ]; then
    exec $bin/python -m pytest -q --durations=20 "$@"
fi

mkdir -p .coverage
$bin/coverage erase
$bin/coverage run -m pytest -q --durations=20
# Stored answers, kept graphs and the last run make things quick, and nothing else.
commands=tests/cli/commands
FABRIC_NO_SHORTCUTS=1 $bin/python -m pytest -q $commands/test_build.py \
    $commands/test_compose*.py $commands/test_deploy.py $commands/test_plan*.py

# Every benchmark still runs. Sizes are too small to judge a bound by.
$bin/python -m benchmarks --small -n 1 >.stamp/rows.txt 2>&1 || {
    tail -n 40 .stamp/rows.txt >&2
    exit 1
}

$bin/coverage combine -q
$bin/coverage report --skip-covered --fail-under=92
for part in graph config engine; do
    echo "fabric/$part: $($bin/coverage report --include="fabric/$part/*" --format=total) %"
    $bin/coverage report --include="fabric/$part/*" --fail-under=97 >/dev/null
done
