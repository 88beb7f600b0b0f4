#!/bin/sh
# Everything: the checks, all tests, how much of the code they ran, and an eighth of the benchmarks.
# With words for pytest, its tests alone.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
# Compiled modules are kept. Without them each worker and each command compiles all of them again.
unset PYTHONDONTWRITEBYTECODE
cores=$(getconf _NPROCESSORS_ONLN)
if [ $# -gt 0 ]; then
    sh scripts/check.sh
    exec $bin/python -m pytest -q -n "$cores" --durations=30 "$@"
fi

mkdir -p .stamp .coverage
# Tests that take long run with a sixth of their parameters, which depends on the commit. So a second
# run tests the same. `EVERY=1` runs all.
sample="--sample $(git rev-parse HEAD 2>/dev/null || echo 0)"
[ "${EVERY:-}" ] && sample=""
rows='' measured='' memory=''
trap 'kill -INT $rows $measured 2>/dev/null || :; rm -rf "$memory"' EXIT
# An eighth of the benchmarks still runs, beside the checks and tests. Sizes are too small to judge a
# bound by.
$bin/python -m benchmarks --small --sample -n 1 >.stamp/rows.txt 2>&1 &
rows=$!
# Compiles the tests once, before all workers do it at the same time.
$bin/python -m pytest -q -n 0 --collect-only >/dev/null 2>&1 &
sh scripts/check.sh
wait $! || :

# Commands wait for the disk at each write that must last. In memory they do not, which saves a third
# of the time. Tests that pass delete their files.
free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
available=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo 2>/dev/null)
if [ "${free:-0}" -gt 6000000 ] && [ "${available:-0}" -gt 10000000 ]; then
    memory=$(mktemp -d /dev/shm/XXXX)
    export TMPDIR="$memory"
fi

# Measuring doubles the CPU time of a test. The tests of the parts with a threshold are measured,
# with few workers, beside all others. The others wait for servers and processes: they have more.
$bin/coverage erase
$bin/coverage run -m pytest -q -n "$cores" --durations=15 -m measured tests/graph tests/config \
    tests/engine tests/app tests/tasks >.stamp/measured.txt 2>&1 &
measured=$!
failed=0
$bin/python -m pytest -q -n $((cores * 2)) --durations=30 $sample -m "not measured" || failed=1
wait $measured || failed=1
cat .stamp/measured.txt
[ $failed = 0 ]

# Stored answers, kept graphs and the last run make things quick, and nothing else.
commands=tests/cli/commands
FABRIC_NO_SHORTCUTS=1 $bin/python -m pytest -q -n "$cores" $sample $commands/test_build.py \
    $commands/test_compose*.py $commands/test_deploy.py $commands/test_plan*.py

wait $rows || {
    tail -n 40 .stamp/rows.txt >&2
    exit 1
}
trap 'rm -rf "$memory"' EXIT

$bin/coverage combine -q
for part in graph config engine; do
    echo "fabric/$part: $($bin/coverage report --include="fabric/$part/*" --format=total) %"
    $bin/coverage report --include="fabric/$part/*" --skip-covered --fail-under=97
done
