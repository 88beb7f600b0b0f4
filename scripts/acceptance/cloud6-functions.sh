#!/bin/sh
# Deploy an example to an OpenWhisk installation, change it, roll it back and remove it. The account can be charged for it.
#
# ACCEPT_COSTS=yes CLOUD6_API_HOST=... CLOUD6_NAMESPACE=... CLOUD6_API_KEY=... \
#   sh scripts/acceptance/cloud6-functions.sh
provider=cloud6-functions triggers=""
variables="CLOUD6_API_HOST CLOUD6_NAMESPACE CLOUD6_API_KEY"
costs="creates actions"
. "$(dirname "$0")/service.sh"
