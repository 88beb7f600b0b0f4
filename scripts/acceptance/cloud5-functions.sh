#!/bin/sh
# Deploy an example to DigitalOcean, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes CLOUD5_ACCESS_TOKEN=... CLOUD5_NAMESPACE=... \
#   sh scripts/acceptance/cloud5-functions.sh
#
# The namespace must exist.
provider=cloud5-functions triggers=""
variables="CLOUD5_ACCESS_TOKEN CLOUD5_NAMESPACE"
costs="creates functions that cost money"
. "$(dirname "$0")/service.sh"
