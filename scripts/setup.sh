#!/bin/sh
# Makes .venv with fabric in it, and fetches the bundler. `run` is what a user needs, `dev` adds the
# tools of the tests, and all that they would otherwise download.
# Node comes from PATH, else from the PyPI package that carries it (the `node` extra).
set -eu
cd "$(dirname "$0")/.."
kind=${1:-run}
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "fabric needs Python 3.11 or newer; name one with PYTHON=..." >&2
    exit 1
}
[ -x .venv/bin/python ] || "$python" -m venv .venv

extras=""
command -v node >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 || extras="node"
[ "$kind" = dev ] && extras="${extras:+$extras,}dev"

# Registries fail now and then: four tries, further and further apart.
patiently() {
    try=1
    until "$@"; do
        [ "$try" -lt 4 ] || return 1
        echo "the download failed; trying again ($try)" >&2
        sleep $((try * 5))
        try=$((try + 1))
    done
}

# Tests and checks use the same versions everywhere. What users install stays open.
locked=""
[ "$kind" = dev ] && locked="--constraint requirements-dev.lock"

# shellcheck disable=SC2086 - nothing, or two words
patiently .venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 5 \
    $locked --editable ".${extras:+[$extras]}"
patiently .venv/bin/python scripts/fetch_bundler.py

if [ "$kind" = dev ]; then
    echo "Installing test servers, browsers and packages of test projects. The first time takes"
    echo "about three minutes, or more if packages have to be downloaded slowly."
    sh scripts/test-tools.sh
    .venv/bin/python -m tests.support.downloads
    patiently .venv/bin/python -m benchmarks --set-up
fi

mkdir -p .stamp
touch ".stamp/$kind"
[ "$kind" = dev ] && touch .stamp/run
exit 0
