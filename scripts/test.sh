#!/bin/sh
# Everything: the checks, all tests, how much of the code they ran, and every benchmark once.
# With words for pytest, its tests alone.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
# Compiled modules are kept. Without them each worker and each command compiles all of them again.
unset PYTHONDONTWRITEBYTECODE
# Tests wait for servers and child processes: three workers keep two cores busy.
cores=$(getconf _NPROCESSORS_ONLN)
PYTEST_XDIST_AUTO_NUM_WORKERS=$(((cores * 3 + 1) / 2))
export PYTEST_XDIST_AUTO_NUM_WORKERS
if [ $# -gt 0 ]; then
    sh scripts/check.sh
    exec $bin/python -m pytest -q --durations=30 "$@"
fi

mkdir -p .stamp .coverage
# Every benchmark still runs, beside the checks and tests. Sizes are too small to judge a bound by.
$bin/python -m benchmarks --small -n 1 >.stamp/rows.txt 2>&1 &
rows=$!
trap 'kill -INT $rows 2>/dev/null || :' EXIT

sh scripts/check.sh

# Measuring adds half to the CPU time of a test. The rules of each module are tested with it. Rules
# that are tested at each provider, and flows, whose command lines are processes, are not measured.
$bin/coverage erase
$bin/coverage run -m pytest -q --durations=30 -m "not flow and not sampled"
$bin/python -m pytest -q --durations=30 --sample -m "flow or sampled"

# Stored answers, kept graphs and the last run make things quick, and nothing else.
commands=tests/cli/commands
FABRIC_NO_SHORTCUTS=1 $bin/python -m pytest -q $commands/test_build.py \
    $commands/test_compose*.py $commands/test_deploy.py $commands/test_plan*.py

trap - EXIT
wait $rows || {
    tail -n 40 .stamp/rows.txt >&2
    exit 1
}

$bin/coverage combine -q
$bin/coverage report --skip-covered --fail-under=92
for part in graph config engine; do
    echo "fabric/$part: $($bin/coverage report --include="fabric/$part/*" --format=total) %"
    $bin/coverage report --include="fabric/$part/*" --fail-under=97 >/dev/null
done
