#!/bin/sh
# What must hold before any test is worth running: form, rules, types, layers, dependencies.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
$bin/ruff format --check --quiet .
$bin/ruff check --quiet .
# Types take longer than all other checks, on one core.
$bin/mypy &
types=$!
trap 'kill $types 2>/dev/null || :' EXIT
$bin/lint-imports
$bin/deptry . --no-ansi
$bin/codespell fabric docs schemas scripts sdk benchmarks examples ./*.md
trap - EXIT
wait $types
