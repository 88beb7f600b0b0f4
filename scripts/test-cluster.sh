#!/bin/sh
# The rules on clusters once more, against a real kube-apiserver with its controllers: what the
# double of `make test` does not know shows here. Its programs stay where tests keep their tools.
set -eu
folder="${XDG_CACHE_HOME:-$HOME/.cache}/fabric-tests/cluster"
sh scripts/cluster-tools.sh "$folder"
# A pod there takes seconds, and the controllers are one for all: one test after the other.
FABRIC_TEST_CLUSTER="$folder/bin" .venv/bin/python -m pytest -q -n 0 --timeout=120 \
    tests/providers/cluster/test_deployer.py tests/providers/cluster/test_client.py \
    tests/providers/cluster/test_commands.py tests/providers/cluster/test_gate_life.py \
    tests/providers/test_life_anywhere.py -k cluster "$@"
