#!/bin/sh
# Join the changelog fragments into CHANGELOG.md: `sh scripts/release.sh 0.2.0`.
set -eu
cd "$(dirname "$0")/.."
version=${1:?usage: sh scripts/release.sh VERSION}
.venv/bin/towncrier build --yes --version "$version"
